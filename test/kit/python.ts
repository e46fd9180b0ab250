// A Python virtual environment with the package that a test requires, created once and kept in node_modules/.cache.
// Where there is no Python 3.10 or no package registry, `skip` gives the reason.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const CACHE = 'node_modules/.cache/sheaf-tests';
const INSTALL_TIMEOUT_MS = 180_000;
const CANDIDATES = ['python3', 'python3.13', 'python3.12', 'python3.11', 'python3.10', 'python'];

export type Python = { readonly python: string; readonly skip: false } | { readonly python: ''; readonly skip: string };

/** The interpreter of an environment with this one package, such as `pavedb-sdk==0.1.6`. */
export function pythonWith(requirement: string): Python {
  const folder = join(CACHE, requirement.replaceAll(/[^A-Za-z0-9.]+/g, '-'));
  if (existsSync(folder)) return { python: join(folder, 'bin/python'), skip: false };
  const base = CANDIDATES.find(
    (name) => run(name, ['-c', 'import sys, venv; sys.exit(sys.version_info < (3, 10))']) === '',
  );
  if (base === undefined) return { python: '', skip: 'there is no Python 3.10 or newer here' };
  // The environment is built under another name and renamed when it is complete. Afterwards only its interpreter works:
  // the scripts beside it contain the old path.
  const building = `${folder}.${process.pid}`;
  mkdirSync(CACHE, { recursive: true });
  const failure =
    run(base, ['-m', 'venv', building]) ||
    run(join(building, 'bin/python'), ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', requirement]);
  if (failure === '') renameSync(building, folder);
  else rmSync(building, { recursive: true, force: true });
  return failure === ''
    ? { python: join(folder, 'bin/python'), skip: false }
    : { python: '', skip: `${requirement} cannot be installed: ${failure}` };
}

/** Runs a command; returns '' where it succeeds, else the last line of its error output. */
function run(command: string, args: readonly string[]): string {
  const { status, error, stderr } = spawnSync(command, args, { encoding: 'utf8', timeout: INSTALL_TIMEOUT_MS });
  if (status === 0) return '';
  return error?.message ?? (stderr.trim().split('\n').pop() || `${command} ended with ${status}`);
}

export interface Ran {
  /** null after a signal. */
  readonly code: number | null;
  readonly output: string;
}

/** Runs a program to its end. It runs asynchronously, because the server that it talks to lives in this process. */
export async function runPython(
  python: string,
  args: readonly string[],
  timeoutMs: number,
  env: Record<string, string> = {},
): Promise<Ran> {
  const child = spawn(python, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => (output += piece.toString()));
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, output };
}
