// Sends random requests over a few kept-alive connections and checks every answer: no 500, no hang, a status and body
// that the OpenAPI document describes, and the envelope around every error. At the end, the server must be ready and
// consistent.
import { Agent, request as httpRequest } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { operationsOf, type Document } from './openapi.js';
import { requestsOf, type RandomRequest } from './requests.js';

export interface RandomRequests {
  readonly url: string;
  readonly seed: number;
  readonly requests: number;
  readonly connections: number;
}

export interface Sent {
  /** Failures, each with seed, number and request, so that it can be repeated. */
  readonly failures: string[];
  readonly byStatus: ReadonlyMap<number, number>;
  readonly operations: number;
}

interface Answer {
  status: number;
  type: string;
  requestId: string;
  body: string;
}

const HANG_MS = 30_000;
const BATCH = 500;
const FAILURES_MAX = 20;
const QUERY_IDS_KEPT = 20;

/** Sends the requests; stops after 20 failures. Throws if the server has no OpenAPI document. */
export async function sendRandomRequests({ url, seed, requests, connections }: RandomRequests): Promise<Sent> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const document = JSON.parse(
    (await send(url, agent, { method: 'GET', path: '/openapi.json', headers: {}, body: Buffer.alloc(0) })).body,
  ) as Document;
  const operations = operationsOf(document);
  const state = { failures: [] as string[], byStatus: new Map<number, number>(), queryIds: [] as string[] };
  for (let first = 0; first < requests && state.failures.length < FAILURES_MAX; first += BATCH) {
    const batch = requestsOf(document, operations, seed, first, Math.min(BATCH, requests - first), [...state.queryIds]);
    let next = 0;
    const worker = async (): Promise<void> => {
      for (let at = next++; at < batch.length; at = next++)
        await one(url, agent, batch[at] as RandomRequest, `seed ${seed}, request ${first + at}`, state);
    };
    await Promise.all(Array.from({ length: connections }, worker));
  }
  state.failures.push(...(await disagreements(url, agent)));
  agent.destroy();
  return { failures: state.failures, byStatus: state.byStatus, operations: operations.length };
}

async function one(
  url: string,
  agent: Agent,
  sent: RandomRequest,
  where: string,
  state: { failures: string[]; byStatus: Map<number, number>; queryIds: string[] },
): Promise<void> {
  const told = `${where}: ${sent.method} ${sent.path} ${JSON.stringify(sent.headers)} ${JSON.stringify(sent.body.toString('latin1', 0, 2000))}`;
  try {
    const answer = await send(url, agent, sent);
    state.byStatus.set(answer.status, (state.byStatus.get(answer.status) ?? 0) + 1);
    const complaint = complaintAbout(sent, answer);
    if (complaint !== undefined)
      state.failures.push(`${complaint}\n  ${told}\n  answer ${answer.status}: ${answer.body.slice(0, 500)}`);
    const queryId = /"query_id":"([^"]+)"/.exec(answer.body)?.[1];
    if (queryId !== undefined) state.queryIds = [queryId, ...state.queryIds].slice(0, QUERY_IDS_KEPT);
  } catch (error) {
    state.failures.push(`${(error as Error).message}\n  ${told}`);
  }
}

/** What is wrong with an answer; undefined if nothing is. */
function complaintAbout(
  { operation, method, isDescribed }: RandomRequest,
  { status, type, requestId, body }: Answer,
): string | undefined {
  if (status >= 500 && status !== 503) return `status ${status}`;
  if (requestId === '') return 'no X-Request-ID';
  if (method === 'HEAD') return body === '' ? undefined : 'HEAD has a body';
  if (status >= 400) {
    const envelope = type.startsWith('application/json') ? (JSON.parse(body) as Record<string, unknown>) : {};
    if (
      envelope.ok !== false ||
      typeof envelope.code !== 'string' ||
      typeof envelope.error !== 'string' ||
      envelope.request_id !== requestId
    )
      return 'no error envelope';
  }
  return isDescribed ? operation.answerComplaint(status, type, body) : undefined;
}

function send(
  url: string,
  agent: Agent,
  { method, path, headers, body }: Pick<RandomRequest, 'method' | 'path' | 'headers' | 'body'>,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(
      `${url}/`,
      {
        agent,
        method,
        path,
        headers: { ...headers, ...(body.length > 0 ? { 'content-length': body.length } : {}) },
        timeout: HANG_MS,
      },
      (incoming) => {
        const pieces: Buffer[] = [];
        const type = incoming.headers['content-type'] ?? '';
        const answer = (): void =>
          resolve({
            status: incoming.statusCode ?? 0,
            type,
            requestId: String(incoming.headers['x-request-id'] ?? ''),
            body: decoded(Buffer.concat(pieces), incoming.headers['content-encoding']).toString(),
          });
        incoming.on('data', (piece: Buffer) => {
          pieces.push(piece);
          // An event stream has no end, so its beginning counts as the answer.
          if (!type.startsWith('text/event-stream')) return;
          answer();
          outgoing.destroy();
        });
        incoming.on('error', reject);
        incoming.on('end', answer);
      },
    );
    outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer after ${HANG_MS / 1000} s`)));
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

function decoded(bytes: Buffer, coding: string | undefined): Buffer {
  if (bytes.length === 0 || coding === undefined) return bytes;
  return coding === 'br' ? brotliDecompressSync(bytes) : gunzipSync(bytes);
}

const UNLIMITED = Buffer.from(JSON.stringify({ requests_per_second: -1, burst: -1, max_in_flight: -1 }));

/** Compares the counts of every collection with its listings. */
async function disagreements(url: string, agent: Agent): Promise<string[]> {
  const get = async (path: string): Promise<Record<string, any>> =>
    JSON.parse((await send(url, agent, { method: 'GET', path, headers: {}, body: Buffer.alloc(0) })).body) as Record<
      string,
      any
    >;
  const complaints: string[] = [];
  if ((await get('/health/ready')).ok !== true) complaints.push('the server is not ready afterwards');
  for (const tenant of (await get('/v1/admin/tenants')).tenants as string[]) {
    // Limits set by random requests must not reject these.
    await send(url, agent, {
      method: 'PATCH',
      path: `/v1/admin/tenants/${tenant}`,
      headers: { 'content-type': 'application/json' },
      body: UNLIMITED,
    });
    for (const { name } of (await get(`/v1/collections/${tenant}`)).collections as { name: string }[]) {
      const detail = await get(`/v1/collections/${tenant}/${name}/detail`);
      const { documents } = (await get(`/v1/collections/${tenant}/${name}/documents`)) as {
        documents: { chunk_count: number }[];
      };
      const chunks = documents.reduce((sum, document) => sum + document.chunk_count, 0);
      if (detail.doc_count !== documents.length || detail.chunk_count !== chunks)
        complaints.push(
          `${tenant}/${name} counts ${detail.doc_count} documents and ${detail.chunk_count} chunks, lists ${documents.length} and ${chunks}`,
        );
    }
  }
  return complaints;
}
