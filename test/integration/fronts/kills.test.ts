// Front threads that die under load: only their own connections close, nothing that was answered is lost, successors
// serve, and nothing that the dead ones held stays behind.
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { READERS_AT, READERS_MAX, READER_BYTES, READER_THREAD } from '../../../src/engine/memory/layout.js';
import { createPrng } from '../../../src/base/prng.js';
import { Connection, frontPoolOf, watchDeals } from '../../kit/fronts.js';
import { startTestServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';

const SEED = 2411;
const FRONTS = 3;
const KILLS = 30;
const PLACES = 400;
const docs = '/v1/collections/acme/docs';

const server = await startTestServer({
  SHEAF_SERVER__THREADS: String(FRONTS),
  SHEAF_LIMITS__TENANT__MAX_IN_FLIGHT: String(PLACES),
});
for (let i = 0; i < 60; i++)
  await server.call('POST', `${docs}/documents`, { docid: `d${i}`, text: `captain ${i} `.repeat(40) });
const pool = frontPoolOf(server);
const dealt = watchDeals(pool);
const descriptors = (): number => readdirSync('/proc/self/fd').length;

const form = Buffer.from(
  '--edge\r\nContent-Disposition: form-data; name="docid"\r\n\r\nfile\r\n' +
    '--edge\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n' +
    `${'a file of words\n'.repeat(90_000)}\r\n--edge--\r\n`,
);
const FORM = { 'content-type': 'multipart/form-data; boundary=edge' };
const NDJSON = { 'content-type': 'application/x-ndjson' };

/** What was answered, and what closed without an answer. */
const seen = { answered: {} as Record<string, number>, closed: 0, wrong: [] as string[], stored: new Set<string>() };
const killed = new Set<Worker>();
/** Their ids; a thread that has ended has none. */
const deadIds = new Map<Worker, number>();
let isOver = false;
let number = 0;

type Kind = (connection: Connection) => Promise<unknown>;

function expectStatus(kind: string, status: number, expected: number): void {
  if (status !== expected) seen.wrong.push(`${kind}: ${status}`);
}

const KINDS: Record<string, Kind> = {
  search: async (connection) => {
    const { status, json } = await connection.call('POST', `${docs}/search`, { q: `captain ${number++ % 60}`, k: 3 });
    expectStatus('search', status, 200);
    if (json.matches?.length !== 3) seen.wrong.push(`search: ${JSON.stringify(json).slice(0, 200)}`);
  },
  put: async (connection) => {
    const docid = `p${number++}`;
    const { status } = await connection.call('POST', `${docs}/documents`, { docid, text: `a put ${docid}` });
    expectStatus('put', status, 201);
    seen.stored.add(docid);
  },
  upload: async (connection) => {
    const { status, text } = await connection.call('POST', '/v1/collections/acme/files/documents', form, FORM);
    expectStatus(`upload ${text}`, status, 201);
  },
  lines: async (connection) => {
    const first = number++;
    const ids = Array.from({ length: 20 }, (_, at) => `n${first}-${at}`);
    const body = ids.map((docid) => `${JSON.stringify({ docid, text: `line ${docid}` })}\n`).join('');
    const { status, text } = await connection.call('POST', `${docs}/documents:batch`, body, NDJSON);
    expectStatus('lines', status, 201);
    const { succeeded } = JSON.parse(text.trim().split('\n').at(-1) ?? '{}') as { succeeded?: number };
    if (succeeded !== ids.length) seen.wrong.push(`lines: ${text.slice(-200)}`);
    for (const docid of ids) seen.stored.add(docid);
  },
  events: async (connection) => {
    const answer = await connection.open('GET', `${docs}/events`, {}, (out) => out.end());
    expectStatus('events', answer.statusCode ?? 0, 200);
    let told = 0;
    for await (const piece of answer) if (String(piece).includes('event:') && ++told === 5) break;
    answer.destroy();
    if (told < 5) throw new Error('the events ended');
  },
  archive: async (connection) => {
    const { status, text } = await connection.call('GET', `${docs}/archive`);
    expectStatus('archive', status, 200);
    if (!text.startsWith('PK')) seen.wrong.push('archive: no archive');
  },
};

/** Sends requests one after the other. One may close without an answer only if its front thread was killed. */
async function repeat(kind: string, once: Kind): Promise<void> {
  const connection = new Connection(server.port);
  while (!isOver) {
    try {
      await once(connection);
      seen.answered[kind] = (seen.answered[kind] ?? 0) + 1;
    } catch (error) {
      const worker = dealt.get(connection.localPort);
      if (worker && killed.has(worker)) seen.closed++;
      else seen.wrong.push(`${kind} closed without a kill: ${String(error)}`);
    }
  }
  connection.close();
}

async function killOne(front: number): Promise<void> {
  await pool.whenReady();
  const worker = pool.threads[front] as Worker;
  deadIds.set(worker, worker.threadId);
  killed.add(worker);
  await pool.kill(front);
  await pool.whenReady();
}

test('front threads die under load of every kind', async () => {
  const prng = createPrng(SEED);
  // What a first death leaves in the process for good is no leak.
  for (let front = 0; front < FRONTS; front++) await killOne(front);
  await server.call('GET', '/health/live');
  // The first file starts a batch worker.
  const first = new Connection(server.port);
  await KINDS['upload']?.(first);
  first.close();
  const before = descriptors();
  const running = Object.entries(KINDS).flatMap(([kind, once]) => [repeat(kind, once), repeat(kind, once)]);
  for (let kill = 0; kill < KILLS; kill++) {
    await new Promise((resolve) => setTimeout(resolve, prng.int(300)));
    await killOne(prng.int(FRONTS));
  }
  const atLast = { ...seen.answered };
  await until(
    () => Object.keys(KINDS).every((kind) => (seen.answered[kind] ?? 0) > (atLast[kind] ?? 0)),
    () => `not every kind is served after the kills: ${JSON.stringify(seen.answered)}`,
  );
  isOver = true;
  // A reader of events may wait for one.
  const more = setInterval(() => void server.call('POST', `${docs}/documents`, { docid: 'e', text: 'event' }), 50);
  await Promise.all(running);
  clearInterval(more);
  assert.deepEqual(seen.wrong, [], `seed ${SEED}`);
  assert.ok(seen.closed > 0, 'no kill has met a request');

  let last: Record<string, number> = {};
  const left = async (): Promise<Record<string, number>> => {
    const { text } = await server.call('GET', '/metrics');
    const { headers } = await server.call('GET', `${docs}/search?q=a`);
    const metric = (name: string): number => Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
    const folder = join(server.dataDir, 'sheaf-tmp');
    const files = existsSync(folder) ? readdirSync(folder, { recursive: true, withFileTypes: true }) : [];
    return {
      requests: metric('sheaf_requests_under_way') - 1,
      bytes: metric('sheaf_request_bodies_bytes'),
      places: PLACES - 1 - Number(headers.get('x-ratelimit-remaining')),
      files: files.filter((entry) => entry.isFile()).length,
      streams: server.parts.events.readerCount,
      lent: [...Array(FRONTS).keys()].reduce((sum, at) => sum + lentBy(at), 0),
    };
  };
  await until(
    async () => Object.values((last = await left())).every((count) => count === 0),
    () => `left behind with seed ${SEED}: ${JSON.stringify(last)}`,
  );
  // The connections of `fetch` stay open: one for each request at a time.
  await until(
    () => descriptors() <= before + 4,
    () => `${before} descriptors before, ${descriptors()} after ${KILLS} kills`,
  );
});

/** Streams that the main thread lends to a front thread. */
const lentBy = (front: number): number => pool['fronts'][front]?.peer['lent'].size ?? 0;

test('what was answered is there, and no dead thread has a place in the shared memories', async () => {
  const { json } = await server.call('GET', `${docs}/documents`);
  const found = new Set((json.documents as { docid: string }[]).map(({ docid }) => docid));
  assert.deepEqual([...seen.stored].filter((docid) => !found.has(docid)).slice(0, 5), []);
  assert.deepEqual(
    server.faults.filter((fault) => !/a front thread died/.test(fault)),
    [],
  );
  const dead = new Set([...killed].map((worker) => deadIds.get(worker)));
  const places = server.parts.shared.memories.flat().flatMap(readersOf);
  assert.deepEqual(
    places.filter((threadId) => dead.has(threadId)),
    [],
  );
});

/** The ids of the threads that have a place as readers. */
function readersOf(memory: WebAssembly.Memory): number[] {
  const words = new Int32Array(memory.buffer);
  const places = Array.from({ length: READERS_MAX }, (_, place) => READERS_AT + place * READER_BYTES + READER_THREAD);
  return places.map((at) => Atomics.load(words, at >> 2) - 1).filter((threadId) => threadId >= 0);
}
