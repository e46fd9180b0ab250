// `explain`, `relevance` and `highlight` over a real socket: the parts of an explanation add up to the score in each
// mode and with a priority, every kind of search gives relevances, passages are those of the chunk, and nothing is
// given unasked.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BUILTIN } from '../../../src/embedding/spaces.js';
import { CROSS_ENCODER } from '../../kit/cross-encoder/naive-scores.js';
import { startTestServer } from '../../kit/server.js';

const server = await startTestServer({
  SHEAF_RERANK__INSTANCES: JSON.stringify([{ key: 'cross', type: 'onnx', path: CROSS_ENCODER.directory }]),
});
const PATH = '/v1/collections/acme/docs';
const Q = 'captain of the submarine';
const documents = [
  { docid: 'A', text: 'Captain Nemo commands the Nautilus, a submarine of the ocean. 😀 The captain sleeps.' },
  { docid: 'B', text: 'The captain of a ship, and another captain.', metadata: { prio_boost: 0.5 } },
  { docid: 'C', text: 'Knead the dough and let it rise.', metadata: { prio_boost: '-0.25' } },
  { docid: 'D', text: 'submarine '.repeat(90) },
];
for (const document of documents) assert.equal((await server.call('POST', `${PATH}/documents`, document)).status, 201);

async function hits(body: object): Promise<any[]> {
  const { status, json } = await server.call('POST', `${PATH}/search`, { q: Q, ...body });
  assert.equal(status, 200, JSON.stringify(json));
  assert.ok(json.matches.length > 0);
  return json.matches;
}

const close = (a: number, b: number, what: unknown): void =>
  assert.ok(Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(b)), `${a}, not ${b}: ${JSON.stringify(what)}`);

/** The score that follows from the parts of an explanation by the rules of the contract. */
function fused({ vector, lexical, boost, fusion }: any): number {
  if (boost) return vector.cosine + boost.boost;
  if (!fusion) return vector.cosine;
  const { method, k, weights } = fusion;
  if (method === 'score')
    return (vector ? weights.vector * vector.cosine : 0) + (lexical ? weights.lexical * lexical.share : 0);
  return (
    (vector?.rank ? weights.vector / (k + vector.rank) : 0) + (lexical?.rank ? weights.lexical / (k + lexical.rank) : 0)
  );
}

const asked: [string, object][] = [
  ['vector', { mode: 'vector' }],
  ['boost', { mode: 'boost' }],
  ['hybrid', { mode: 'hybrid' }],
  ['hybrid of scores', { mode: 'hybrid', fusion: { method: 'score' } }],
  ['words alone', { mode: 'hybrid', fusion: { method: 'score', weights: { vector: 0, lexical: 1 } } }],
  ['vectors alone, in mode hybrid', { mode: 'hybrid', fusion: { method: 'rank', weights: { vector: 1, lexical: 0 } } }],
  ['hybrid, reranked', { mode: 'hybrid', rerank: { instance: 'cross' } }],
];
for (const [name, body] of asked) {
  test(`explain adds up: ${name}`, async () => {
    const plain = await hits(body);
    for (const [i, { explain, ...hit }] of (await hits({ ...body, explain: true })).entries()) {
      assert.deepEqual(hit, plain[i], 'the rest is as without it');
      close(fused(explain), explain.fused, explain);
      const before = explain.rerank?.score ?? explain.fused;
      close(before + Math.abs(before) * (explain.priority ?? 0), explain.score, explain);
      assert.equal(explain.score, hit.score);
      assert.equal(explain.priority, { B: 0.5, C: -0.25 }[hit.meta.docid as string]);
      if (explain.lexical)
        close(
          explain.lexical.terms.reduce((sum: number, { bm25 }: any) => sum + bm25, 0),
          explain.lexical.bm25,
          explain,
        );
    }
  });
}

test('explain names the terms that the chunk has', async () => {
  const [hit] = (await hits({ mode: 'hybrid', explain: true })).filter(({ meta }) => meta.docid === 'D');
  assert.deepEqual(
    hit.explain.lexical.terms.map(({ term }: any) => term),
    ['submarin'],
  );
});

test('relevance: between 0 and 1, the same whatever the mode, higher for what fits better', async () => {
  const byMode = await Promise.all(
    asked.map(
      async ([, body]) =>
        new Map((await hits({ ...body, relevance: true })).map(({ meta, relevance }) => [meta.docid, relevance])),
    ),
  );
  const [first] = byMode;
  for (const relevance of byMode[0]!.values()) assert.ok(relevance >= 0 && relevance <= 1);
  for (const mode of [1, 2, 3]) assert.deepEqual([...byMode[mode]!].sort(), [...first!].sort());
  assert.ok(first!.get('A') > first!.get('C'));
  for (const relevance of byMode[4]!.values()) assert.ok(relevance >= 0 && relevance <= 1);
});

test('a search by vector tells a relevance by it alone, and shows no passage', async () => {
  const v = Array.from({ length: BUILTIN.space.dim }, (_, i) => Math.sin(i));
  for (const hit of await hits({ q: undefined, v, relevance: true, highlight: true, explain: true }))
    assert.deepEqual(
      [typeof hit.relevance, 'highlight' in hit, Object.keys(hit.explain)],
      ['number', false, ['vector', 'fused', ...(hit.explain.priority ? ['priority'] : []), 'score']],
    );
});

test('the only chunk of a collection is as relevant as it is near', async () => {
  await server.call('POST', '/v1/collections/acme/one', { embedder_type: 'identity', embedder_config: { dim: 2 } });
  await server.call('POST', '/v1/collections/acme/one/documents', { docid: 'A', vector: [1, 0] });
  const relevanceTo = async (v: number[]): Promise<number> =>
    (await server.call('POST', '/v1/collections/acme/one/search', { v, relevance: true })).json.matches[0].relevance;
  assert.ok((await relevanceTo([2, 0])) > 0.9);
  assert.ok((await relevanceTo([0, 1])) < 0.1);
});

for (const mode of ['vector', 'boost', 'hybrid']) {
  test(`highlight in mode ${mode}: passages of the chunks, in characters`, async () => {
    for (const { text, highlight, meta } of await hits({ mode, highlight: true })) {
      const characters = [...highlight.text];
      assert.equal([...text].slice(highlight.offset, highlight.offset + characters.length).join(''), highlight.text);
      const marked = highlight.matches.map(([start, end]: [number, number]) => characters.slice(start, end).join(''));
      if (meta.docid === 'A')
        assert.deepEqual(
          marked.filter((word: string) => /captain|submarine/i.test(word)),
          ['Captain', 'submarine', 'captain'],
        );
      assert.ok(characters.length <= 240);
    }
  });
}

test('nothing is told unasked, or where it is declined', async () => {
  for (const told of [{}, { explain: false, relevance: null, highlight: false }]) {
    for (const hit of await hits(told))
      assert.deepEqual(Object.keys(hit), ['tenant', 'collection', 'id', 'score', 'text', 'meta', 'match_reason']);
  }
});

for (const field of ['explain', 'relevance', 'highlight']) {
  test(`422 for ${field} that is neither true nor false`, async () => {
    const { status, json } = await server.call('POST', `${PATH}/search`, { q: Q, [field]: 'yes' });
    assert.deepEqual([status, json.code], [422, 'validation_error']);
  });
}
