// A real server with two collections, a document and a logged search that tests can name; and the one function with
// which conformance tests send a request, with or without a request id, measuring the elapsed time.
import { setTimeout as sleep } from 'node:timers/promises';
import type { ReindexStatus } from '../../../src/api/reindex.js';
import type { StoredJob } from '../../../src/storage/catalog-commands.js';
import { startTestServer, type TestServer } from '../server.js';
import { until as soon } from '../until.js';
import { type Request, type Scene, UNKNOWN_ID } from './endpoint.js';

export const ADMIN_KEY = 'admin-key-of-the-conformance-tests';

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; {} where it is not JSON. */
  readonly json: Record<string, any>;
  readonly elapsedMs: number;
  /** The X-Request-ID that the request carried. */
  readonly sentId: string | undefined;
}

export interface Stage extends Scene {
  readonly server: TestServer;
  send(method: string, request: Request): Promise<Reply>;
}

/** Starts a server with one shard and creates the scene with the admin key. */
export async function setStage(env: Record<string, string> = {}, tenant = 'acme'): Promise<Stage> {
  const server = await startTestServer({ SHEAF_STORAGE__PARTITIONS: '1', SHEAF_AUTH__ADMIN_KEY: ADMIN_KEY, ...env });
  const admin = { authorization: `Bearer ${ADMIN_KEY}` };
  const base = `/v1/collections/${tenant}`;
  await server.call(
    'POST',
    `${base}/docs/documents`,
    { docid: 'DOC', text: 'Captain Nemo commands the Nautilus.', metadata: { shelf: 'A' } },
    admin,
  );
  await server.call('POST', `${base}/vectors`, { embedder_type: 'identity', embedder_config: { dim: 3 } }, admin);
  const { json } = await server.call('POST', `${base}/docs/search`, { q: 'submarine captain', k: 3 }, admin);
  let made = 0;
  const fresh = async (): Promise<string> => {
    const name = `fresh-${++made}`;
    const { status, text } = await server.call('POST', `${base}/${name}`, undefined, admin);
    if (status !== 201) throw new Error(`the stage cannot make a collection: ${text}`);
    return name;
  };
  const job = async (status: ReindexStatus): Promise<{ collection: string; id: string }> => {
    const name = await fresh().catch(() => undefined);
    const { json: started } = name
      ? await server.call('POST', `${base}/${name}/reindex`, { compact: true }, admin)
      : { json: {} as Record<string, any> };
    if (name === undefined || typeof started.job_id !== 'string') return { collection: 'docs', id: UNKNOWN_ID };
    await finished(server, started.job_id);
    const { jobs } = server.parts;
    jobs.put({ ...(jobs.find(started.job_id) as StoredJob), status });
    return { collection: name, id: started.job_id };
  };
  const queryId = typeof json.query_id === 'string' ? json.query_id : UNKNOWN_ID;
  const download = async (path: string): Promise<Uint8Array> =>
    new Uint8Array(await (await fetch(server.url + path, { headers: admin })).arrayBuffer());
  return {
    server,
    tenant,
    collection: 'docs',
    docid: 'DOC',
    rid: 'DOC::chunk_0',
    queryId,
    fresh,
    job,
    download,
    send: senderOf(server),
  };
}

async function finished({ parts }: TestServer, id: string): Promise<void> {
  await soon(() => parts.jobs.find(id)?.status === 'succeeded', `job ${id} does not succeed`);
}

/** Sends requests; every second one carries a request id. */
export function senderOf(server: TestServer): Stage['send'] {
  let count = 0;
  return async (method, { path, body, headers }) => {
    const sentId = ++count % 2 === 0 ? undefined : `test:${count}/${method}`;
    const startedAtMs = performance.now();
    const answer = await server.call(method, path, body, {
      ...headers,
      ...(sentId === undefined ? {} : { 'x-request-id': sentId }),
    });
    return { ...answer, elapsedMs: performance.now() - startedAtMs, sentId };
  };
}

/**
 * Repeats a request until the reply is as wanted, for at most a minute: for changes that are made to the server behind
 * its API.
 */
export async function until(wanted: (reply: Reply) => boolean, ask: () => Promise<Reply>): Promise<Reply> {
  for (let tries = 1; ; tries++) {
    const reply = await ask();
    if (wanted(reply) || tries === 6000) return reply;
    await sleep(10);
  }
}
