// Modes boost and hybrid over a real socket: scores and reasons computed by hand, priorities, settings, client errors;
// and that the terms are right after writes, a restart and the death of a worker.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ready, startTestServer } from '../../kit/server.js';

const server = await startTestServer();
const { call } = server;
const path = '/v1/collections/acme/modes';
const TEXTS: Record<string, string> = {
  A: 'submarine captain',
  B: 'captain captain captain',
  C: 'bread and butter',
  D: 'a submarine, deep below',
};

type Hit = Record<string, any>;
const search = async (body: object, where = path): Promise<Hit[]> =>
  (await call('POST', `${where}/search`, body)).json.matches;
const close = (actual: number, expected: number): void =>
  assert.ok(Math.abs(actual - expected) < 1e-9, `${actual} is not ${expected}`);

test('the documents are stored', async () => {
  for (const [docid, text] of Object.entries(TEXTS))
    assert.equal((await call('POST', `${path}/documents`, { docid, text })).status, 201);
});

test('boost: cosine plus a tenth of the share of tokens', async () => {
  const q = 'Submarine captain, submarine Nemo';
  const cosines = new Map((await search({ q })).map(({ id, score }) => [id, score as number]));
  const hits = await search({ q, mode: 'boost' });
  const matched: Record<string, number> = { A: 2, B: 1, C: 0, D: 1 };
  for (const { id, score, match_reason: reason } of hits) {
    const count = matched[id[0]] as number;
    const cosine = cosines.get(id) as number;
    close(score, cosine + (0.1 * count) / 3);
    assert.equal(
      reason,
      `boost: cosine ${cosine.toFixed(3)} + ${((0.1 * count) / 3).toFixed(3)} for exact tokens ${count}/3`,
    );
  }
  assert.equal(hits.length, 4);
  assert.deepEqual(
    hits.map(({ score }) => score),
    [...hits.map(({ score }) => score)].sort((a, b) => b - a),
  );
});

test('hybrid: reciprocal ranks of both rankings, and the time of each', async () => {
  const { json } = await call('GET', `${path}/search?q=submarine+captain&mode=hybrid`);
  assert.equal(json.mode, 'hybrid');
  const [first] = json.matches;
  assert.equal(first.id, 'A::chunk_0');
  assert.match(
    first.match_reason,
    /^hybrid: vector rank 1 \(cosine [01]\.\d{3}\) \+ lexical rank 1, each 1\/\(60\+rank\)$/,
  );
  close(first.score, 2 / 61);
  const bread = json.matches.find(({ id }: Hit) => id === 'C::chunk_0');
  assert.match(bread.match_reason, /^hybrid: vector rank 4 \(cosine -?0\.\d{3}\), each 1\/\(60\+rank\)$/);
  for (const phase of ['embed_ms', 'filter_ms', 'hydrate_ms', 'search_ms', 'lexical_search_ms', 'vector_search_ms'])
    assert.equal(typeof json.timing[phase], 'number', phase);
  const vector = await call('GET', `${path}/search?q=submarine+captain`);
  assert.deepEqual(Object.keys(vector.json.timing).sort(), ['embed_ms', 'filter_ms', 'hydrate_ms', 'search_ms']);
});

test('a query without a word is served in every mode', async () => {
  for (const mode of ['boost', 'hybrid']) assert.equal((await search({ q: '?!', mode })).length, 4, mode);
  assert.match((await search({ q: '?!', mode: 'boost' }))[0]?.match_reason, / \+ 0\.000 for exact tokens 0\/0$/);
});

test('of a very long query the first words count', async () => {
  const q = `submarine captain ${Array.from({ length: 9000 }, (_, i) => `w${i}`).join(' ')}`;
  assert.match(
    (await search({ q, mode: 'boost', k: 9 })).find(({ id }) => id[0] === 'A')?.match_reason,
    / for exact tokens 2\/1024$/,
  );
});

test('a search in mode hybrid beside replacements shows a document whole, old or new', async () => {
  const churn = '/v1/collections/acme/hybrid-churn';
  await call('POST', churn, { chunking: { strategy: 'fixed', size: 16, overlap: 0 } });
  const put = (revision: number): Promise<{ status: number }> =>
    call('POST', `${churn}/documents`, {
      docid: 'A',
      text: `whale sea ${String(revision).padStart(6, '0')}`.repeat(3),
      metadata: { revision },
    });
  await put(0);
  let writing = true as boolean;
  const writes = (async () => {
    for (let revision = 1; revision <= 60; revision++) assert.equal((await put(revision)).status, 201);
    writing = false;
  })();
  let seen = 0;
  while (writing) {
    const hits = await search({ q: 'whale sea', mode: 'hybrid', k: 50, filters: { revision: { $gte: 0 } } }, churn);
    assert.equal(new Set(hits.map(({ meta }) => meta.revision)).size, 1);
    assert.equal(hits.length, 3);
    seen++;
  }
  await writes;
  assert.ok(seen > 0);
});

test('a hit of the words alone, found however far its vector is', async () => {
  const far = '/v1/collections/acme/far';
  const fillers = Array.from({ length: 80 }, (_, i) => ({ docid: `F${i}`, text: `the cat sits on mat number ${i}` }));
  const documents = [
    ...fillers,
    { docid: 'RARE', text: `zyzzyva ${'quarterly revenue accounting ledger balance '.repeat(4)}` },
  ];
  for (const document of documents) await call('POST', `${far}/documents`, document);
  const hits = await search({ q: 'kitten resting upon a rug, zyzzyva', mode: 'hybrid' }, far);
  const rare = hits.find(({ id }) => id === 'RARE::chunk_0') as Hit;
  assert.match(rare.match_reason, /^hybrid: lexical rank \d+, each 1\/\(60\+rank\)$/);
});

test('a priority acts on the final score in every mode, and is told', async () => {
  const prio = '/v1/collections/acme/prio';
  await call('POST', prio, { priority_key: 'weight' });
  for (const [docid, text] of Object.entries(TEXTS))
    await call('POST', `${prio}/documents`, {
      docid,
      text,
      metadata: docid === 'D' ? { weight: '1' } : docid === 'A' ? { weight: -0.5 } : {},
    });
  for (const mode of ['vector', 'boost', 'hybrid']) {
    const plain = new Map(
      (await search({ q: 'submarine captain', mode })).map(({ id, score }) => [id, score as number]),
    );
    const hits = await search({ q: 'submarine captain', mode }, prio);
    const factors: Record<string, number> = { A: 0.5, D: 2 };
    for (const { id, score, match_reason: reason } of hits) {
      const before = plain.get(id) as number;
      close(score, before * (factors[id[0]] ?? 1));
      if (id[0] === 'D')
        assert.ok(
          reason.endsWith(`; priority: weight +1.00, ${before.toFixed(3)} -> ${(2 * before).toFixed(3)}`),
          reason,
        );
    }
    assert.equal(hits[0]?.id, 'D::chunk_0', mode);
    assert.deepEqual(
      (await search({ q: 'submarine captain', mode, k: 1 }, prio)).map(({ id }) => id),
      ['D::chunk_0'],
      mode,
    );
  }
});

test('the words follow replacements and deletions', async () => {
  const churn = '/v1/collections/acme/churn';
  const reasons = async (q: string): Promise<string[]> =>
    (await search({ q, mode: 'boost' }, churn)).map(({ match_reason: reason }) => reason.split('tokens ')[1]);
  await call('POST', `${churn}/documents`, { docid: 'A', text: 'zebra one' });
  assert.deepEqual(await reasons('zebra two'), ['1/2']);
  await call('POST', `${churn}/documents`, { docid: 'A', text: 'zebra two' });
  assert.deepEqual(await reasons('zebra two'), ['2/2']);
  await call('DELETE', `${churn}/documents/A`);
  await call('POST', `${churn}/documents`, { docid: 'B', text: 'nothing' });
  assert.deepEqual(await reasons('zebra two'), ['0/2']);
  assert.equal((await search({ q: 'zebra', mode: 'hybrid' }, churn))[0]?.match_reason.includes('lexical'), false);
});

test('the default mode of a collection', async () => {
  const hybrid = '/v1/collections/acme/hybrid';
  assert.equal((await call('POST', hybrid, { search_mode: 'hybrid' })).json.search_mode, 'hybrid');
  await call('POST', `${hybrid}/documents`, { docid: 'A', text: 'submarine' });
  assert.equal((await call('GET', `${hybrid}/search?q=submarine`)).json.mode, 'hybrid');
  assert.equal((await call('GET', `${hybrid}/search?q=submarine&mode=vector`)).json.mode, 'vector');
  const v = Array.from({ length: 512 }, (_, i) => i + 1);
  assert.equal((await call('POST', `${hybrid}/search`, { v })).json.mode, 'vector');
  for (const mode of ['boost', 'hybrid']) {
    const { status, json } = await call('POST', `${hybrid}/search`, { v, mode });
    assert.deepEqual([status, json.code], [422, 'search_mode_requires_text']);
  }
  const missing = await call('GET', '/v1/collections/acme/nothing/search?q=a&mode=hybrid');
  assert.deepEqual([missing.status, missing.json.mode, missing.json.matches], [200, 'hybrid', []]);
});

test('a mode that the instance does not serve is refused, and no collection gets it', async () => {
  const other = await startTestServer({ SHEAF_SEARCH__MODES: '["vector","boost"]' });
  await other.call('POST', `${path}/documents`, { docid: 'A', text: 'submarine' });
  const { status, json } = await other.call('GET', `${path}/search?q=a&mode=hybrid`);
  assert.deepEqual([status, json.code], [422, 'search_mode_disabled']);
  assert.equal((await other.call('POST', `${path}/search`, { q: 'a', mode: 'boost' })).status, 200);
  const created = await other.call('POST', '/v1/collections/acme/h', { search_mode: 'hybrid' });
  assert.deepEqual([created.status, created.json.code], [400, 'search_mode_disabled']);
  assert.deepEqual(
    [
      (await other.call('GET', '/v1/search?q=a&mode=hybrid')).status,
      (await other.call('POST', '/v1/search', { q: 'a', mode: 'hybrid' })).status,
    ],
    [422, 400],
  );
});

test('an instance that serves hybrid alone gives it to collections that name no mode', async () => {
  const other = await startTestServer({ SHEAF_SEARCH__MODES: '["hybrid"]' });
  assert.equal((await other.call('POST', path, {})).json.search_mode, 'hybrid');
  assert.equal((await other.call('GET', `${path}/search?q=a`)).json.mode, 'hybrid');
});

test('the weight of the boost is a setting', async () => {
  const other = await startTestServer({ SHEAF_SEARCH__BOOST_WEIGHT: '2' });
  await other.call('POST', `${path}/documents`, { docid: 'A', text: 'submarine' });
  const { json } = await other.call('GET', `${path}/search?q=submarine&mode=boost`);
  assert.match(json.matches[0].match_reason, / \+ 2\.000 for exact tokens 1\/1$/);
});

test('answers are the same after the death of a worker and after a restart', async () => {
  const ask = async (from: typeof server): Promise<unknown[]> =>
    Promise.all(
      ['boost', 'hybrid'].map(
        async (mode) => (await from.call('POST', `${path}/search`, { q: 'deep submarine captain', mode })).json.matches,
      ),
    );
  const before = await ask(server);
  await server.parts.shards.kill(0);
  await ready(server);
  assert.deepEqual(await ask(server), before);
  assert.deepEqual(
    server.faults.filter((fault) => !fault.includes('a shard worker died')),
    [],
  );
  await server.stop();
  assert.deepEqual(await ask(await startTestServer({ SHEAF_DATA_DIR: server.dataDir })), before);
});
