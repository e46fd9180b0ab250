// Calls that the endpoint rejects: only the texts that cause the rejection fail.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../../src/base/prng.js';
import type { EmbeddingsRequest } from '../../../kit/openai-server.js';
import { assertVectors, DIM, open } from '../../../kit/embedding/openai-runner.js';

const never = (): boolean => false;
const codesOf = (failures: ReadonlyMap<number, { code: string }> | undefined): [number, string][] =>
  [...(failures ?? [])].map(([place, { code }]): [number, string] => [place, code]).sort(([a], [b]) => a - b);

test('random bad texts among many are found, and all others embedded', async (t) => {
  for (let seed = 1; seed <= 8; seed++) {
    const prng = createPrng(seed);
    const texts = Array.from({ length: 1 + prng.int(400) }, (_, i) =>
      prng.int(60) === 0 ? `bad ${i}` : prng.int(80) === 0 ? `zeros ${i}` : `text ${i}`,
    );
    const { runner } = await open(t, { inputsMax: 150 }, { refuses: (text) => text.startsWith('bad') });
    const { vectors, failures } = await runner.embed(texts, 'passage', never);
    const failing = texts.flatMap((text, i): [number, string][] =>
      text.startsWith('text') ? [] : [[i, 'text_not_embeddable']],
    );
    assert.deepEqual(codesOf(failures), failing, `seed ${seed}`);
    texts.forEach(
      (text, i) => text.startsWith('text') && assertVectors(vectors.subarray(i * DIM, (i + 1) * DIM), [text]),
    );
  }
});

test('a text that is refused alone is its own failure, and that of no other request in the call', async (t) => {
  const { runner, warnings } = await open(t, {}, { refuses: (text) => text === 'bad' });
  const [bad, good] = await Promise.all([
    runner.embed(['bad'], 'query', never),
    runner.embed(['good'], 'query', never),
  ]);
  assert.deepEqual(codesOf(bad.failures), [[0, 'text_not_embeddable']]);
  assertVectors(good.vectors, ['good']);
  assert.deepEqual(warnings, []);
});

test('an endpoint that refuses everything is at fault itself: no text is blamed, and the log tells why', async (t) => {
  const { runner, server, warnings } = await open(
    t,
    {},
    { fail: () => ({ status: 400, json: { error: 'no such model' } }) },
  );
  await assert.rejects(runner.embed(['one', 'two', 'three'], 'passage', never), { code: 'embedder_unavailable' });
  assert.deepEqual(
    server.calls.map(({ input, encoding_format: encoding }) => [input.length, encoding]),
    [
      [3, 'base64'],
      [1, 'base64'],
      [1, undefined],
    ],
  );
  assert.match(JSON.stringify(warnings), /no such model/);
});

test('an endpoint that refuses the encoding is asked without it from then on', async (t) => {
  const fail = (_: number, call: object): { status: number } | undefined =>
    (call as EmbeddingsRequest).encoding_format ? { status: 400 } : undefined;
  const { runner, server, warnings } = await open(t, { inputsMax: 40 }, { fail });
  const texts = Array.from({ length: 200 }, (_, i) => `text ${i}`);
  assertVectors((await runner.embed(texts, 'passage', never)).vectors, texts);
  const { length } = server.calls;
  assertVectors((await runner.embed(texts.slice(0, 40), 'passage', never)).vectors, texts.slice(0, 40));
  assert.equal(server.calls.length, length + 1);
  assert.deepEqual(warnings, [], 'nothing was learned of a limit that is not there');
});

test('the limit of an endpoint that takes fewer texts than it is configured for is learned', async (t) => {
  const { runner, server, warnings } = await open(t, { inputsMax: 2048 }, { inputsMax: 32 });
  const texts = Array.from({ length: 1000 }, (_, i) => `text ${i}`);
  assertVectors((await runner.embed(texts, 'passage', never)).vectors, texts);
  const { length } = server.calls;
  assertVectors((await runner.embed(texts, 'passage', never)).vectors, texts);
  assert.ok(server.calls.slice(length).every(({ input }) => input.length <= 32));
  assert.ok(server.calls.length - length <= 1000 / 16);
  assert.match(JSON.stringify(warnings.at(-1)), /"inputs_max":(16|2\d|3[012])\b/);
});

test('forty bad texts of a full call are found', async (t) => {
  const { runner } = await open(t, {}, { refuses: (text) => text.startsWith('bad') });
  const texts = Array.from({ length: 2048 }, (_, i) => (i % 52 === 7 ? `bad ${i}` : `text ${i}`));
  const { failures } = await runner.embed(texts, 'passage', never);
  assert.deepEqual(
    codesOf(failures),
    texts.flatMap((text, i): [number, string][] => (text.startsWith('bad') ? [[i, 'text_not_embeddable']] : [])),
  );
});

test('one call costs a bounded number of others: where hundreds are bad, what is left is not available', async (t) => {
  const { runner, server, warnings } = await open(t, {}, { refuses: (text) => text !== 'ready' });
  await assert.rejects(
    runner.embed(
      Array.from({ length: 2000 }, (_, i) => `bad ${i}`),
      'passage',
      never,
    ),
    { code: 'embedder_unavailable' },
  );
  assert.ok(server.calls.length <= 602, `${server.calls.length} calls`);
  assert.match(JSON.stringify(warnings), /too many texts/);
});
