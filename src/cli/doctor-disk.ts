// The checks of `sheaf doctor` on the data directory: what it lies on, room, and how long a sync takes.
// Called by doctor.ts; the load suite tells the time of a sync too.
import { existsSync } from 'node:fs';
import { open, rm, statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { finding, GB, gigabytes, type Finding } from './doctor-findings.js';
import { whyForeign } from '../store/data-dir.js';

const FREE_WANTED_BYTES = 2 * GB;
const SYNCS = 20;
const SYNC_BYTES = 4096;
/** Above this an ingest of one document waits noticeably. */
const SYNC_MS_WANTED = 20;

/** Numbers of the kernel for file systems (statfs). */
const TYPES: ReadonlyMap<number, string> = new Map([
  [0xef53, 'ext4'],
  [0x58465342, 'xfs'],
  [0x9123683e, 'btrfs'],
  [0x2fc12fc1, 'zfs'],
  [0x794c7630, 'overlay'],
  [0x01021994, 'tmpfs'],
  [0x6969, 'nfs'],
  [0xff534d42, 'cifs'],
  [0xfe534d42, 'smb'],
  [0x65735546, 'fuse'],
]);
const REMOTE: ReadonlySet<string> = new Set(['nfs', 'cifs', 'smb']);

export async function diskFindings(dataDir: string): Promise<Finding[]> {
  const place = existing(resolve(dataDir));
  const foreign = whyForeign(dataDir);
  if (foreign !== undefined)
    return [{ name: 'data directory', state: 'fail', found: foreign, remedy: 'Sheaf touches nothing there.' }];
  try {
    const { type, bavail, bsize } = await statfs(place);
    return [
      typeFinding(dataDir, TYPES.get(type) ?? `type 0x${type.toString(16)}`),
      roomFinding(bavail * bsize),
      await syncFinding(place),
    ];
  } catch (error) {
    return [
      {
        name: 'data directory',
        state: 'fail',
        found: `${dataDir}: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}`,
        remedy: 'Name a folder that this user may write with SHEAF_DATA_DIR or --data-dir.',
      },
    ];
  }
}

/** The folder itself, or the nearest one above that is there already. */
const existing = (path: string): string =>
  existsSync(path) || dirname(path) === path ? path : existing(dirname(path));

function typeFinding(dataDir: string, type: string): Finding {
  const name = 'data directory';
  if (REMOTE.has(type))
    return {
      name,
      state: 'fail',
      found: `${dataDir}, on ${type}`,
      remedy: 'The store maps its files into memory, which network file systems do not keep whole: take a local disk.',
    };
  if (type === 'tmpfs')
    return { name, state: 'warn', found: `${dataDir}, on tmpfs`, remedy: 'It is gone when the machine restarts.' };
  return { name, state: 'ok', found: `${dataDir}, on ${type}` };
}

function roomFinding(bytes: number): Finding {
  return finding(
    'room on disk',
    `${gigabytes(bytes)} free`,
    bytes >= FREE_WANTED_BYTES,
    'warn',
    'On a full disk writes are refused, until there is room again.',
  );
}

async function syncFinding(folder: string): Promise<Finding> {
  const median = await medianSyncMs(folder);
  return finding(
    'disk sync',
    `${median.toFixed(2)} ms`,
    median <= SYNC_MS_WANTED,
    'warn',
    'Every acknowledged write waits for one: take a local SSD, or send documents in batches.',
  );
}

/** Of some syncs of a page, as each commit makes one. */
export async function medianSyncMs(folder: string): Promise<number> {
  const path = join(folder, `.sheaf-doctor-${process.pid}`);
  const file = await open(path, 'w', 0o600);
  const times: number[] = [];
  try {
    for (let n = 0; n < SYNCS; n++) {
      await file.write(Buffer.alloc(SYNC_BYTES, n), 0, SYNC_BYTES, n * SYNC_BYTES);
      const startedAtMs = performance.now();
      await file.datasync();
      times.push(performance.now() - startedAtMs);
    }
  } finally {
    await file.close();
    await rm(path, { force: true });
  }
  return times.sort((a, b) => a - b)[SYNCS >> 1] as number;
}
