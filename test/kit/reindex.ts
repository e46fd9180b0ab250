// A server for tests of reindex jobs, with a second embedder behind a local endpoint that the test can hold up; and
// functions that wait for the record of a job.
import type { TestContext } from 'node:test';
import { startOpenAiServer, type EmbeddingsRequest, type OpenAiServerOptions } from './openai-server.js';
import { startTestServer, type Answer, type TestServer } from './server.js';
import { until } from './until.js';

export const FAR_DIM = 8;
export const BASE = '/v1/collections/acme/docs';
const BATCH = `${BASE}/documents:batch`;
export const TO_FAR = { embedder_type: 'openai', embed_model: 'm' };

/** Holds up callers of `pass` while it is closed. */
export class Gate {
  private waiting: (() => void)[] = [];
  private isClosed = false;
  /** How many callers have met the gate closed. */
  held = 0;

  close(): void {
    this.isClosed = true;
    this.held = 0;
  }

  open(): void {
    this.isClosed = false;
    for (const go of this.waiting.splice(0)) go();
  }

  async pass(): Promise<void> {
    if (!this.isClosed) return;
    this.held++;
    await new Promise<void>((resolve) => this.waiting.push(resolve));
  }
}

/** An embedding endpoint that can be held up. */
export interface Far {
  gate: Gate;
  calls: EmbeddingsRequest[];
  /** Settings of a server that has the endpoint as embedder instance `far`. */
  env: Record<string, string>;
}

export async function startFar(t: TestContext, options: Partial<OpenAiServerOptions> = {}): Promise<Far> {
  const gate = new Gate();
  t.after(() => gate.open());
  const { url, calls } = await startOpenAiServer(t, {
    dim: FAR_DIM,
    fail: async () => void (await gate.pass()),
    ...options,
  });
  return {
    gate,
    calls,
    env: {
      SHEAF_EMBEDDER__INSTANCES: JSON.stringify([
        { key: 'far', type: 'openai', url, model: 'm', dim: FAR_DIM, retries: 0 },
      ]),
    },
  };
}

export interface ReindexServer extends Omit<Far, 'calls'> {
  server: TestServer;
  /** The texts that the endpoint received, over all calls. */
  texts: () => string[];
}

export async function startReindexServer(
  t: TestContext,
  options: Partial<OpenAiServerOptions> = {},
): Promise<ReindexServer> {
  const { gate, calls, env } = await startFar(t, options);
  const server = await startTestServer(env);
  // The health status `ready` covers the default embedder, which is the endpoint.
  await until(
    async () => (await server.call('GET', '/health')).json.status === 'ready',
    'the endpoint is not seen to answer',
  );
  return { server, gate, env, texts: () => calls.flatMap(({ input }) => input).filter((text) => text !== 'ready') };
}

export const textOf = (n: number, version = 1): string => `document ${n} in version ${version}`;

/** Ingests one batch of documents of one chunk: `d0` to `d<count - 1>`. */
export async function ingest({ call }: TestServer, count: number, version = 1): Promise<void> {
  const documents = Array.from({ length: count }, (_, n) => ({ docid: `d${n}`, text: textOf(n, version) }));
  const { json } = await call('POST', BATCH, { documents });
  if (json.succeeded !== count) throw new Error(JSON.stringify(json).slice(0, 500));
}

export const start = (server: TestServer, body: object = TO_FAR): Promise<Answer> =>
  server.call('POST', `${BASE}/reindex`, body);

type JobServer = Pick<ReindexServer, 'server' | 'gate'>;

/** Starts a job that waits for the endpoint until the gate opens. */
export async function startHeld({ server, gate }: JobServer, body?: object): Promise<Record<string, any>> {
  gate.close();
  const { json: job } = await start(server, body);
  await held(gate);
  return job;
}

/** Starts a job and pauses it after its first pages. */
export async function startPaused({ server, gate }: JobServer, body?: object): Promise<Record<string, any>> {
  const job = await startHeld({ server, gate }, body);
  await server.call('POST', `/v1/admin/reindex/${job.job_id}/pause`);
  gate.open();
  await jobUntil(server, job.job_id, status('paused'));
  return job;
}

/** Waits until `is` is true of the record, and returns the record. */
export async function jobUntil(
  { call }: TestServer,
  id: string,
  is: (job: Record<string, any>) => boolean,
): Promise<Record<string, any>> {
  for (let tries = 0; tries < 3000; tries++) {
    const { json } = await call('GET', `/v1/admin/reindex/${id}`);
    if (is(json)) return json;
    if (json.status === 'failed' && tries > 20) throw new Error(json.error);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`job ${id} does not come so far`);
}

export const status =
  (...wanted: string[]) =>
  (job: Record<string, any>): boolean =>
    wanted.includes(job.status);

/** Chunk ids of the hits of a text search. */
export async function found({ call }: TestServer, q: string, k = 5): Promise<string[]> {
  const { json } = await call('POST', `${BASE}/search`, { q, k });
  return json.matches.map(({ id }: { id: string }) => id);
}

/** The versions of all documents by document id. */
export async function versions({ call }: TestServer): Promise<Record<string, number>> {
  const { json } = await call('GET', `${BASE}/documents`);
  return Object.fromEntries(
    json.documents.map(({ docid, version }: { docid: string; version: number }) => [docid, version]),
  );
}

export async function held(gate: Gate): Promise<void> {
  await until(() => gate.held > 0, 'nothing was asked of the endpoint');
}
