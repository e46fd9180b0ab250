// Taking scored items best first, compared with sorting them all.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { BestFirst, takeBest } from '../../../src/ranking/top-k.js';

test('takes what sorting and filtering would, for random scores with many equal ones', () => {
  const seed = 77;
  const prng = createPrng(seed);
  for (let round = 0; round < 300; round++) {
    const scores = Float64Array.from({ length: prng.int(60) }, () => prng.int(12) / 4 - 1);
    const k = 1 + prng.int(8);
    const refused = new Set(Array.from({ length: prng.int(40) }, () => prng.int(60)));
    const asked: number[] = [];
    const admits = (item: number): boolean => (asked.push(item), !refused.has(item));
    const taken = takeBest(new BestFirst(Uint32Array.from(scores.keys()), scores.slice()), k, admits);
    const all = [...scores.keys()]
      .filter((item) => !refused.has(item))
      .sort((a, b) => (scores[b] as number) - (scores[a] as number));
    const kth = all[k - 1] === undefined ? -Infinity : (scores[all[k - 1] as number] as number);
    const expected = all.filter((item) => (scores[item] as number) >= kth);
    assert.deepEqual(
      taken.map(({ score }) => score),
      expected.map((item) => scores[item]),
      `seed ${seed} round ${round}`,
    );
    assert.deepEqual(taken.map(({ item }) => item).sort(), [...expected].sort(), `seed ${seed} round ${round}`);
    assert.ok(
      asked.every((item) => (scores[item] as number) >= kth),
      'asks about none that is worse than the last it takes',
    );
  }
});
