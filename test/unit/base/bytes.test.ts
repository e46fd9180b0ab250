// Bytes that are to be transferred to another thread: slices of Buffer's pool are copied, large buffers are not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownBytes, sharedIn, unshared } from '../../../src/base/bytes.js';

test('bytes in the pool get a buffer of their own', () => {
  const pooled = Buffer.from('some text');
  const own = ownBytes(pooled);
  assert.notEqual(own.buffer, pooled.buffer);
  assert.equal(Buffer.from(own).toString(), 'some text');
  assert.equal(own.buffer.byteLength, 9);
});

test('bytes that fill most of their buffer move with it, and arrive as they were', () => {
  const large = new Uint8Array(new ArrayBuffer(1000)).subarray(0, 600).fill(7);
  const own = ownBytes(large);
  assert.equal(own.buffer, large.buffer);
  const moved = structuredClone(own, { transfer: [own.buffer] });
  assert.deepEqual([moved.length, moved[599], large.length], [600, 7, 0]);
});

test('large arrays of an answer lie in shared memory, the buffers of the others move', () => {
  const large = new Float32Array(100_000).fill(0.5);
  const answer = { docid: 'a', document: new Uint8Array([1, 2]), vectors: large };
  const moved = sharedIn(answer);
  assert.deepEqual(moved, [answer.document.buffer]);
  assert.ok(answer.vectors.buffer instanceof SharedArrayBuffer);
  assert.deepEqual(answer.vectors, large);
  assert.deepEqual(sharedIn({ vectors: answer.vectors }), [], 'what is shared already stays where it is');
  const own = unshared(answer.vectors.subarray(10));
  assert.ok(own.buffer instanceof ArrayBuffer);
  assert.deepEqual(own, large.subarray(10));
});
