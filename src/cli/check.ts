// `sheaf check` and `sheaf repair`: check or repair the data directory of a stopped server and print one line per
// finding.
import { type Finding, checkDirectory, findingLine } from '../storage/check/check.js';
import { repairDirectory } from '../storage/check/repair.js';
import { DataDirectoryError, whyForeign } from '../storage/data-directory.js';
import { EXIT, makeFilesPrivate } from './command-line.js';
import { UsageError } from './errors.js';
import { count, line, type Output } from './output.js';

/** Exit code: 1 if something is damaged. Throws UsageError if the directory cannot be checked. */
export function check(path: string, { stdout }: Output): Promise<number> {
  return guarded(path, async () => {
    const found = await print(checkDirectory(path), stdout);
    line(
      stdout,
      found === 0
        ? `${path} is intact`
        : `${count(found, 'finding')}: sheaf repair ${path} repairs what can be repaired.`,
    );
    return found === 0 ? EXIT.done : EXIT.failed;
  });
}

/** Exit code: 0 if everything is intact afterwards. Throws UsageError if the directory cannot be checked. */
export function repair(path: string, { stdout }: Output): Promise<number> {
  makeFilesPrivate();
  return guarded(path, async () => {
    await print(repairDirectory(path), stdout);
    const left = await print(checkDirectory(path), stdout);
    line(stdout, left === 0 ? `${path} is intact` : `Left: ${count(left, 'finding')}.`);
    return left === 0 ? EXIT.done : EXIT.failed;
  });
}

async function guarded(path: string, work: () => Promise<number>): Promise<number> {
  const foreign = whyForeign(path, true);
  if (foreign !== undefined) throw new UsageError(`${foreign}.`);
  try {
    return await work();
  } catch (error) {
    throw error instanceof DataDirectoryError ? new UsageError(`${error.message.replace(/\.$/, '')}.`) : error;
  }
}

async function print(findings: AsyncIterable<Finding>, stdout: Output['stdout']): Promise<number> {
  let found = 0;
  for await (const finding of findings) {
    line(stdout, findingLine(finding));
    found++;
  }
  return found;
}
