// Waits for what comes about by itself, however slow the machine is: two minutes, as it may be busy with other things.
const WITHIN_MS = 120_000;
const EVERY_MS = 10;

/** Looks again and again. Throws `otherwise` where it does not come about; a function is asked only then. */
export async function until(
  isSo: () => boolean | Promise<boolean>,
  otherwise: string | (() => string) = 'what was waited for has not come about',
): Promise<void> {
  const endMs = performance.now() + WITHIN_MS;
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error(typeof otherwise === 'string' ? otherwise : otherwise());
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}
