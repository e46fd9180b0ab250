// A Python virtual environment with the packages that a test requires, created once and kept in node_modules/.cache.
// Where there is no Python 3.10 or no package registry, `skip` gives the reason.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const CACHE = 'node_modules/.cache/sheaf-tests';
const INSTALL_TIMEOUT_MS = 420_000;
const CANDIDATES = ['python3', 'python3.13', 'python3.12', 'python3.11', 'python3.10', 'python'];

export type Python = { readonly python: string; readonly skip: false } | { readonly python: ''; readonly skip: string };

/** The interpreter of an environment with these packages, such as `pavedb-sdk==0.1.6`. */
export function pythonWith(...requirements: readonly string[]): Python {
  const folder = join(CACHE, requirements.join(' ').replaceAll(/[^A-Za-z0-9.]+/g, '-'));
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
    run(base, ['-m', 'venv', building]) || run(join(building, 'bin/python'), [...PIP_INSTALL, ...requirements]);
  if (failure === '') renameSync(building, folder);
  else rmSync(building, { recursive: true, force: true });
  return failure === ''
    ? { python: join(folder, 'bin/python'), skip: false }
    : { python: '', skip: `${requirements.join(', ')} cannot be installed: ${failure}` };
}

const PIP_INSTALL = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];

/** An interpreter of this version, such as `3.13`, in the PATH or among those of pyenv; undefined if there is none. */
export function pythonOf(version: string): string | undefined {
  const versions = join(homedir(), '.pyenv/versions');
  const own = existsSync(versions) ? readdirSync(versions).filter((name) => name.startsWith(`${version}.`)) : [];
  const isOfVersion = `import sys; sys.exit('%d.%d' % sys.version_info[:2] != '${version}')`;
  return [`python${version}`, 'python3', ...own.map((name) => join(versions, name, 'bin/python'))].find(
    (name) => run(name, ['-c', isOfVersion]) === '',
  );
}

/** Makes an environment in a new folder and installs a package of this project. Returns '' or what went wrong. */
export function installInto(folder: string, base: string, path: string): string {
  return run(base, ['-m', 'venv', folder]) || run(join(folder, 'bin/python'), [...PIP_INSTALL, path]);
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
