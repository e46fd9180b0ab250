// Which of the waiting texts a call takes: a bounded number, fairly between jobs, each text exactly once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../../src/base/prng.js';
import { AppError } from '../../../../src/api/errors.js';
import { EmbedJob, WaitingTexts } from '../../../../src/embedding/openai/text-queue.js';
import { naiveTake, type NaiveJob } from '../../../kit/embedding/openai-runner.js';

const jobOf = (tokens: readonly number[], isCancelled = (): boolean => false, nowMs = 0): EmbedJob =>
  new EmbedJob({
    items: tokens.map((count) => ({ text: '', tokens: count })),
    purpose: 'passage',
    dim: 1,
    isCancelled,
    nowMs,
  });

test('random jobs are taken as the naive version takes them', () => {
  for (let seed = 1; seed <= 200; seed++) {
    const prng = createPrng(seed);
    const waiting = new WaitingTexts();
    const [naive, offsets, names]: [NaiveJob[], Map<number, number>, Map<EmbedJob, number>] = [
      [],
      new Map(),
      new Map(),
    ];
    for (let step = 0; step < 60; step++) {
      if (prng.int(3) > 0) {
        const tokens = Array.from({ length: prng.int(prng.int(4) === 0 ? 200 : 8) }, () => 1 + prng.int(40));
        const job = jobOf(tokens);
        names.set(job, names.size);
        waiting.push(job);
        if (tokens.length > 0) naive.push({ name: names.size - 1, tokens });
      }
      const [inputsMax, tokensMax] = [1 + prng.int(100), prng.int(400)];
      const taken = waiting
        .take('passage', { inputsMax, tokensMax }, 0)
        .map(({ job, place }) => `${names.get(job)}:${place}`);
      assert.deepEqual(taken, naiveTake(naive, offsets, inputsMax, tokensMax), `seed ${seed}, step ${step}`);
    }
    assert.equal(waiting.isEmpty('passage'), naive.length === 0, `seed ${seed}`);
  }
});

test('a job of ten thousand texts does not hold up one of ten', () => {
  const waiting = new WaitingTexts();
  const [long, short] = [jobOf(new Array<number>(10_000).fill(1)), jobOf(new Array<number>(10).fill(1))];
  waiting.push(long);
  waiting.take('passage', { inputsMax: 2048, tokensMax: 1e6 }, 0);
  waiting.push(short);
  const items = waiting.take('passage', { inputsMax: 2048, tokensMax: 1e6 }, 0);
  assert.equal(items.filter(({ job }) => job === short).length, 10);
  assert.equal(items.length, 2048);
});

test('jobs that nobody waits for leave, at once and for good', async () => {
  const waiting = new WaitingTexts();
  let isCancelled = false;
  const job = jobOf([1, 1, 1], () => isCancelled);
  waiting.push(job);
  assert.equal(waiting.take('passage', { inputsMax: 1, tokensMax: 10 }, 0).length, 1);
  isCancelled = true;
  assert.deepEqual(waiting.take('passage', { inputsMax: 10, tokensMax: 10 }, 0), []);
  assert.ok(waiting.isEmpty('passage'));
  await job.done;
});

test('the job that has waited longest for its next call fails first, with all that is left of it', async () => {
  const waiting = new WaitingTexts();
  const [first, second] = [jobOf([1, 1], undefined, 100), jobOf([1], undefined, 50)];
  waiting.push(first);
  waiting.push(second);
  assert.equal(waiting.waitsSinceMs('passage'), 50);
  waiting.failLongest('passage', new AppError('embedder_unavailable'));
  await assert.rejects(second.done, { code: 'embedder_unavailable' });
  assert.equal(waiting.waitsSinceMs('passage'), 100);
  const [item] = waiting.take('passage', { inputsMax: 1, tokensMax: 1 }, 300);
  assert.equal(waiting.waitsSinceMs('passage'), 300);
  item?.job.settle(0, Float32Array.of(1));
  waiting.failLongest('passage', new AppError('embedder_unavailable'));
  const { vectors, failures } = await first.done;
  assert.deepEqual(
    [vectors[0], [...(failures ?? [])].map(([place, { code }]) => `${place} ${code}`)],
    [1, ['1 embedder_unavailable']],
  );
  assert.equal(waiting.waitsSinceMs('passage'), Infinity);
});
