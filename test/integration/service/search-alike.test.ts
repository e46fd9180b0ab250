// Searches by examples, hits that are unlike each other, and hits with their neighbours, against naive versions: with
// filters, with and without front threads, over a restart.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cosine } from '../../../load/kit/cosine.js';
import { createPrng } from '../../../src/base/prng.js';
import { fileForm, refused, startTestServer, type TestServer } from '../../kit/server.js';
import { naiveRanking, type NaiveChunk, type NaiveQuery } from '../../kit/service/naive-search.js';
import { FILTERS, PATH, chunksFor, fill, pick, randomDocument, sentence } from '../../kit/service/random-documents.js';
import { tempDirectory } from '../../kit/temp.js';

const SEED = 20_261_127;
const MODES = ['vector', 'boost', 'hybrid'] as const;
/** Stored rows are rounded, so similarities of the engine differ a little from those of the stored vectors. */
const ROUNDING = 2e-3;

const prng = createPrng(SEED);
const directory = tempDirectory();
const start = (fronts: string): Promise<TestServer> =>
  startTestServer({ SHEAF_SERVER__THREADS: fronts, ...(fronts === '2' && { SHEAF_DATA_DIR: directory }) });
let servers = await Promise.all(['0', '2'].map(start));
const documents = Array.from({ length: 90 }, (_, i) => randomDocument(prng, `D${i}`));
documents.push({ docid: 'ASTRAL', text: '🐋 whale 🚢 captain '.repeat(30), metadata: { offset: 'mine' } });
documents.push({ docid: 'GAP', text: `whale ${' '.repeat(300)} captain`, metadata: {} });
await fill(servers, documents);
const textOf = new Map(documents.map(({ docid, text }) => [docid, text]));

/** A vector for each chunk, by its id. */
async function storedVectors({ call }: TestServer): Promise<Map<string, number[]>> {
  const { json } = await call('POST', `${PATH}/search`, { sort: {}, k: 1000, with_vector: true, with_text: false });
  return new Map(json.matches.map(({ id, vector }: any) => [id, vector]));
}
const vectors = await storedVectors(servers[0] as TestServer);
const chunks = await chunksFor(servers[0] as TestServer, 'sea');

async function matchesOf({ call }: TestServer, body: object): Promise<any[]> {
  const { status, json } = await call('POST', `${PATH}/search`, body);
  assert.equal(status, 200, JSON.stringify(json));
  return json.matches;
}

const unit = (vector: readonly number[]): number[] => {
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
};
const mean = (all: readonly (readonly number[])[]): number[] =>
  (all[0] as number[]).map((_, i) => all.reduce((sum, one) => sum + (one[i] as number), 0) / all.length);

interface Examples {
  docids: string[];
  chunks: string[];
}

const vectorOfDocument = (docid: string): number[] =>
  unit(mean(chunks.filter((chunk) => chunk.docid === docid).map(({ id }) => unit(vectors.get(id) as number[]))));
const vectorsOf = (ids: Examples): number[][] => [
  ...ids.docids.map(vectorOfDocument),
  ...ids.chunks.map((id) => unit(vectors.get(id) as number[])),
];

async function assertLike(searches: number): Promise<void> {
  const examples = (max: number): Examples => ({
    docids: Array.from({ length: prng.int(max) }, () => pick(prng, chunks).docid),
    chunks: Array.from({ length: prng.int(max) }, () => pick(prng, chunks).id),
  });
  for (let i = 0; i < searches; i++) {
    const [filter, fits] = pick(prng, FILTERS);
    const like = { ...examples(3), not: examples(2) };
    if (like.docids.length + like.chunks.length === 0) like.docids.push('D3');
    const [p, n] = [mean(vectorsOf(like)), vectorsOf(like.not)];
    const query = n.length > 0 ? p.map((value, at) => 2 * value - (mean(n)[at] as number)) : p;
    const taken = [...like.docids, ...like.not.docids];
    const scores = new Map(
      chunks
        .filter((chunk) => fits(chunk) && !taken.includes(chunk.docid))
        .filter(({ id }) => ![...like.chunks, ...like.not.chunks].includes(id))
        .map(({ id, priority }) => {
          const score = cosine(query, vectors.get(id) as number[]);
          return [id, score + Math.abs(score) * priority];
        }),
    );
    const best = [...scores.values()].sort((a, b) => b - a).slice(0, 10);
    for (const server of servers) {
      const what = `seed ${SEED}, search ${i}: ${JSON.stringify({ like, ...filter })}`;
      const found = await matchesOf(server, { like, k: 10, ...filter });
      assert.equal(found.length, best.length, what);
      found.forEach(({ id, score }, at) => {
        assert.ok(Math.abs(score - (scores.get(id) ?? NaN)) < ROUNDING, what);
        assert.ok(Math.abs(score - (best[at] as number)) < ROUNDING, what);
      });
    }
  }
}

test('like: the nearest to the examples, without them', () => assertLike(40));

test('like goes with groups, pages and diversity', async () => {
  const [server] = servers as [TestServer];
  const like = { docids: ['D1'], not: { chunks: ['D2::chunk_0'] } };
  const all = await matchesOf(server, { like, k: 60 });
  assert.deepEqual(
    (await matchesOf(server, { like, k: 10, offset: 20 })).map(({ id }) => id),
    all.slice(20, 30).map(({ id }) => id),
  );
  const groups = await matchesOf(server, { like, k: 500, group_by: 'docid' });
  assert.equal(groups.length, documents.length - 1, 'all documents but the example');
  assert.equal((await matchesOf(server, { like, k: 10, diversity: { lambda: 0.3 } })).length, 10);
});

/** Whether each hit is the best choice after those before it, up to rounding. */
function assertDiverse(
  found: readonly any[],
  candidates: readonly { id: string; score: number }[],
  lambda: number,
  what: string,
): void {
  const scores = candidates.map(({ score }) => score);
  const [low, high] = [Math.min(...scores), Math.max(...scores)];
  const relevanceOf = (score: number): number => (high === low ? 1 : (score - low) / (high - low));
  const before: number[][] = [];
  const left = new Map(candidates.map((hit) => [hit.id, hit]));
  for (const { id } of found) {
    const valueOf = (hit: { id: string; score: number }): number => {
      const likest =
        before.length === 0 ? 0 : Math.max(...before.map((one) => cosine(one, vectors.get(hit.id) as number[])));
      return lambda * relevanceOf(hit.score) - (1 - lambda) * likest;
    };
    const chosen = left.get(id);
    assert.ok(chosen, `${what}: ${id} is a candidate that was not taken before`);
    assert.ok(valueOf(chosen) >= Math.max(...[...left.values()].map(valueOf)) - ROUNDING, `${what}: ${id}`);
    before.push(vectors.get(id) as number[]);
    left.delete(id);
  }
}

async function assertDiversity(searches: number): Promise<void> {
  for (let i = 0; i < searches; i++) {
    const [filter, fits] = pick(prng, FILTERS);
    const [lambda, candidates, k] = [
      pick(prng, [0, 0.3, 0.5, 0.9, 1]),
      pick(prng, [12, 50, 200]),
      pick(prng, [1, 5, 12]),
    ];
    const query: NaiveQuery = { q: sentence(prng, 2), mode: MODES[i % 3]!, k: candidates, fits };
    const ranked = naiveRanking(await chunksFor(servers[0] as TestServer, query.q), query).slice(0, candidates);
    const body = { q: query.q, mode: query.mode, ...filter, k, diversity: { lambda, candidates } };
    const what = `seed ${SEED}, search ${i}: ${JSON.stringify(body)}`;
    for (const server of servers) {
      const found = await matchesOf(server, body);
      assert.equal(found.length, Math.min(k, ranked.length), what);
      assertDiverse(found, ranked, lambda, what);
      if (k > 1 || candidates === 12) continue;
      const whole = await matchesOf(server, { ...body, k: 8 });
      assert.deepEqual(await matchesOf(server, { ...body, k: 5, offset: 3 }), whole.slice(3), `${what}: a later page`);
    }
  }
}

test('diversity', () => assertDiversity(40));

/** The part of the document that the chunks from `first` to `last` cover. */
function passage(own: readonly NaiveChunk[], first: number, last: number): string {
  const points = [...(textOf.get((own[0] as NaiveChunk).docid) as string)];
  const offsetOf = ({ meta }: NaiveChunk): number => meta.provenance?.offset ?? meta.offset;
  const end = own[last] as NaiveChunk;
  return points.slice(offsetOf(own[first] as NaiveChunk), offsetOf(end) + [...end.text].length).join('');
}

async function assertContext(searches: number): Promise<void> {
  for (let i = 0; i < searches; i++) {
    const [filter] = pick(prng, FILTERS);
    const reach = pick(prng, [1, 2, 5]);
    const body = {
      q: i % 5 === 0 ? '🐋 whale captain' : sentence(prng, 2),
      mode: MODES[i % 3],
      k: 20,
      ...filter,
      context: reach,
    };
    for (const server of servers)
      for (const { id, text, context } of await matchesOf(server, body)) {
        const docid = id.split('::')[0];
        if (docid === 'GAP') continue;
        const own = chunks.filter((chunk) => chunk.docid === docid).sort((a, b) => a.index - b.index);
        const at = own.findIndex((chunk) => chunk.id === id);
        const [first, last] = [Math.max(0, at - reach), Math.min(own.length - 1, at + reach)];
        assert.deepEqual(
          context.chunks,
          own.slice(first, last + 1).map((chunk) => chunk.id),
        );
        assert.equal(context.text, passage(own, first, last), `seed ${SEED}, search ${i}: ${id}`);
        assert.ok(context.text.includes(text));
      }
  }
}

test('context: neighbours are joined without repetition', () => assertContext(20));

test('context: a gap, rows of a table, and a vector without text', async () => {
  for (const server of servers) {
    const [gap] = await matchesOf(server, { q: 'whale', filters: { docid: 'GAP' }, k: 1, context: 1 });
    assert.match(gap.context.text, /^whale +\n +captain$/);
    const { call } = server;
    const table = '/v1/collections/acme/table';
    await call('POST', `${table}/documents`, fileForm('t.csv', 'a,b\n1,2\n3,4\n5,6\n', { docid: 'T' }));
    const { json } = await call('POST', `${table}/search`, { q: '3', filters: { row: 2 }, context: 1 });
    assert.deepEqual(json.matches[0].context, {
      text: 'a: 1\nb: 2\na: 3\nb: 4\na: 5\nb: 6',
      chunks: ['T::row_0', 'T::row_1', 'T::row_2'],
    });
    const bare = '/v1/collections/acme/bare';
    await call('POST', bare, { embedder_type: 'identity', embedder_config: { dim: 2 } });
    await call('POST', `${bare}/documents`, { docid: 'V', vector: [1, 2] });
    const { json: vector } = await call('POST', `${bare}/search`, { v: [1, 2], context: 1 });
    assert.deepEqual([vector.matches.length, vector.matches[0].context], [1, undefined]);
  }
});

const REFUSED: [string, object, RegExp][] = [
  ['no example', { like: { not: { docids: ['D1'] } } }, /at least one id/],
  ['an unknown document', { like: { docids: ['D1', 'NONE'] } }, /like.docids.1: .*nothing with this id/],
  ['an unknown counterexample', { like: { docids: ['D1'], not: { chunks: ['D1::chunk_99'] } } }, /like.not.chunks.0/],
  ['examples that cancel out', { like: { docids: ['D1', 'D1'], not: { docids: ['D1'] }, chunks: [] }, k: 0 }, /k/],
  ['examples beside a text', { q: 'sea', like: { docids: ['D1'] } }, /exactly one of/],
  ['diversity without lambda', { q: 'sea', diversity: {} }, /lambda/],
  ['too few candidates', { q: 'sea', k: 10, diversity: { lambda: 0.5, candidates: 9 } }, /at least/],
  ['diversity of groups', { q: 'sea', group_by: 'lang', diversity: { lambda: 0.5 } }, /only one of/],
  ['too many candidates', { q: 'sea', k: 1000, diversity: { lambda: 0.5 } }, /fewer candidates/],
  ['a wide context of many hits', { q: 'sea', k: 1000, context: 5 }, /at most 4 neighbours/],
];
for (const [name, body, message] of REFUSED) {
  test(`422 for ${name}`, async () => {
    const { status, json } = await (servers[1] as TestServer).call('POST', `${PATH}/search`, body);
    assert.deepEqual([status, json.code], [422, 'validation_error'], json.error);
    assert.match(json.error, message);
  });
}

test('a mode that needs a text, and the shared scope', async () => {
  const { call } = servers[0] as TestServer;
  const like = { docids: ['D1'] };
  await refused(call('POST', `${PATH}/search`, { like, mode: 'hybrid' }), 422, 'search_mode_requires_text');
  await refused(call('POST', '/v1/search', { like }), 400, 'vector_query_not_allowed');
});

test('a replay', async () => {
  const { call } = servers[1] as TestServer;
  const body = { like: { docids: ['D4'], not: { docids: ['D5'] } }, diversity: { lambda: 0.4 }, context: 1, k: 4 };
  const { json } = await call('POST', `${PATH}/search`, body);
  const { json: entry } = await call('GET', `${PATH}/queries/${json.query_id}`);
  assert.deepEqual(entry.query.like.not.docids, ['D5']);
  const { json: replay } = await call('POST', `${PATH}/queries/${json.query_id}/replay`);
  assert.deepEqual(replay.matches, json.matches);
});

test('the same after a restart', async () => {
  const stopped = servers.pop() as TestServer;
  await stopped.stop();
  servers = [...servers, await start('2')];
  await assertLike(10);
  await assertDiversity(9);
  await assertContext(5);
});
