// The growing buffer, compared with plain concatenation, for right, wrong and missing announcements of the length.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { ByteGatherer } from '../../../src/http/form.js';

test('gathers what concatenation gathers, whatever was announced', async () => {
  const seed = Math.trunc(Math.random() * 2 ** 31);
  const prng = createPrng(seed);
  for (let round = 0; round < 60; round += 1) {
    const chunks = Array.from({ length: prng.int(12) }, () => Buffer.alloc(prng.int(800_000), prng.int(256)));
    const whole = Buffer.concat(chunks);
    const announced = [undefined, 0, whole.length, whole.length + prng.int(1000), prng.int(whole.length + 1)][
      prng.int(5)
    ];
    const gatherer = new ByteGatherer(announced);
    for (const chunk of chunks) gatherer.add(chunk);
    assert.ok((await gatherer.whole()).equals(whole), `seed ${seed}, round ${round}, announced ${announced}`);
  }
});

test('a right announcement gives bytes that own their buffer', async () => {
  for (const size of [10, 5000, 3_000_000]) {
    const gatherer = new ByteGatherer(size);
    for (let sent = 0; sent < size; sent += 500_000) gatherer.add(Buffer.alloc(Math.min(500_000, size - sent)));
    assert.equal((await gatherer.whole()).buffer.byteLength, size);
  }
});

test('a large announcement sets nothing large aside before bytes come', async () => {
  const gatherer = new ByteGatherer(2 ** 30);
  gatherer.add(Buffer.alloc(1000));
  assert.ok((await gatherer.whole()).buffer.byteLength <= 1024 * 1024);
});
