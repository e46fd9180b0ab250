// A real server on a free port with a data directory of its own. It runs in this process, so that a test can reach its
// parts.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Config } from '../../src/config/config.js';
import { readConfig } from '../../src/config/load.js';
import { startServer, type RunningServer } from '../../src/cli/serve.js';
import { tempDirectory } from './temp.js';
import { SHARDS_MAX } from '../../src/api/limits.js';
import { until } from './until.js';
import { faultLog } from './log.js';

// Each worker thread of a server pipes its output to this process, and the test runner listens there too. Node would
// report that many listeners as a leak.
for (const output of [process.stdout, process.stderr]) output.setMaxListeners(0);

/**
 * Starting threads is most of the time of a start, and by default a server has as many as the machine has cores. Tests
 * that need more threads of a kind set the number.
 */
const THREADS = {
  SHEAF_STORAGE__PARTITIONS: '3',
  // A collection has documents in all shards, although it is small.
  SHEAF_COLLECTIONS__PARTITIONS: String(SHARDS_MAX),
  SHEAF_THREADS: '1',
  // Most tests need no front threads; `--fronts N` of scripts/test.mjs runs them with some.
  SHEAF_SERVER__THREADS: process.env.TEST_FRONT_THREADS ?? '0',
};

export interface TestServer extends RunningServer {
  readonly url: string;
  /** What was logged at level error: internal errors. */
  readonly faults: string[];
  /** Sends one request; a `body` that is neither a string nor bytes is sent as JSON. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The parsed body; {} where it is not JSON. */
  json: Record<string, any>;
}

/** Starts a server and waits until it is ready. It is stopped when the test file ends. */
export async function startTestServer(
  env: Record<string, string> = {},
  tuning: Partial<Config['tuning']> = {},
): Promise<TestServer> {
  const { log, faults } = faultLog();
  const dataDir = env.SHEAF_DATA_DIR ?? tempDirectory();
  const config = readConfig({
    SHEAF_SERVER__PORT: '0',
    ...THREADS,
    ...env,
    SHEAF_DATA_DIR: dataDir,
  });
  Object.assign(config.tuning, tuning);
  const server = await startServer(config, log);
  const url = `http://127.0.0.1:${server.port}`;
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopped ??= server.stop());
  after(stop);
  const test: TestServer = {
    ...server,
    stop,
    url,
    faults,
    call: (method, path, body, headers) => call(url, method, path, body, headers),
  };
  await ready(test);
  return test;
}

/** Asserts that the answer is a client error with this status and code; resolves with its body. */
export async function refused(answer: Promise<Answer>, status: number, code: string): Promise<Answer['json']> {
  const { status: got, json } = await answer;
  assert.deepEqual([got, json.code, json.ok], [status, code, false], JSON.stringify(json));
  return json;
}

export async function ready(server: TestServer): Promise<void> {
  await until(
    async () => (await server.call('GET', '/health/ready')).status === 200,
    () => `the server does not become ready: ${server.faults.join('\n')}`,
  );
}

async function call(
  url: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const raw = body === undefined || typeof body === 'string' || body instanceof Uint8Array || body instanceof FormData;
  const sent = (raw ? body : JSON.stringify(body)) as BodyInit | undefined;
  const type: Record<string, string> =
    body === undefined || body instanceof FormData ? {} : { 'content-type': 'application/json' };
  const response = await fetch(`${url}${path}`, { method, body: sent, headers: { ...type, ...headers } });
  const text = await response.text();
  const isJson = (response.headers.get('content-type') ?? '').startsWith('application/json');
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson && text ? (JSON.parse(text) as Record<string, any>) : {},
  };
}

/** A multipart form with a file. */
export function fileForm(name: string, content: string | Uint8Array, fields: Record<string, string> = {}): FormData {
  const form = new FormData();
  for (const [field, value] of Object.entries(fields)) form.set(field, value);
  form.set('file', new Blob([content as BlobPart]), name);
  return form;
}

/**
 * For a server of which a test replaces something, or reads what it has loaded: this thread serves its requests too, since
 * front threads would not see it.
 */
export const ALL_IN_THIS_THREAD = { SHEAF_SERVER__THREADS: '0' };
