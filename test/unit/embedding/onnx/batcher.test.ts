// Model runs that several messages share, with a model that is a plain function of a text's tokens: which texts join a
// run, which message is next, and what cancellation and failures do. The naive version embeds one text at a time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createPrng } from '../../../../src/base/prng.js';
import { Batcher, nextRun } from '../../../../src/embedding/onnx/embedder.js';
import type { Encoding } from '../../../../src/embedding/onnx/tokenizer.js';

const never = (): boolean => false;
/** Each character of a text is a token. */
const encode = (text: string): Encoding => ({
  ids: [...text].map((character) => character.codePointAt(0) as number),
  isTruncated: text.endsWith('…'),
});
const vectorOf = ({ ids }: Encoding): number[] => [ids.length, ids.reduce((sum, id) => (sum * 31 + id) % 65_521, 7)];

interface Model {
  batcher: Batcher;
  /** The texts of each run. */
  runs: string[][];
  faults: string[];
}

function createModel(refuses: (texts: readonly string[]) => boolean = never): Model {
  const runs: string[][] = [];
  const faults: string[] = [];
  const textOf = ({ ids }: Encoding): string => String.fromCodePoint(...ids);
  const vectorize = async (batch: readonly Encoding[]): Promise<Float32Array> => {
    await nextTurn();
    runs.push(batch.map(textOf));
    if (refuses(batch.map(textOf))) throw new Error('refused');
    return Float32Array.from(batch.flatMap(vectorOf));
  };
  return {
    batcher: new Batcher({ dim: 2, encode, vectorize, runTokensMax: 512, report: (fault) => faults.push(fault) }),
    runs,
    faults,
  };
}

test('random messages, some of them cancelled: vectors and truncation as one text at a time', async () => {
  for (const seed of [1, 2, 3]) {
    const prng = createPrng(seed);
    const { batcher, runs } = createModel();
    const asked = Array.from({ length: 60 }, async (_, n) => {
      for (let turns = prng.int(40); turns > 0; turns--) await nextTurn();
      const texts = Array.from(
        { length: prng.int(n % 10 === 0 ? 200 : 4) },
        () => 'abcdefgh'.repeat(1 + prng.int(40)).slice(prng.int(8)) + (prng.int(3) === 0 ? '…' : ''),
      );
      let asksLeft = n % 7 === 0 ? prng.int(5) : Infinity;
      let isCancelled = false as boolean;
      const { vectors, truncated } = await batcher.embed(texts, () => (isCancelled ||= asksLeft-- <= 0));
      if (isCancelled) return 0;
      assert.deepEqual(
        vectors,
        Float32Array.from(texts.flatMap((text) => vectorOf(encode(text)))),
        `seed ${seed}, message ${n}`,
      );
      assert.deepEqual(
        truncated,
        Uint8Array.from(texts, (text) => Number(text.endsWith('…'))),
        `seed ${seed}, message ${n}`,
      );
      return texts.length;
    });
    const texts = (await Promise.all(asked)).reduce((sum, count) => sum + count, 0);
    assert.ok(runs.length < texts / 1.3, `seed ${seed}: ${runs.length} runs for ${texts} texts`);
  }
});

test('texts of messages that wait together share a run', async () => {
  const { batcher, runs } = createModel();
  await Promise.all(['one', 'two', 'six'].map((text) => batcher.embed([text], never)));
  assert.deepEqual(runs, [['one', 'two', 'six']]);
});

test('a long message does not hold a short one behind it up, nor do many', async () => {
  const { batcher, runs } = createModel();
  const long = Array.from({ length: 5 }, () =>
    batcher.embed(
      Array.from({ length: 200 }, () => 'x'.repeat(250)),
      never,
    ),
  );
  while (runs.length < 3) await nextTurn();
  await batcher.embed(['a short text of another length'], never);
  assert.ok(runs.length <= 3 + long.length + 2, `${runs.length} runs`);
  await Promise.all(long);
});

test('a cancelled message is out before the next run', async () => {
  const { batcher, runs } = createModel();
  let isCancelled = false;
  const cancelled = batcher.embed(
    Array.from({ length: 500 }, () => 'cancelled '.repeat(30)),
    () => isCancelled,
  );
  const other = batcher.embed(['other'], never);
  while (runs.length < 4) await nextTurn();
  isCancelled = true;
  await cancelled;
  await other;
  assert.ok(runs.length <= 5, `${runs.length} runs`);
  await batcher.embed(['later'], never);
  assert.deepEqual(runs.at(-1), ['later']);
});

test('a text that the model refuses fails alone, and is reported', async () => {
  const { batcher, faults } = createModel((texts) => texts.includes('bad'));
  const [mixed, good, bad] = await Promise.allSettled([
    batcher.embed(['yes', 'bad', 'hmm'], never),
    batcher.embed(['yes'], never),
    batcher.embed(['bad'], never),
  ]);
  assert.ok(mixed.status === 'fulfilled' && good.status === 'fulfilled' && bad.status === 'rejected');
  assert.deepEqual(
    [...(mixed.value.failures ?? [])].map(([place, { code }]) => [place, code]),
    [[1, 'embedder_unavailable']],
  );
  assert.deepEqual(mixed.value.vectors.subarray(4), Float32Array.from(vectorOf(encode('hmm'))));
  assert.equal(bad.reason.code, 'embedder_unavailable');
  assert.equal(faults.length, 2);
  assert.match(faults[0]!, /text 1 of 3.*refused/s);
});

test('a text that cannot be tokenized fails alone', async () => {
  const batcher = new Batcher({
    dim: 2,
    encode: (text) => (text === 'odd' ? assert.fail('odd') : encode(text)),
    vectorize: async (batch) => Float32Array.from(batch.flatMap(vectorOf)),
    runTokensMax: 512,
    report: () => {},
  });
  await assert.rejects(batcher.embed(['odd'], never), { code: 'embedder_unavailable' });
  const { failures } = await batcher.embed(['odd', 'even'], never);
  assert.deepEqual([...(failures?.keys() ?? [])], [0]);
});

test('no texts have no vectors', async () => {
  assert.deepEqual((await createModel().batcher.embed([], never)).vectors, new Float32Array());
});

test('a run holds its first text, keeps to its tokens, and pads little', () => {
  const seed = 5;
  const prng = createPrng(seed);
  for (let round = 0; round < 500; round++) {
    const lengths = Array.from({ length: 1 + prng.int(100) }, () => 1 + prng.int(round % 2 === 0 ? 30 : 600));
    const first = prng.int(lengths.length);
    const run = nextRun(lengths, first, 512);
    const chosen = run.map((place) => lengths[place]!);
    const width = Math.max(...chosen);
    const label = `seed ${seed}, round ${round}`;
    assert.equal(new Set(run).size, run.length, label);
    assert.equal(run[0], first, label);
    assert.ok(run.length === 1 || width * run.length <= 512, label);
    assert.ok(chosen.reduce((padding, length) => padding + width - length, 0) <= 16 * (run.length - 1), label);
  }
});

test('texts of one length fill a run', () => {
  assert.equal(
    nextRun(
      Array.from({ length: 100 }, () => 20),
      50,
      512,
    ).length,
    25,
  );
  assert.deepEqual(nextRun([20, 20, 20], 1, 0), [1]);
  assert.deepEqual(nextRun([600, 600], 1, 512), [1]);
});
