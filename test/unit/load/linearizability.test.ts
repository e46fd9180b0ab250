// The checker of histories: it takes every history that one machine could give, and none that it could not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { type Operation, isLinearizable } from '../../../load/stress/linearizability.js';

const put = (text: string, version: number | undefined, calledAtMs: number, answeredAtMs: number): Operation => ({
  kind: 'put',
  text,
  version,
  calledAtMs,
  answeredAtMs,
});
const get = (text: string | undefined, version: number | undefined, from: number, to: number): Operation => ({
  kind: 'get',
  text,
  version,
  calledAtMs: from,
  answeredAtMs: to,
});

test('histories that are possible, and ones that are not', () => {
  const possible: Operation[][] = [
    [],
    [get(undefined, undefined, 0, 1)],
    [put('a', 1, 0, 1), get('a', 1, 2, 3)],
    // While it is written, it may be read or not.
    [put('a', 1, 0, 9), get(undefined, undefined, 1, 2), get('a', 1, 3, 4)],
    [put('a', 2, 0, 9), put('b', 1, 0, 9), get('a', 2, 10, 11)],
    // Without an answer it may have been made at any time, or not at all.
    [put('a', undefined, 0, Infinity), get(undefined, undefined, 5, 6), get('a', 1, 7, 8)],
    [put('a', undefined, 0, Infinity), put('b', 1, 5, 6), get('b', 1, 7, 8)],
    [put('a', undefined, 0, Infinity), put('b', 2, 5, 6), get('b', 2, 7, 8)],
  ];
  for (const history of possible) assert.equal(isLinearizable(history), true, JSON.stringify(history));
  const impossible: Operation[][] = [
    // A read of nothing after the write, of what was overwritten, of what was never written; a lost and a doubled write.
    [put('a', 1, 0, 1), get(undefined, undefined, 2, 3)],
    [put('a', 1, 0, 1), put('b', 2, 2, 3), get('a', 1, 4, 5)],
    [get('x', 1, 0, 1)],
    [put('a', 1, 0, 1), put('b', 1, 2, 3)],
    [put('a', 1, 0, 1), get('a', 2, 2, 3)],
    // Reads that go back in time.
    [put('a', 1, 0, 9), get('a', 1, 1, 2), get(undefined, undefined, 3, 4)],
    [put('a', undefined, 0, Infinity), get('a', 1, 5, 6), get(undefined, undefined, 7, 8)],
  ];
  for (const history of impossible) assert.equal(isLinearizable(history), false, JSON.stringify(history));
});

test('random histories of one machine are possible, and changed ones mostly not', () => {
  const prng = createPrng(7);
  let found = 0;
  for (let round = 0; round < 200; round++) {
    const history = randomHistory(prng);
    assert.equal(isLinearizable(history), true, JSON.stringify(history));
    const reads = history.flatMap(({ kind, version }, i) => (kind === 'get' && version !== undefined ? [i] : []));
    const at = reads[prng.int(reads.length)];
    if (at === undefined) continue;
    const wrong = history.map((operation, i) => (i === at ? { ...operation, text: 'never written' } : operation));
    assert.equal(isLinearizable(wrong), false);
    found++;
  }
  assert.ok(found > 100);
});

/** Operations of some clients that overlap, each of which takes effect at a moment between its call and its answer. */
function randomHistory(prng: ReturnType<typeof createPrng>): Operation[] {
  const moments = Array.from({ length: 24 }, (_, i) => ({ at: 10 * i + 5, isPut: prng.int(2) === 0, name: `${i}` }));
  let [version, text] = [0, undefined as string | undefined];
  return moments.map(({ at, isPut, name }) => {
    const [calledAtMs, answeredAtMs] = [at - prng.int(30), at + prng.int(30)];
    if (!isPut) return get(text, version === 0 ? undefined : version, calledAtMs, answeredAtMs);
    version++;
    text = name;
    return prng.int(6) === 0
      ? put(name, undefined, calledAtMs, Infinity)
      : put(name, version, calledAtMs, answeredAtMs);
  });
}
