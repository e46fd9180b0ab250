// The built-in embedder with long input: it works in slices, gives the same vectors whatever the slices, and stops when
// its request is cancelled.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BuiltinEmbedder } from '../../../src/embedding/builtin/embedder.js';

const embedder = new BuiltinEmbedder();
const texts = Array.from({ length: 500 }, (_, i) => `the ${i}th text of many `.repeat(20));

test('a text has the same vector in a long input as alone', async () => {
  const { vectors } = await embedder.embed(texts, 'passage', () => false);
  for (const i of [0, 137, 499]) {
    const { vectors: alone } = await embedder.embed([texts[i] as string], 'query', () => false);
    assert.deepEqual(vectors.subarray(i * embedder.dim, (i + 1) * embedder.dim), alone);
  }
});

test('it looks between slices whether anybody waits, and ends where nobody does', async () => {
  let looks = 0;
  const { vectors } = await embedder.embed(texts, 'passage', () => ++looks > 2);
  assert.equal(looks, 3);
  assert.ok(
    vectors.subarray(0, embedder.dim).some((value) => value !== 0),
    'the first slice was embedded',
  );
  assert.ok(
    vectors.subarray(-embedder.dim).every((value) => value === 0),
    'the last one was not',
  );
});
