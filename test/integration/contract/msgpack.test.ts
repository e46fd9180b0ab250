// MessagePack and base64 vectors over a real socket: bodies and answers have the values that they have in JSON.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Packr, unpack } from 'msgpackr';
import { createPrng } from '../../../src/base/prng.js';
import { startTestServer } from '../../kit/server.js';

const SEED = 3409;
const DIM = 8;
const prng = createPrng(SEED);
const packr = new Packr({ useRecords: false });
const MSGPACK = { 'content-type': 'application/msgpack' };
const ACCEPT = { accept: 'application/msgpack' };

const server = await startTestServer();
const path = '/v1/collections/acme/v';
await server.call('POST', path, { embedder_type: 'identity', embedder_config: { dim: DIM } });

const vector = (): Float32Array => Float32Array.from({ length: DIM }, () => prng.normal());
const bytesOf = (numbers: Float32Array): Uint8Array => new Uint8Array(numbers.buffer);
const base64Of = (numbers: Float32Array): string => Buffer.from(numbers.buffer).toString('base64');

interface Told {
  status: number;
  type: string;
  value: Record<string, any>;
}

async function send(at: string, body: Uint8Array | string, headers: Record<string, string>): Promise<Told> {
  const response = await fetch(`${server.url}${path}${at}`, { method: 'POST', body: body as BodyInit, headers });
  const type = response.headers.get('content-type') ?? '';
  const bytes = Buffer.from(await response.arrayBuffer());
  return {
    status: response.status,
    type,
    value: (type === 'application/msgpack' ? unpack(bytes) : JSON.parse(bytes.toString())) as Told['value'],
  };
}
const sendPacked = (at: string, body: unknown): Promise<Told> =>
  send(at, body instanceof Uint8Array ? body : packr.pack(body), { ...MSGPACK, ...ACCEPT });
const sendJson = (at: string, body: unknown): Promise<Told> =>
  send(at, JSON.stringify(body), { 'content-type': 'application/json' });

/** What does not differ between two requests. */
const told = ({ query_id, timing, latency_ms, request_id, ...rest }: Record<string, any>): unknown => rest;

test('documents come in each form, alone and in batches, and are the same', async () => {
  const numbers = Array.from({ length: 6 }, vector);
  const [a, b, c, d, e, f] = numbers as [
    Float32Array,
    Float32Array,
    Float32Array,
    Float32Array,
    Float32Array,
    Float32Array,
  ];
  const metadata = { half: 1, name: 'é', list: [1.5, null, true] };
  const answers = [
    await sendJson('/documents', { docid: 'A', vector: Array.from(a), metadata }),
    await sendJson('/documents', { docid: 'B', v_base64: base64Of(b), metadata }),
    await sendPacked('/documents', { docid: 'C', vector: bytesOf(c), metadata }),
    await sendPacked('/documents', { docid: 'D', vector: Array.from(d), metadata }),
    await sendPacked('/documents:batch', { documents: [{ docid: 'E', vector: bytesOf(e), metadata }, { docid: 'X' }] }),
    await send('/documents:batch', `${JSON.stringify({ docid: 'F', v_base64: base64Of(f), metadata })}\n`, {
      'content-type': 'application/x-ndjson',
    }).catch(() => undefined),
  ];
  assert.deepEqual(
    answers.slice(0, 5).map((answer) => [answer?.status, answer?.type]),
    [...['json', 'json', 'msgpack', 'msgpack', 'msgpack'].map((type) => [201, `application/${type}`])],
  );
  const [stored, bad] = answers[4]?.value.documents as Record<string, any>[];
  assert.deepEqual(
    [stored, bad?.ok, bad?.code],
    [{ index: 0, ok: true, docid: 'E', chunks: 1, version: 1 }, false, 'invalid_item'],
  );
  for (const [i, docid] of ['A', 'B', 'C', 'D', 'E', 'F'].entries()) {
    const { value } = await sendJson('/search', { v: Array.from(numbers[i] as Float32Array), k: 1 });
    const [hit] = value.matches;
    assert.equal(hit.id, `${docid}::0`);
    assert.ok(Math.abs(hit.score - 1) < 1e-6);
    const { docid: _, ingested_at, ...own } = hit.meta;
    assert.deepEqual(own, metadata);
  }
});

test('random searches have the same answer in each form', async () => {
  const documents = Array.from({ length: 60 }, (_, i) => ({
    docid: `R${i}`,
    vector: bytesOf(vector()),
    metadata: { n: i, text: 'quote " and \\ and 漢字', nested: { a: [i / 3] } },
  }));
  assert.equal((await sendPacked('/documents:batch', { documents })).value.succeeded, 60);
  const searches = Array.from({ length: 40 }, () => ({
    v: vector(),
    k: 1 + prng.int(20),
    ...(prng.int(2) === 0 && { filters: { n: { $gte: prng.int(60) } } }),
    ...(prng.int(3) === 0 && { explain: true }),
    ...(prng.int(3) === 0 && { boost_by: { fields: [{ field: 'n', modifier: 'log1p', weight: 0.1 }] } }),
  }));
  for (const { v, ...rest } of searches) {
    const answers = [
      await sendJson('/search', { v: Array.from(v), ...rest }),
      await sendJson('/search', { ...rest, v_base64: base64Of(v) }),
      await sendPacked('/search', { v: bytesOf(v), ...rest }),
      await sendPacked('/search', { ...rest, v: Array.from(v) }),
      await sendPacked('/search', { ...rest, v_base64: base64Of(v) }),
    ];
    const [first] = answers;
    for (const { status, value } of answers) {
      assert.equal(status, 200);
      assert.deepEqual(told(value), told(first?.value as object), `seed ${SEED}`);
      assert.equal(typeof value.timing.search_ms, 'number');
      assert.equal(typeof value.latency_ms, 'number');
    }
  }
  const [one, other] = [vector(), vector()];
  const queries = [{ v_base64: base64Of(one) }, { v: Array.from(other), weight: 2 }];
  const [inJson, inMsgpack] = [await sendJson('/search', { queries }), await sendPacked('/search', { queries })];
  assert.equal((inJson.value.matches as unknown[]).length, 5);
  assert.deepEqual(told(inMsgpack.value), told(inJson.value));
  const bad = { v: new Uint8Array(4), k: 3 };
  const batches = [
    await sendPacked('/search:batch', {
      searches: [...searches.map(({ v, ...rest }) => ({ v: bytesOf(v), ...rest })), bad],
    }),
    await sendJson('/search:batch', {
      searches: [...searches.map(({ v, ...rest }) => ({ v_base64: base64Of(v), ...rest })), { v: [0], k: 3 }],
    }),
  ];
  const [packed, plain] = batches.map(({ value }) => (value.results as Record<string, any>[]).map(told));
  assert.deepEqual(packed, plain, `seed ${SEED}`);
  assert.deepEqual(
    batches.map(({ type, value }) => [type, Object.keys(value)]),
    ['msgpack', 'json'].map((type) => [`application/${type}`, ['ok', 'results', 'latency_ms', 'request_id']]),
  );
});

test('what is refused in a search, in the form that was asked for', async () => {
  const v = bytesOf(vector());
  const cases: [string, unknown, number, string][] = [
    ['malformed', Buffer.of(0xc1), 422, 'invalid_msgpack'],
    ['truncated', packr.pack({ v, k: 3 }).subarray(0, -1), 422, 'invalid_msgpack'],
    ['JSON', Buffer.from('{"q":"a"}'), 422, 'invalid_msgpack'],
    [
      'deep',
      Buffer.concat([packr.pack({ v, filters: 1 }).subarray(0, -1), Buffer.alloc(70, 0x91), Buffer.of(0)]),
      413,
      'request_too_large',
    ],
    ['huge', { v, filters: { a: new Array(90_000).fill(1) } }, 413, 'request_too_large'],
    ['part of a number', { v: v.subarray(1) }, 422, 'validation_error'],
    ['too short', { v: v.subarray(4) }, 422, 'dim_mismatch'],
    ['NaN as bytes', { v: bytesOf(vector().fill(NaN, 3, 4)) }, 422, 'validation_error'],
    ['Infinity in a list', { v: [Infinity, ...new Array(DIM - 1).fill(1)] }, 422, 'validation_error'],
    ['binary filter', { v, filters: { a: v } }, 422, 'validation_error'],
    ['two vectors', { v, v_base64: Buffer.from(v).toString('base64') }, 422, 'validation_error'],
    ['text as vector', { v: 'abc' }, 422, 'validation_error'],
    ['an extension', { v, filters: { a: new Date(0) } }, 422, 'invalid_msgpack'],
    ['no object', 7, 422, 'validation_error'],
  ];
  for (const [name, body, status, code] of cases) {
    const answer = await sendPacked('/search', body);
    assert.deepEqual(
      [answer.status, answer.type, answer.value.ok, answer.value.code],
      [status, 'application/msgpack', false, code],
      name,
    );
    assert.equal(typeof answer.value.request_id, 'string');
  }
  const mismatch = await sendPacked('/search', { v: v.subarray(4) });
  assert.deepEqual([mismatch.value.details.expected, mismatch.value.details.got], [DIM, DIM - 1]);
  for (const v_base64 of ['a', '####', 'AAAA', `${Buffer.from(v).toString('base64')}!`, 'AA==AAAA']) {
    const { status, type, value } = await sendJson('/search', { v_base64 });
    assert.deepEqual([status, type, value.code], [422, 'application/json', 'validation_error'], v_base64);
    assert.match(value.error, /v_base64.*float32/);
  }
  for (const body of [
    { v: Array.from(vector()), v_base64: base64Of(vector()) },
    { v_base64: base64Of(vector()), q: 'a' },
  ])
    assert.equal(
      (await sendJson('/search', body)).value.error,
      'body: Provide exactly one of `q`, `v`, `v_base64`, `like`, `queries` and `sort`.',
    );
});

test('what is refused in a batch and in an ingest', async () => {
  const v = bytesOf(vector());
  for (const body of [Buffer.of(0x80), Buffer.of(0xc1), packr.pack({ searches: [] }), packr.pack({ searches: 1 })])
    assert.equal((await sendPacked('/search:batch', body)).status, 422);
  assert.equal((await sendPacked('/search:batch', { searches: new Array(1001).fill({ v }) })).status, 413);
  const { value } = await sendPacked('/search:batch', { searches: [{ v: [NaN] }, { v }, { v: v.subarray(1) }] });
  assert.deepEqual(
    value.results.map(({ ok, code }: Record<string, unknown>) => [ok, code]),
    [
      [false, 'validation_error'],
      [true, undefined],
      [false, 'validation_error'],
    ],
  );
  const ingests: [unknown, number, string][] = [
    [Buffer.of(0xc1), 400, 'invalid_msgpack'],
    [packr.pack({ vector: v }).subarray(0, -1), 400, 'invalid_msgpack'],
    [{ vector: v.subarray(4) }, 400, 'dim_mismatch'],
    [{ vector: v.subarray(1) }, 422, 'validation_error'],
    [{ vector: bytesOf(vector().fill(Infinity, 0, 1)) }, 422, 'validation_error'],
    [{ vector: v, text: 'a' }, 400, 'invalid_document_json'],
    [{ vector: v, v_base64: 'AAAA' }, 400, 'invalid_document_json'],
    [{ vector: v, metadata: { a: v } }, 422, 'validation_error'],
    [{ vector: v, unknown: 1 }, 400, 'invalid_document_json'],
  ];
  for (const [body, status, code] of ingests) {
    const answer = await sendPacked('/documents', body);
    assert.deepEqual([answer.status, answer.type, answer.value.code], [status, 'application/msgpack', code]);
    const documents = body instanceof Uint8Array ? undefined : [{ docid: 'GOOD', vector: v }, body];
    if (documents === undefined) continue;
    const { value: batch } = await sendPacked('/documents:batch', { documents });
    assert.deepEqual([batch.succeeded, batch.failed], [1, 1], JSON.stringify(batch));
  }
  assert.deepEqual(server.faults, []);
});

test('a time at which a document expires comes as in JSON', async () => {
  const expiring = { docid: 'EXPIRING', vector: bytesOf(vector()), expires_at: '2090-01-02T03:04:05.000Z' };
  assert.equal((await sendPacked('/documents', expiring)).status, 201);
  assert.equal(
    (await sendPacked('/documents', { docid: 'PAST', vector: bytesOf(vector()), expires_at: 1 })).status,
    201,
  );
  const batch = { documents: [{ docid: 'LATER', vector: bytesOf(vector()), expires_at: 3_787_000_000 }] };
  const { value: stored } = await sendPacked('/documents:batch', batch);
  assert.equal(stored.succeeded, 1, JSON.stringify(stored));
  const expiryOf = async (docid: string): Promise<unknown> => {
    const { status, json } = await server.call('GET', `${path}/documents/${docid}`);
    return status === 200 ? json.expires_at : status;
  };
  assert.deepEqual(await Promise.all(['EXPIRING', 'PAST', 'LATER'].map(expiryOf)), [
    '2090-01-02T03:04:05.000Z',
    404,
    new Date(3_787_000_000_000).toISOString(),
  ]);
});

test('JSON is answered unless MessagePack is asked for and no less liked', async () => {
  const body = JSON.stringify({ v: Array.from(vector()) });
  const typeFor = async (accept: string): Promise<string> =>
    (await send('/search', body, { 'content-type': 'application/json', accept })).type;
  for (const accept of [
    '*/*',
    'application/json',
    'application/json, application/msgpack;q=0.5',
    'application/msgpack;q=0',
  ])
    assert.equal(await typeFor(accept), 'application/json', accept);
  for (const accept of ['application/msgpack', 'application/msgpack, */*;q=0.1', 'Application/MsgPack'])
    assert.equal(await typeFor(accept), 'application/msgpack', accept);
});
