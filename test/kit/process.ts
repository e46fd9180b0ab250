// Runs the server as an operator does: in a separate process, started by its command line and stopped by signals.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { after } from 'node:test';

export const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url));

export interface ServeProcess {
  readonly child: ChildProcess;
  /** The standard output and error so far. */
  output(): string;
  /** Resolves with the exit code once the process has ended; null after a signal. */
  readonly ended: Promise<number | null>;
}

/**
 * Starts `sheaf serve` with these environment variables; the process is killed when the test file ends. `through`: a
 * command that runs the one that its arguments end with.
 */
export function spawnServe(env: Record<string, string>, through: readonly string[] = []): ServeProcess {
  const [command = process.execPath, ...args] = [...through, process.execPath, MAIN, 'serve'];
  const child = spawn(command, args, {
    env: { PATH: process.env.PATH, SHEAF_SERVER__PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  after(() => child.kill('SIGKILL'));
  const ended = once(child, 'close').then(([code]) => code as number | null);
  return { child, output: () => output, ended };
}

/** Starts `sheaf serve`, with two shards unless `env` says otherwise, and waits until it is ready. */
export async function startServe(env: Record<string, string>): Promise<ServeProcess & { url: string }> {
  const server = spawnServe({ SHEAF_STORAGE__PARTITIONS: '2', SHEAF_COLLECTIONS__PARTITIONS: '2', ...env });
  return { ...server, url: await untilReady(server) };
}

/** The address that the server prints when it is ready. Throws with the server's output when it ends before. */
export async function untilReady(server: ServeProcess): Promise<string> {
  let ended = false as boolean;
  void server.ended.then(() => (ended = true));
  for (;;) {
    const url = /ready at (https?:\S+)/.exec(server.output())?.[1];
    if (url) return url;
    if (ended) throw new Error(`the server ended: ${server.output()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
