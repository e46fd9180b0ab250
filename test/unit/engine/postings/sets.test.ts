// Chunks by sets and ranges of terms, compared with the naive version, with the index spread over the mutable run,
// frozen runs and a merge in progress.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Prng } from '../../../../src/base/prng.js';
import { bitmapOf } from '../../../../src/engine/filter/bitmap.js';
import { createKernel, SEEDS } from '../../../kit/engine/arena.js';
import { ordinalsOf, writtenAtRandom, type NaiveAndIndex } from '../../../kit/engine/naive-text-index.js';

const before = (a: string, b: string): boolean => Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0;

function assertSets({ index, naive }: NaiveAndIndex, prng: Prng, word: () => string, label: string): void {
  assert.deepEqual(
    ordinalsOf(index.every()),
    naive.having(() => true),
    `${label}: every`,
  );
  for (let i = 0; i < 6; i++) {
    const terms = Array.from({ length: prng.int(20) }, () => (prng.int(4) === 0 ? 'nowhere' : word()));
    assert.deepEqual(
      ordinalsOf(index.any(terms)),
      naive.having((tokens) => tokens.some((token) => terms.includes(token))),
      `${label}: any of ${terms.join(' ')}`,
    );
    const [from, to] = [word().slice(0, 1 + prng.int(12)), word()];
    const isBetween = (token: string): boolean => !before(token, from) && before(token, to);
    assert.deepEqual(
      ordinalsOf(index.range(from, to)),
      naive.having((tokens) => tokens.some(isBetween)),
      `${label}: from ${from} to ${to}`,
    );
    const allowed = naive.having(() => prng.int(3) > 0);
    const wanted = new Map<string, number>();
    for (const ordinal of allowed)
      for (const token of new Set(naive.chunks.get(ordinal)))
        if (isBetween(token)) wanted.set(token, (wanted.get(token) ?? 0) + 1);
    assert.deepEqual(
      [...(index.counts(from, to, bitmapOf(allowed, Math.max(0, ...allowed) + 1), 10_000) ?? [])].sort(),
      [...wanted].sort(),
      `${label}: counts from ${from} to ${to}`,
    );
    for (const atEnd of [false, true]) {
      const rest = (token: string): string => token.slice(1);
      const fits = (token: string): boolean =>
        token.startsWith('g') && (atEnd ? rest(token).endsWith('al') : rest(token).includes('avit'));
      assert.deepEqual(
        ordinalsOf(index.range('g', 'h', atEnd ? 'al' : 'avit', atEnd)),
        naive.having((tokens) => tokens.some(fits)),
        `${label}: g and a piece`,
      );
    }
  }
}

for (const seed of SEEDS) {
  test(`random writes, sets and ranges (seed ${seed})`, () => {
    writtenAtRandom(seed, assertSets);
  });
}

test('the edges of a range: the term itself, terms that begin with it, and terms of eight bytes and more', () => {
  const index = createKernel().createTextIndex();
  const terms = ['a', 'ab', 'abcdefgh', 'abcdefghi', 'abcdefghij', 'b'];
  terms.forEach((term, ordinal) => index.add(ordinal, [term]));
  for (const isFrozen of [false, true]) {
    if (isFrozen) index.freeze();
    assert.deepEqual(ordinalsOf(index.range('ab', 'b')), [1, 2, 3, 4]);
    assert.deepEqual(ordinalsOf(index.range('abcdefgh', 'abcdefgh\u0001')), [2]);
    assert.deepEqual(ordinalsOf(index.range('abcdefgh\u0001', 'abcdefghij')), [3]);
    assert.deepEqual(ordinalsOf(index.range('b', 'a')), []);
    assert.deepEqual(ordinalsOf(index.any([])), []);
  }
});

test('a range with more terms than may be counted', () => {
  const index = createKernel().createTextIndex();
  for (let i = 0; i < 10; i++) index.add(i, [`a${i}`, 'b']);
  const all = bitmapOf(Array(10).keys(), 10);
  for (const isFrozen of [false, true]) {
    if (isFrozen) index.freeze();
    assert.equal(index.counts('a', 'b', all, 9), undefined);
    assert.equal(index.counts('a', 'b', all, 10)?.size, 10);
    assert.deepEqual(index.counts('b', 'c', bitmapOf([3, 5], 6), 1), new Map([['b', 2]]));
  }
});

test('a term that nearly every chunk has, before and after chunks are removed', () => {
  const index = createKernel().createTextIndex();
  const chunks = new Map(
    Array.from({ length: 1500 }, (_, i): [number, string[]] => [37 + i, i % 7 === 3 ? ['rare'] : ['dense', 'rare']]),
  );
  const dense = (): number[] =>
    [...chunks].filter(([, tokens]) => tokens.includes('dense')).map(([ordinal]) => ordinal);
  for (const [ordinal, tokens] of chunks) index.add(ordinal, tokens);
  index.freeze();
  for (const gone of [undefined, 37, 1536, 800]) {
    if (gone !== undefined) {
      index.remove(gone, chunks.get(gone) as string[]);
      chunks.delete(gone);
    }
    assert.deepEqual(ordinalsOf(index.any(['dense'])), dense());
    for (const [every, first] of [
      [1, 0],
      [2, 0],
      [3, 1],
      [1, 900],
      [1, 1537],
    ] as const) {
      const allowed = [...chunks.keys()].filter((ordinal) => ordinal >= first && ordinal % every === 0);
      const counts = index.counts('a', 'z', bitmapOf(allowed, Math.max(0, ...allowed) + 1), 10);
      const having = (token: string): number =>
        allowed.filter((ordinal) => chunks.get(ordinal)?.includes(token)).length;
      for (const token of ['dense', 'rare'])
        assert.equal(counts?.get(token) ?? 0, having(token), `${token} from ${first}, one in ${every}`);
    }
    assert.deepEqual(ordinalsOf(index.every()), [...chunks.keys()]);
  }
});
