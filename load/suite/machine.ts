// The machine that a report is of, as names and values: what a reader wants to know before comparing two reports. Used
// by run-suite.ts and by whoever else makes a report.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg, release, totalmem, type } from 'node:os';
import { medianSyncMs } from '../../src/cli/doctor-disk.js';
import { SERVICE_VERSION } from '../../src/contract/version.js';

/** `folder`: where data is kept. */
export async function machineOf(folder: string): Promise<Record<string, string>> {
  return {
    cores: String(availableParallelism()),
    processor: cpus()[0]?.model ?? 'unknown',
    memory: `${(totalmem() / 1e9).toFixed(1)} GB`,
    disk: await diskOf(folder),
    kernel: `${type()} ${release()}`,
    'load before': `${loadavg()[0]!.toFixed(1)}, a minute's average`,
    node: process.version,
    version: SERVICE_VERSION,
    commit: commitOf(),
  };
}

async function diskOf(folder: string): Promise<string> {
  const { bavail, bsize } = await statfs(folder);
  return `${mountOf(folder)}, ${Math.round((bavail * bsize) / 1e9)} GB free, a sync of 4 kB takes ${(await medianSyncMs(folder)).toFixed(1)} ms`;
}

/** File system and device, where Linux tells: fields 5, 9 and 10 of a line of mountinfo (proc(5)). */
function mountOf(folder: string): string {
  try {
    const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => {
        const [before = '', after = ''] = line.split(' - ');
        const [fileSystem, device] = after.split(' ');
        return { point: before.split(' ')[4] ?? '', told: `${fileSystem} on ${device}` };
      });
    const above = mounts.filter(
      ({ point }) => folder === point || folder.startsWith(point.endsWith('/') ? point : `${point}/`),
    );
    return above.sort((a, b) => b.point.length - a.point.length)[0]?.told ?? 'unknown';
  } catch {
    return 'unknown';
  }
}

function commitOf(): string {
  const git = (...args: string[]): string =>
    (spawnSync('git', args, { encoding: 'utf8' }).stdout as string | null)?.trim() ?? '';
  const commit = git('rev-parse', '--short', 'HEAD');
  return commit === ''
    ? 'unknown'
    : `${commit}${git('status', '--porcelain', '--untracked-files=no') === '' ? '' : ', with changes'}`;
}
