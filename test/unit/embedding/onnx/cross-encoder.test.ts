// The cross-encoder on a tiny graph that counts common words: whatever pairs run together, each gets the score that the
// naive version counts. The test data has no real cross-encoder.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { createPrng } from '../../../../src/base/prng.js';
import { openCrossEncoder, runsOf } from '../../../../src/embedding/rerank/cross-encoder.js';
import { CROSS_ENCODER, KNOWN_WORDS, naiveScore } from '../../../kit/cross-encoder/naive-scores.js';

const SEED = 20_261_130;
const prng = createPrng(SEED);
const words = (count: number): string =>
  Array.from({ length: count }, () => (prng.int(5) === 0 ? 'unknown' : KNOWN_WORDS[prng.int(KNOWN_WORDS.length)])).join(
    ' ',
  );
const reranker = await openCrossEncoder(CROSS_ENCODER, 1, assert.fail);

function assertScores(scores: Float32Array, query: string, texts: readonly string[], tokensMax?: number): void {
  assert.equal(scores.length, texts.length);
  texts.forEach((text, i) => {
    const expected = naiveScore(query, text, tokensMax);
    assert.ok(
      Math.abs((scores[i] as number) - expected) < 1e-6,
      `seed ${SEED}: ${scores[i]}, not ${expected}, for ${query} | ${text}`,
    );
  });
}

test('scores stand in the order of the texts, whatever their lengths, cut ones too', async () => {
  for (const count of [1, 2, 17, 100]) {
    const query = words(1 + prng.int(8));
    const texts = Array.from({ length: count }, () => words(prng.int(90)));
    assertScores(await reranker.score(query, texts), query, texts);
  }
});

test('requests at the same time do not mix', async () => {
  const asked = Array.from({ length: 20 }, () => ({
    query: words(4),
    texts: Array.from({ length: 1 + prng.int(30) }, () => words(prng.int(70))),
  }));
  const scored = await Promise.all(asked.map(({ query, texts }) => reranker.score(query, texts)));
  scored.forEach((scores, i) => assertScores(scores, asked[i]?.query as string, asked[i]?.texts as string[]));
});

test('the bound on tokens of the configuration holds', async () => {
  const short = await openCrossEncoder({ ...CROSS_ENCODER, tokensMax: 16 }, 1, assert.fail);
  const texts = [words(5), words(14), words(40)];
  assertScores(await short.score('the white whale', texts), 'the white whale', texts, 16);
});

test('a run has like lengths, at most 512 tokens with its padding, and at least one pair', () => {
  const lengths = Array.from({ length: 300 }, () => 1 + prng.int(700));
  const runs = runsOf(lengths);
  assert.deepEqual(
    runs.flat().sort((a, b) => a - b),
    [...lengths.keys()],
  );
  for (const run of runs) {
    const longest = Math.max(...run.map((place) => lengths[place] as number));
    assert.ok(run.length === 1 || run.length * longest <= 512, `seed ${SEED}: ${run.length} of ${longest}`);
  }
});

test('a graph that is none, or gives something else than one number for a pair, is refused when it is opened', async (t) => {
  await assert.rejects(openCrossEncoder({ ...CROSS_ENCODER, file: 'tokenizer.json' }, 1, assert.fail));
  const directory = '../shared/data/model-minilm-l6';
  if (!existsSync(directory)) return t.skip('model-minilm-l6 is not in ../shared/data');
  await assert.rejects(
    openCrossEncoder({ directory, file: 'onnx/model.onnx', tokensMax: 64 }, 1, assert.fail),
    /gives last_hidden_state of shape .* for 1 pairs, not one number for each/,
  );
});

test('a run that fails, here of more tokens than the model has positions, is reported, and told as a reranker that does not answer', async () => {
  const faults: string[] = [];
  const reranker = await openCrossEncoder({ ...CROSS_ENCODER, tokensMax: 65 }, 1, (fault) => faults.push(fault));
  await assert.rejects(reranker.score('whale', ['a text that is read', 'whale '.repeat(100)]), {
    code: 'embedder_unavailable',
  });
  assert.match(faults.join(), /pairs of texts could not be scored/);
});
