// `sheaf doctor`: checks this machine for running a server, one line per finding, with a remedy if needed. It only
// reads, except for a file in the data directory that it syncs and removes.
import { existsSync, readFileSync } from 'node:fs';
import { open, rm, statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { availableParallelism, freemem, totalmem } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { SheafClient } from '../client/client.js';
import type { Config } from '../config/config.js';
import { ConfigError } from '../config/kinds.js';
import { readConfig } from '../config/load.js';
import { whyForeign } from '../storage/data-directory.js';
import { EXIT } from './command-line.js';
import { softLimit } from './open-files.js';
import { type Output, type Style, count, line } from './output.js';

const GB = 1e9;

interface Finding {
  name: string;
  /** `fail`: a server cannot run; `warn`: it runs, but not optimally. */
  state: 'ok' | 'warn' | 'fail';
  found: string;
  remedy?: string;
}

/** Exit code: 1 if a server cannot run. */
export async function doctor(
  env: Record<string, string | undefined>,
  { json, style }: { json: boolean; style: Style },
  { stdout }: Output,
): Promise<number> {
  const { config, findings: configFindings } = configOf(env);
  const findings = [
    ...configFindings,
    ...(await runtimeFindings()),
    ...limitFindings(),
    ...memoryFindings(),
    ...(config ? [...(await diskFindings(config.dataDir)), await portFinding(config)] : []),
  ];
  for (const finding of findings) line(stdout, json ? JSON.stringify(finding) : lineOf(finding, style));
  const failed = findings.filter(({ state }) => state === 'fail').length;
  const warned = findings.filter(({ state }) => state === 'warn').length;
  if (!json)
    line(
      stdout,
      failed > 0
        ? `${count(failed, 'finding')} would prevent a server from running here.`
        : warned > 0
          ? `A server runs here; ${count(warned, 'finding')} could be improved.`
          : 'A server runs well here.',
    );
  return failed > 0 ? EXIT.failed : EXIT.done;
}

function lineOf({ name, state, found, remedy }: Finding, { good, strong, bad }: Style): string {
  const mark = { ok: good('ok  '), warn: strong('warn'), fail: bad('fail') }[state];
  return `${mark}  ${name.padEnd(15)}  ${found}${remedy === undefined ? '' : `\n      ${' '.repeat(15)}  ${remedy}`}`;
}

/** A finding for the configuration, and one for each retired key. */
function configOf(env: Record<string, string | undefined>): { config?: Config; findings: Finding[] } {
  const name = 'configuration';
  const retired: Finding[] = [];
  try {
    const config = readConfig(env, (warning) => retired.push({ name, state: 'warn', found: warning }));
    const found = `${env['SHEAF_CONFIG'] ?? 'sheaf.yaml, if it exists,'} and the environment; auth.mode ${config.auth.mode}, ${config.partitions} shards`;
    return { config, findings: [{ name, state: 'ok', found }, ...retired] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { findings: [{ name, state: 'fail', found: error.message, remedy: 'sheaf init shows every key.' }] };
  }
}

const FREE_WANTED_BYTES = 2 * GB;
const SYNCS = 20;
const SYNC_BYTES = 4096;
/** Above this, the ingest of one document is noticeably slow. */
const SYNC_MS_WANTED = 20;

/** File system types as in statfs of Linux. */
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

async function diskFindings(dataDir: string): Promise<Finding[]> {
  const place = existing(resolve(dataDir));
  const foreign = whyForeign(dataDir);
  if (foreign !== undefined)
    return [
      {
        name: 'data directory',
        state: 'fail',
        found: foreign,
        remedy: 'Sheaf changes nothing there: name another folder with SHEAF_DATA_DIR or --data-dir.',
      },
    ];
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
        remedy: 'Use SHEAF_DATA_DIR or --data-dir to name a folder that this user may write.',
      },
    ];
  }
}

/** The folder itself, or its nearest existing ancestor. */
const existing = (path: string): string =>
  existsSync(path) || dirname(path) === path ? path : existing(dirname(path));

function typeFinding(dataDir: string, type: string): Finding {
  const name = 'data directory';
  if (REMOTE.has(type))
    return {
      name,
      state: 'fail',
      found: `${dataDir}, on ${type}`,
      remedy: 'The store maps its files into memory, which is unsafe on network file systems: use a local disk.',
    };
  if (type === 'tmpfs')
    return {
      name,
      state: 'warn',
      found: `${dataDir}, on tmpfs`,
      remedy: 'The data is lost when the machine restarts.',
    };
  return { name, state: 'ok', found: `${dataDir}, on ${type}` };
}

function roomFinding(bytes: number): Finding {
  return finding(
    'room on disk',
    `${gigabytes(bytes)} free`,
    bytes >= FREE_WANTED_BYTES,
    'warn',
    'On a full disk writes fail until there is space again.',
  );
}

async function syncFinding(folder: string): Promise<Finding> {
  const median = await medianSyncMs(folder);
  return finding(
    'disk sync',
    `${median.toFixed(2)} ms`,
    median <= SYNC_MS_WANTED,
    'warn',
    'Every acknowledged write waits for a sync: use a local SSD, or send documents in batches.',
  );
}

/** The median time to sync a page, as each commit does. */
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

/** Enough for the connections and files of a busy server. */
const OPEN_FILES_WANTED = 4096;
const MEMORY_WANTED_BYTES = 1 * GB;

async function runtimeFindings(): Promise<Finding[]> {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isFit = (major === 20 && minor >= 16) || (major === 22 && minor >= 3) || major === 24;
  const kernel = existsSync(new URL('../engine/kernel.wasm', import.meta.url));
  const store = await import('../storage/lmdb.js').then(
    () => '',
    (error: Error) => error.message.split('\n')[0] ?? '',
  );
  const { loadUws } = await import('../http/uws.js');
  const http = await loadUws().then(
    () => '',
    (error: Error) => error.message,
  );
  const cores = availableParallelism();
  return [
    finding(
      'Node',
      process.versions.node,
      isFit,
      'fail',
      'Sheaf runs on Node 20 from 20.16, on Node 22 from 22.3, and on Node 24.',
    ),
    finding(
      'HTTP library',
      http === '' ? 'uWebSockets.js loads' : http,
      http === '',
      'fail',
      'Run the server on a Node that the library has a binary for: 20 or 22 on any Linux with glibc, 24 with glibc 2.38.',
    ),
    finding('vector kernel', kernel ? 'built' : 'missing', kernel, 'fail', 'Run npm run build in the project.'),
    finding(
      'store',
      store === '' ? 'node-lmdb loads' : store,
      store === '',
      'fail',
      'Install a C++ compiler (apt-get install g++) and start the server once: it compiles the store.',
    ),
    finding('cores', String(cores), cores > 1, 'warn', 'Searches and writes share one core.'),
  ];
}

function limitFindings(): Finding[] {
  const limits = kernelFile('/proc/self/limits');
  if (limits === '') return [];
  const [files, locked, space] = [
    softLimit(limits, 'Max open files'),
    softLimit(limits, 'Max locked memory'),
    softLimit(limits, 'Max address space'),
  ];
  const swap = kernelFile('/proc/swaps').split('\n').length > 1;
  const lockLimit = `limit ${locked === Infinity ? 'none' : `${locked / 1024} KiB`}`;
  return [
    finding(
      'open files',
      String(files),
      files >= OPEN_FILES_WANTED,
      'warn',
      'Each connection takes one: ulimit -n 65536, or LimitNOFILE=65536 in the systemd unit.',
    ),
    finding(
      'address space',
      space === Infinity ? 'unlimited' : gigabytes(space),
      space === Infinity,
      'fail',
      'Shards reserve more than they use: ulimit -v unlimited.',
    ),
    finding(
      'memory locking',
      `${lockLimit}; ${swap ? 'swap is on' : 'no swap, so nothing needs to be locked'}`,
      !swap,
      'warn',
      'Swapped memory makes searches slow: swapoff -a, or MemorySwapMax=0 in the systemd unit.',
    ),
  ];
}

function memoryFindings(): Finding[] {
  const available = Number(/^MemAvailable: +(\d+)/m.exec(kernelFile('/proc/meminfo'))?.[1] ?? freemem() / 1024) * 1024;
  const group = Number(kernelFile('/sys/fs/cgroup/memory.max') || NaN);
  const total = Number.isFinite(group) ? Math.min(group, totalmem()) : totalmem();
  const usable = Math.min(available, total);
  const strict = kernelFile('/proc/sys/vm/overcommit_memory') === '2';
  const pages = kernelFile('/sys/kernel/mm/transparent_hugepage/enabled');
  const room = `${gigabytes(usable)} available of ${gigabytes(total)}${Number.isFinite(group) ? ' (limit of the container)' : ''}`;
  return [
    finding(
      'memory',
      room,
      usable >= MEMORY_WANTED_BYTES,
      'warn',
      'A vector of 384 dimensions takes about 1 KB with its graph: 1 GB holds less than a million chunks.',
    ),
    finding(
      'overcommit',
      strict ? 'strict (vm.overcommit_memory = 2)' : 'as usual',
      !strict,
      'warn',
      'Shards reserve more than they use: sysctl vm.overcommit_memory=0.',
    ),
    // Kernels without huge pages have nothing to configure.
    pages === ''
      ? { name: 'huge pages', state: 'warn', found: 'unknown' }
      : finding(
          'huge pages',
          /\[(\w+)\]/.exec(pages)?.[1] ?? 'unknown',
          !pages.includes('[never]'),
          'warn',
          'Graphs build a third faster with them: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled',
        ),
  ];
}

const ANSWER_MS = 1000;

async function portFinding({ host, port, tls }: Config): Promise<Finding> {
  const name = 'port';
  const where = `${host}:${port}`;
  const rejection = await listenRejection(host, port);
  if (rejection === undefined) return { name, state: 'ok', found: `${where} is free` };
  if (rejection !== 'EADDRINUSE')
    return {
      name,
      state: 'fail',
      found: `${where}: ${rejection}`,
      remedy: 'Use an address of this machine (server.host), and a port that this user may listen on.',
    };
  const client = new SheafClient({
    url: `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`,
    timeoutMs: ANSWER_MS,
  });
  const version = await client.health().then(
    (health) => health.version,
    () => undefined,
  );
  if (version !== undefined) return { name, state: 'ok', found: `Sheaf ${version} serves on ${where}` };
  return {
    name,
    state: 'fail',
    found: `${where} is taken by another program`,
    remedy: 'Use another port: server.port, or sheaf serve --port.',
  };
}

function listenRejection(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'unknown'));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

/** Creates a finding; `remedy` is shown if it is not well. */
function finding(name: string, found: string, isWell: boolean, otherwise: 'warn' | 'fail', remedy: string): Finding {
  return isWell ? { name, state: 'ok', found } : { name, state: otherwise, found, remedy };
}

/** The trimmed content of a small kernel file; '' if it does not exist. */
function kernelFile(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return '';
  }
}

const gigabytes = (bytes: number): string => `${(bytes / GB).toFixed(1)} GB`;
