// Servers for measurements over HTTP: the built server in a process of its own, on a free port and the caller's data
// directory; an embeddings endpoint; and background work for a server.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type IncomingMessage, createServer as createServerFromHttp } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { SheafClient } from '../../src/client/client.js';
import { type Profiling, samplerArguments } from './profile/profiled.js';

const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const READY_WITHIN_MS = 60_000;
/** Time limit for stopping, which is longer than the server's own drain limit. */
const STOPPED_WITHIN_MS = 40_000;
const RECHECK_MS = 5;
/** A server that takes long to start is asked less often, since each question costs something. */
const RECHECK_SHARE = 0.03;
const STEP_MS_MAX = 1000;

export interface LoadServer {
  url: string;
  pid: number;
  /** Time from spawn until /health/ready succeeded. */
  readyMs: number;
  /** Stops the server by SIGTERM, so that it drains and closes. Throws if the exit code is not 0, or after 40 s. */
  stop(): Promise<void>;
  /** Kills the server by SIGKILL. */
  kill(): Promise<void>;
  /** The end of what the process has written. */
  written(): string;
}

/** Environment variables by name. */
export type Settings = Readonly<Record<string, string>>;

/**
 * A server process that may not be ready yet. Its environment has only the given settings, and it ends with this
 * process.
 */
export interface ServerProcess extends Omit<LoadServer, 'readyMs'> {
  /** Milliseconds from spawn until ready. Throws with its output if it exits before, or after a minute. */
  ready(): Promise<number>;
}

/**
 * Starts a server and waits until it is ready. `settings` are environment variables in addition to those that every
 * load program needs; `main` is the program of another build.
 */
export async function startServer(
  dataDir: string,
  settings: Settings = {},
  profiling?: Profiling,
  main?: string,
): Promise<LoadServer> {
  const server = await spawnServer(dataDir, settings, profiling, main);
  return { ...server, readyMs: await server.ready() };
}

export async function spawnServer(
  dataDir: string,
  settings: Settings = {},
  profiling?: Profiling,
  main = MAIN,
): Promise<ServerProcess> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const startedAtMs = performance.now();
  const child = spawnMain(main, dataDir, port, settings, profiling);
  const written = keepTail(child);
  return {
    url,
    pid: child.pid as number,
    ready: () => untilReady(new SheafClient({ url }), child, startedAtMs, written),
    stop: async () => {
      const late = setTimeout(() => child.kill('SIGKILL'), STOPPED_WITHIN_MS);
      const code = await end(child, 'SIGTERM');
      clearTimeout(late);
      if (code !== 0)
        throw new Error(
          `The server ${code === null ? 'did not stop in time' : `stopped with exit code ${code}`}:\n${written()}`,
        );
    },
    kill: async () => void (await end(child, 'SIGKILL')),
    written,
  };
}

function spawnMain(
  main: string,
  dataDir: string,
  port: number,
  settings: Settings,
  profiling?: Profiling,
): ChildProcess {
  const child = spawn(process.execPath, [...samplerArguments(profiling), main, 'serve'], {
    cwd: dataDir,
    env: {
      SHEAF_SERVER__PORT: String(port),
      SHEAF_DATA_DIR: join(dataDir, 'data'),
      SHEAF_LOG__LEVEL: 'warn',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  dieTogether(child);
  return child;
}

/** Kills the child when this process ends for any reason. */
export function dieTogether(child: ChildProcess): void {
  const kill = (): void => void child.kill('SIGKILL');
  const exit = (): void => process.exit(1);
  process.once('exit', kill).once('SIGINT', exit).once('SIGTERM', exit);
  child.once('exit', () => process.off('exit', kill).off('SIGINT', exit).off('SIGTERM', exit));
}

/** Keeps the end of what the process writes, for messages. */
function keepTail(child: ChildProcess): () => string {
  let written = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (piece) => (written = (written + String(piece)).slice(-4000)));
  return () => written;
}

/**
 * Waits until the server is ready. Time in which this process is stopped together with its server (SIGSTOP) does not
 * count.
 */
async function untilReady(
  client: SheafClient,
  child: ChildProcess,
  startedAtMs: number,
  written: () => string,
): Promise<number> {
  for (let waitedMs = 0, lastMs = startedAtMs; waitedMs < READY_WITHIN_MS; ) {
    const ended = child.exitCode ?? child.signalCode;
    if (ended !== null)
      throw new Error(
        `The server ended with ${typeof ended === 'number' ? 'exit code ' : ''}${ended} before it was ready:\n${written()}`,
      );
    if (
      await client.ready().then(
        () => true,
        () => false,
      )
    )
      return performance.now() - startedAtMs;
    await sleep(Math.max(RECHECK_MS, RECHECK_SHARE * waitedMs));
    const nowMs = performance.now();
    waitedMs += Math.min(STEP_MS_MAX, nowMs - lastMs);
    lastMs = nowMs;
  }
  throw new Error(`The server was not ready after ${READY_WITHIN_MS / 1000} s:\n${written()}`);
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) {
    child.kill(signal);
    await once(child, 'exit');
  }
  return child.exitCode;
}

/** Ports below those that connections get, so that a server that is down for a while gets its own again. */
const PORTS = { from: 10_000, to: 32_768 };

const given = new Set<number>();

/** A free port, another one each time: one that was given before may be that of a server which is down for a while. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(PORTS.from, PORTS.to);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
      .once('error', () => resolve(false))
      .once('listening', () => probe.close(() => resolve(true)))
      .listen(port, '127.0.0.1');
  });
}

/** Runs `work` with a new temporary folder, and removes the folder afterwards. */
export async function withFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'sheaf-load-'));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Runs `work` with the server at `url`, else with a new server on an empty data directory, whose process is then passed
 * too.
 */
export async function withServer<T>(
  url: string | undefined,
  work: (url: string, pid: number | undefined) => Promise<T>,
  settings: Settings = {},
): Promise<T> {
  if (url !== undefined) return work(url, undefined);
  return withFolder(async (folder) => {
    const server = await startServer(folder, settings);
    try {
      return await work(server.url, server.pid);
    } finally {
      await server.kill();
    }
  });
}

interface EmbeddingsEndpoint {
  url: string;
  close(): void;
}

/**
 * A local endpoint with OpenAI's `/v1/embeddings` interface and given vectors, so that a server can be measured with a
 * model whose vectors are cached.
 */
export async function startEmbeddingsEndpoint(
  vectorsOf: (texts: readonly string[]) => Promise<Float32Array[]>,
): Promise<EmbeddingsEndpoint> {
  const server = createServerFromHttp((message, response) => {
    answer(message, vectorsOf).then(
      (json) => response.setHeader('content-type', 'application/json').end(JSON.stringify(json)),
      (error: Error) => response.writeHead(500).end(JSON.stringify({ error: { message: error.message } })),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close: () => void server.close(() => {}).closeAllConnections(),
  };
}

async function answer(
  message: IncomingMessage,
  vectorsOf: (texts: readonly string[]) => Promise<Float32Array[]>,
): Promise<object> {
  const pieces: Buffer[] = [];
  for await (const piece of message) pieces.push(piece as Buffer);
  const { input, model } = JSON.parse(Buffer.concat(pieces).toString()) as { input: string[]; model: string };
  const vectors = await vectorsOf(input);
  const data = vectors.map((vector, index) => ({
    object: 'embedding',
    index,
    embedding: Buffer.from(Float32Array.from(vector).buffer).toString('base64'),
  }));
  return { object: 'list', model, data, usage: { prompt_tokens: 0, total_tokens: 0 } };
}

/** Settings of a server whose default embedder is this endpoint. */
export function endpointSettings({ url }: EmbeddingsEndpoint, model: string, dim: number): Settings {
  const instance = { key: 'kept', type: 'openai', url, model, dim };
  return { SHEAF_EMBEDDER__INSTANCES: JSON.stringify([instance]), SHEAF_EMBEDDER__DEFAULT: 'kept' };
}

// Background work for a server: an archive of a collection, and a reindex job that rebuilds its graph.

const BACKGROUND_WORK_RECHECK_MS = 50;

/** Downloads an archive and drops its bytes. */
export async function archiveOnce(client: SheafClient, tenant: string, name: string): Promise<void> {
  const { bytes } = await client.archives.dumpCollection(tenant, name);
  for await (const _ of bytes as unknown as AsyncIterable<Uint8Array>);
}

/** Rebuilds the graph with copied vectors. Throws if the job fails. */
export async function reindexOnce(client: SheafClient, tenant: string, name: string): Promise<void> {
  const { job_id: id } = await client.reindex.start(tenant, name, { compact: true });
  for (let status: string = ''; status !== 'succeeded'; await sleep(BACKGROUND_WORK_RECHECK_MS)) {
    ({ status } = await client.reindex.get(tenant, name, id));
    if (status === 'failed' || status === 'cancelled') throw new Error(`a reindex job has ${status}`);
  }
}
