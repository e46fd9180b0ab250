// Produces each status of an endpoint's row by a real request, on one of five servers: one that is open, one with keys,
// one without keys and with a budget of one request, one with tight limits, and one whose parts can be broken.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Endpoint, type Request, nameOf } from './endpoint.js';
import { ARCHIVE_ENDPOINTS } from './endpoints/archives.js';
import { COLLECTION_ENDPOINTS } from './endpoints/collections.js';
import { DOCUMENT_ENDPOINTS } from './endpoints/documents.js';
import { OPERATOR_ENDPOINTS } from './endpoints/operator.js';
import { REINDEX_ENDPOINTS } from './endpoints/reindex.js';
import { SEARCH_ENDPOINTS } from './endpoints/search.js';
import { holdRequests, whileBroken } from './faults.js';
import { ALL_IN_THIS_THREAD } from '../server.js';
import { type Reply, type Stage, setStage, until } from './stage.js';

/** A stage that could not be set up is its error: only the cells that need it fail. */
interface Stages {
  readonly open: Stage | Error;
  readonly keyed: Stage | Error;
  readonly tight: Stage | Error;
  /** A server without keys, with a budget that one request spends: even the admin routes may be limited here. */
  readonly spent: Stage | Error;
  /** A server for `whileBroken`. */
  readonly broken: Stage | Error;
}

const KEY = 'key-of-acme';
const NEIGHBOUR_KEY = 'key-of-the-neighbour';
const WRITER_KEY = 'key-of-a-writer';
const KEYS = JSON.stringify([
  { name: 'acme', tenant: 'acme', key: KEY },
  { name: 'neighbour', tenant: 'neighbour', key: NEIGHBOUR_KEY },
  { name: 'writer', tenant: 'acme', key: WRITER_KEY, scopes: ['ingest'] },
]);
const IN_FLIGHT_MAX = 2;
const ONE_REQUEST = { SHEAF_LIMITS__TENANT__REQUESTS_PER_SECOND: '0.0001', SHEAF_LIMITS__TENANT__BURST: '1' };
const failed = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

export async function setStages(): Promise<Stages> {
  const common = { SHEAF_COMMON__ENABLED: 'true' };
  return {
    open: await setStage(common).catch(failed),
    keyed: await setStage({ ...common, SHEAF_AUTH__MODE: 'static', SHEAF_AUTH__KEYS: KEYS, ...ONE_REQUEST }).catch(
      failed,
    ),
    tight: await setStage({
      ...common,
      SHEAF_LIMITS__MAX_JSON_BYTES: '1024',
      SHEAF_LIMITS__MAX_FILE_BYTES: '1024',
      SHEAF_LIMITS__MAX_ARCHIVE_BYTES: '65536',
      SHEAF_LIMITS__MAX_IN_FLIGHT: String(IN_FLIGHT_MAX),
    }).catch(failed),
    spent: await setStage({ ...common, ...ONE_REQUEST }, 'other').catch(failed),
    broken: await setStage({ ...common, ...ALL_IN_THIS_THREAD }).catch(failed),
  };
}

const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const withKey = (request: Request, key: string): Request => ({
  ...request,
  headers: { ...request.headers, ...bearer(key) },
});

function ready(stage: Stage | Error): Stage {
  if (stage instanceof Error) throw stage;
  return stage;
}

/** Makes the endpoint answer with the status, and returns what it answers in fact. */
export async function provoke(stages: Stages, endpoint: Endpoint, status: number): Promise<Reply> {
  const { method, valid, access } = endpoint;
  if (status === 401) return sendWith(ready(stages.keyed), endpoint, 'no-such-key');
  if (status === 403)
    return sendWith(
      ready(stages.keyed),
      endpoint,
      access === 'admin' ? KEY : access === 'any' ? WRITER_KEY : NEIGHBOUR_KEY,
    );
  if (status === 429)
    return access === 'admin'
      ? overspent(ready(stages.spent), endpoint)
      : overspent(ready(stages.keyed), endpoint, KEY);
  if (status === 503)
    return endpoint.path === '/health/ready' ? unready(ready(stages.open)) : overloaded(ready(stages.tight), endpoint);
  const stage = ready(status === 413 ? stages.tight : status === 500 ? stages.broken : stages.open);
  const compose = endpoint.provoke?.[status] ?? valid;
  const request = await compose(stage);
  return status === 500 ? whileBroken(stage.server, () => stage.send(method, request)) : stage.send(method, request);
}

async function sendWith(stage: Stage, { method, valid }: Endpoint, key: string): Promise<Reply> {
  return stage.send(method, withKey(await valid(stage), key));
}

/** Repeats the request until the budget is spent; a route without a tenant may draw on another budget. */
async function overspent(stage: Stage, { method, valid }: Endpoint, key?: string): Promise<Reply> {
  const request = await valid({ ...stage, fresh: () => Promise.resolve('docs') });
  const ask = (): Promise<Reply> => stage.send(method, key === undefined ? request : withKey(request, key));
  await ask();
  await ask();
  return ask();
}

/** Sends the request while requests that wait for their bodies take all places. */
async function overloaded(stage: Stage, { method, valid }: Endpoint): Promise<Reply> {
  const request = await valid(stage);
  const held = await holdRequests(stage.server, IN_FLIGHT_MAX);
  try {
    await until(
      ({ status }) => status === 503,
      () => stage.send('GET', { path: '/v1/collections/acme' }),
    );
    return await stage.send(method, request);
  } finally {
    for (const socket of held) socket.destroy();
    await until(
      ({ status }) => status !== 503,
      () => stage.send('GET', { path: '/v1/collections/acme' }),
    );
  }
}

/**
 * Asks for readiness while a shard is down. The worker that replaces it may be ready before the request arrives, so the
 * function kills and asks again.
 */
async function unready(stage: Stage): Promise<Reply> {
  const ask = (): Promise<Reply> => stage.send('GET', { path: '/health/ready' });
  for (let tries = 1; ; tries++) {
    await stage.server.parts.shards.kill(0);
    const reply = await ask();
    await until(({ status }) => status === 200, ask);
    if (reply.status === 503 || tries === 10) return reply;
    await sleep(10);
  }
}

// The coverage of the specification as a table for people: endpoints down, statuses across.

type Cell = 'made' | 'missed';

export class Matrix {
  private readonly cells = new Map<string, Cell>();

  constructor(private readonly endpoints: readonly Endpoint[]) {}

  note(endpoint: Endpoint, status: number, cell: Cell): void {
    this.cells.set(`${nameOf(endpoint)} ${status}`, cell);
  }

  toString(): string {
    const statuses = [...new Set(this.endpoints.flatMap(statusesOf))].sort((a, b) => a - b);
    const width = Math.max(...this.endpoints.map((endpoint) => nameOf(endpoint).length));
    const rows = this.endpoints.map(
      (endpoint) =>
        `${nameOf(endpoint).padEnd(width)}  ${statuses.map((status) => this.mark(endpoint, status)).join('  ')}`,
    );
    const listed = this.endpoints.flatMap(statusesOf).length;
    const made = [...this.cells.values()].filter((cell) => cell === 'made').length;
    const head = `${''.padEnd(width)}  ${statuses.join('  ')}`;
    const foot = `${made} of ${listed} statuses of ${this.endpoints.length} endpoints made to happen`;
    return [head, ...rows, foot].join('\n');
  }

  /** The mark of a cell; blank where the specification does not list the status. */
  private mark(endpoint: Endpoint, status: number): string {
    if (!statusesOf(endpoint).includes(status)) return '   ';
    const cell = this.cells.get(`${nameOf(endpoint)} ${status}`);
    return cell === 'made' ? ' ✓ ' : cell === 'missed' ? ' ✗ ' : ' ? ';
  }
}

/** The statuses of an endpoint, the success first. */
export const statusesOf = ({ success, others }: Endpoint): number[] => [success, ...others];

// Every row of the specification's endpoint tables.

export const ENDPOINTS: readonly Endpoint[] = [
  ...OPERATOR_ENDPOINTS,
  ...COLLECTION_ENDPOINTS,
  ...ARCHIVE_ENDPOINTS,
  ...DOCUMENT_ENDPOINTS,
  ...SEARCH_ENDPOINTS,
  ...REINDEX_ENDPOINTS,
];
