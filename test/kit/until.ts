// Waits for a condition for at most two minutes, because the machine may be busy with other tests.
const WITHIN_MS = 120_000;
const EVERY_MS = 10;

/** Checks the condition repeatedly. Throws `otherwise` where it stays false; a function is called only then. */
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
