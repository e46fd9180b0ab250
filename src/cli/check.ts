// The commands `check` and `repair`: a stopped server's directory is looked through, or mended, and each finding is a line. They read files, and talk to
// no server. Called by machine-commands.ts.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { checkDirectory } from '../store/check/check-directory.js';
import { findingLine, type Finding } from '../store/check/findings.js';
import { repairDirectory } from '../store/check/repair-directory.js';
import { DataDirectoryError } from '../store/data-dir.js';
import { line, type Output } from './output.js';

/** 0 where nothing is damaged, 1 where something is, 2 where it cannot be looked at. */
export async function check(path: string, { stdout, stderr }: Output): Promise<number> {
  return guarded(path, stderr, async () => {
    const count = await print(checkDirectory(path), stdout);
    line(stdout, count === 0 ? `${path} is whole` : `${count} findings: sheaf repair mends what can be mended`);
    return count === 0 ? 0 : 1;
  });
}

/** 0 where all is whole afterwards. */
export async function repair(path: string, { stdout, stderr }: Output): Promise<number> {
  return guarded(path, stderr, async () => {
    await print(repairDirectory(path), stdout);
    const left = await print(checkDirectory(path), stdout);
    line(stdout, left === 0 ? `${path} is whole` : `${left} findings are left`);
    return left === 0 ? 0 : 1;
  });
}

async function guarded(path: string, stderr: Output['stderr'], work: () => Promise<number>): Promise<number> {
  try {
    if (!existsSync(join(path, 'sheaf.json'))) throw new DataDirectoryError(`${path} is no data directory: it has no sheaf.json`);
    return await work();
  } catch (error) {
    if (!(error instanceof DataDirectoryError)) throw error;
    line(stderr, `sheaf: ${error.message}`);
    return 2;
  }
}

async function print(findings: AsyncIterable<Finding>, stdout: Output['stdout']): Promise<number> {
  let count = 0;
  for await (const finding of findings) {
    line(stdout, findingLine(finding));
    count++;
  }
  return count;
}
