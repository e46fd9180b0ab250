// The cache of query vectors, compared with a naive version that keeps a list; and how concurrent requests for the same
// text share one call.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CancelSignal } from '../../../src/base/signals.js';
import { createPrng } from '../../../src/base/prng.js';
import { CACHED_QUERY_CHARACTERS_MAX } from '../../../src/api/limits.js';
import { entryBytes, QueryCache, type AskedText, type Embed } from '../../../src/service/embedding/query-cache.js';

const asked = (text: string, owner = 'acme', space = 'onnx:m:dim=4'): AskedText => ({ owner, space, text });
const vectorOf = (n: number, dim = 4): Float32Array => new Float32Array(dim).fill(n);
const AMPLE = 2 ** 20;

/** An embedder whose calls the test answers. */
function held(): {
  embed: Embed;
  calls: { answer: (vector: Float32Array) => void; fail: (error: Error) => void; signal: CancelSignal | undefined }[];
} {
  const calls: ReturnType<typeof held>['calls'] = [];
  return { calls, embed: (signal) => new Promise((answer, fail) => calls.push({ answer, fail, signal })) };
}

test('a random run of texts hits, misses and evicts as a list in order of use does', async (t) => {
  const seed = 20_261_201;
  t.diagnostic(`seed ${seed}`);
  const prng = createPrng(seed);
  const bytesMax = 12_000;
  const cache = new QueryCache(bytesMax);
  const naive: { key: string; bytes: number }[] = [];
  const expected = { hits: 0, misses: 0, evictions: 0 };
  const used = (): number => naive.reduce((sum, { bytes }) => sum + bytes, 0);
  for (let step = 0; step < 5000; step++) {
    const n = Math.floor(prng.int(40) * (prng.int(4) / 3));
    const [text, dim] = [`${n}`.padStart(1 + ((n * 97) % 600), 'x'), n === 7 ? 4000 : 8 + n];
    const query = asked(text, n % 3 === 0 ? 'a' : 'b');
    const key = `${query.owner}\0${query.space}\0${text}`;
    const place = naive.findIndex((entry) => entry.key === key);
    const bytes = entryBytes(key, vectorOf(n, dim));
    let embedded = false;
    assert.deepEqual(
      await cache.vectorOf(query, async () => ((embedded = true), vectorOf(n, dim))),
      vectorOf(n, dim),
      `step ${step}`,
    );
    assert.equal(embedded, place < 0, `step ${step}`);
    expected[place < 0 ? 'misses' : 'hits']++;
    const [entry] = place < 0 ? [{ key, bytes }] : naive.splice(place, 1);
    if (bytes <= bytesMax) {
      for (; used() + bytes > bytesMax; expected.evictions++) naive.shift();
      naive.push(entry as { key: string; bytes: number });
    }
    assert.deepEqual([cache.bytes, cache.entries], [used(), naive.length], `step ${step}`);
  }
  assert.deepEqual(cache.counts, expected);
  assert.ok(expected.hits > 500 && expected.evictions > 500);
});

test('the same text of another tenant or vector space is another entry', async () => {
  const cache = new QueryCache(AMPLE);
  const others = [asked('x'), asked('x', 'other'), asked('x', 'acme', 'onnx:m:dim=8'), asked('X'), asked('x ')];
  for (const [i, query] of others.entries()) assert.equal((await cache.vectorOf(query, async () => vectorOf(i)))[0], i);
  assert.deepEqual(cache.counts, { hits: 0, misses: 5, evictions: 0 });
});

test('a request for a text that is being embedded shares the call', async () => {
  const cache = new QueryCache(AMPLE);
  const { embed, calls } = held();
  const vectors = [1, 2, 3].map(() => cache.vectorOf(asked('x'), embed));
  await cache.vectorOf(asked('x', 'other'), async () => vectorOf(2));
  calls[0]?.answer(vectorOf(1));
  assert.deepEqual(await Promise.all(vectors), [vectorOf(1), vectorOf(1), vectorOf(1)]);
  assert.deepEqual([calls.length, cache.counts], [1, { hits: 2, misses: 2, evictions: 0 }]);
});

test('cancelling one request leaves the call to the others; when all are cancelled, so is the call', async () => {
  const cache = new QueryCache(AMPLE);
  const { embed, calls } = held();
  const [first, second, third] = [new AbortController(), new AbortController(), new AbortController()];
  const vectors = [first, second].map(({ signal }) => cache.vectorOf(asked('x'), embed, signal));
  first.abort();
  assert.equal(calls[0]?.signal?.aborted, false);
  second.abort();
  assert.equal(calls[0].signal.aborted, true);
  const anew = cache.vectorOf(asked('x'), embed, third.signal);
  assert.equal(calls.length, 2, 'what was abandoned is not waited for');
  calls[0].fail(new Error('nobody waits'));
  await Promise.all(vectors.map((vector) => assert.rejects(vector, /nobody waits/)));
  const joined = cache.vectorOf(asked('x'), embed);
  calls[1]?.answer(vectorOf(5));
  assert.deepEqual(await Promise.all([anew, joined]), [vectorOf(5), vectorOf(5)]);
  assert.deepEqual([calls.length, cache.entries], [2, 1]);
});

test('a request that was cancelled beforehand delays nothing', async () => {
  const cache = new QueryCache(AMPLE);
  const { embed, calls } = held();
  const gone = cache.vectorOf(asked('x'), embed, AbortSignal.abort());
  assert.equal(calls[0]?.signal?.aborted, true);
  calls[0].fail(new Error('left the line'));
  await assert.rejects(gone, /left the line/);
});

test('a failure reaches all requests that share the call, and is not cached, also one that is thrown at once', async () => {
  const cache = new QueryCache(AMPLE);
  const { embed, calls } = held();
  const vectors = [1, 2].map(() => cache.vectorOf(asked('x'), embed));
  calls[0]?.fail(new Error('down'));
  await Promise.all(vectors.map((vector) => assert.rejects(vector, /down/)));
  const thrown = cache.vectorOf(asked('x'), () => {
    throw new Error('no instance');
  });
  await assert.rejects(thrown, /no instance/);
  assert.deepEqual(await cache.vectorOf(asked('x'), async () => vectorOf(1)), vectorOf(1));
  assert.deepEqual([cache.entries, cache.counts], [1, { hits: 1, misses: 3, evictions: 0 }]);
});

test('a very long text is neither kept nor shared; without memory nothing is', async () => {
  for (const [cache, text] of [
    [new QueryCache(AMPLE), 'x'.repeat(CACHED_QUERY_CHARACTERS_MAX + 1)],
    [new QueryCache(0), 'x'],
  ] as const) {
    const { embed, calls } = held();
    const { signal } = new AbortController();
    const vectors = [1, 2].map(() => cache.vectorOf(asked(text), embed, signal));
    calls.forEach(({ answer }, i) => answer(vectorOf(i)));
    assert.deepEqual(await Promise.all(vectors), [vectorOf(0), vectorOf(1)]);
    assert.equal(calls[0]?.signal, signal);
    assert.deepEqual([cache.entries, cache.bytes, cache.counts], [0, 0, { hits: 0, misses: 0, evictions: 0 }]);
  }
});
