// NDJSON ingest below HTTP: results come in order while the body is still arriving; the body is read only as fast as it
// is processed; a body that breaks off stops the ingest, and what was acknowledged stays.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asCollectionName, asTenant } from '../../../src/api/ids.js';
import { ingestLines } from '../../../src/service/ingest/ndjson.js';
import type { ItemResult } from '../../../src/service/ingest/batch.js';
import { startTestServer } from '../../kit/server.js';

const server = await startTestServer({ SHEAF_LIMITS__MAX_JSON_BYTES: '100000' });
const { call, services } = server;
async function* ingest(name: string, body: AsyncIterable<Uint8Array>): AsyncGenerator<ItemResult[]> {
  yield* await ingestLines(services.ingest, asTenant('acme'), asCollectionName(name), body);
}
const detail = async (name: string): Promise<Record<string, unknown>> =>
  (await call('GET', `/v1/collections/acme/${name}/detail`)).json;

async function* pieces(texts: Iterable<string | Uint8Array>): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text as string);
}

async function all(results: AsyncIterable<ItemResult[]>): Promise<ItemResult[]> {
  const found: ItemResult[] = [];
  for await (const some of results) found.push(...some);
  return found;
}

test('one who waits for each result before the next line gets it', async () => {
  let isAnswered = (): void => {};
  async function* dialogue(): AsyncGenerator<Uint8Array> {
    for (let i = 0; i < 20; i++) {
      const answered = new Promise<void>((resolve) => (isAnswered = resolve));
      yield Buffer.from(`{"docid":"D${i}",`);
      yield Buffer.from(`"text":"line ${i}"}\n`);
      await answered;
    }
  }
  const docids: (string | undefined)[] = [];
  for await (const results of ingest('dialogue', dialogue())) {
    docids.push(...results.map(({ docid }) => docid));
    isAnswered();
  }
  assert.deepEqual(
    docids,
    Array.from({ length: 20 }, (_, i) => `D${i}`),
  );
});

test('bad lines are results of their own, in order; blank ones are none', async () => {
  const long = `{"text":"${'x'.repeat(100_001)}"}`;
  const body = [
    '\n',
    '{"docid":"a","text":"a"}\r\n',
    '{"text":\n',
    '5\n',
    ' \r\n',
    '{"docid":"b"}\n',
    `${long}\n`,
    Buffer.from('{"text":"\xff"}\n', 'latin1'),
    '{"docid":"c","text":"c"}',
  ];
  const found = await all(ingest('lines', pieces(body)));
  assert.deepEqual(
    found.map((item) => (item.ok ? item.docid : item.code)),
    ['a', 'invalid_item', 'invalid_item', 'invalid_item', 'request_too_large', 'invalid_item', 'c'],
  );
  assert.equal((await detail('lines')).doc_count, 2);
});

test('thousands of lines in pieces of any size: each has its result, documents of one id in order', async () => {
  const text = Array.from({ length: 6000 }, (_, i) => `{"docid":"D${i % 500}","text":"revision ${i}"}\n`).join('');
  const bytes = Buffer.from(text);
  const cut = Array.from({ length: Math.ceil(bytes.length / 4999) }, (_, i) =>
    bytes.subarray(i * 4999, (i + 1) * 4999),
  );
  const found = await all(ingest('revisions', pieces(cut)));
  assert.deepEqual(
    found.map(({ ok, docid }) => [ok, docid]),
    Array.from({ length: 6000 }, (_, i) => [true, `D${i % 500}`]),
  );
  for (const n of [0, 123, 499]) {
    const { json } = await call('GET', `/v1/collections/acme/revisions/documents/D${n}`);
    assert.equal(json.version, 12);
    assert.equal(
      (await call('GET', `/v1/collections/acme/revisions/chunks/D${n}::chunk_0/content`)).text,
      `revision ${5500 + n}`,
    );
  }
});

test('while nobody reads the results, no more of the body is taken than a few slices', async () => {
  let takenBytes = 0;
  const line = Buffer.from(`${`{"text":"${'word '.repeat(200)}"}\n`.repeat(20)}`);
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) {
      takenBytes += line.length;
      yield line;
    }
  }
  const results = ingest('slow', endless());
  assert.equal((await results.next()).done, false);
  let before = -1;
  while (takenBytes !== before) {
    before = takenBytes;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  assert.ok(takenBytes < 4 * 1024 * 1024, `${takenBytes} bytes`);
  await results.return(undefined);
  // The reader finishes the piece that it was reading.
  await new Promise(setImmediate);
  const taken = takenBytes;
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(takenBytes, taken);
  assert.ok(taken - before <= line.length, `${taken - before} bytes more`);
});

test('a body that breaks off ends it with that error; what had a result is there', async () => {
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('{"docid":"kept","text":"kept"}\n');
    await untilSeen;
    throw new Error('the client is gone');
  }
  let see = (): void => {};
  const untilSeen = new Promise<void>((resolve) => (see = resolve));
  const results = ingest('broken', broken());
  assert.deepEqual(
    ((await results.next()).value as ItemResult[]).map(({ ok }) => ok),
    [true],
  );
  see();
  await assert.rejects(results.next(), /the client is gone/);
  assert.equal((await call('GET', '/v1/collections/acme/broken/documents/kept')).status, 200);
});

test('no internal error was logged', () => {
  assert.deepEqual(server.faults, []);
});
