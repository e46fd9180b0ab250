// Records are the same after encoding and decoding, and damaged bytes are recognized.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DocId } from '../../../src/api/ids.js';
import { DamagedRecord } from '../../../src/storage/damage.js';
import {
  decodeChunk,
  decodeDocument,
  decodeMembers,
  decodeVector,
  encodeChunk,
  encodeDocument,
  encodeMembers,
  encodeVector,
} from '../../../src/storage/records.js';

const document = {
  docid: 'Ünïcode/1' as DocId,
  version: 3,
  ingestedAtMs: 1_790_000_000_000,
  metadataJson: '{"a":"O\'Brien -- x; y"}',
  priority: -0.5,
  chunkCount: 2,
  expiresAtS: 0,
};

test('records are the same after encoding and decoding', () => {
  assert.deepEqual(decodeDocument(encodeDocument(document)), document);
  const expiring = { ...document, expiresAtS: 4_294_967_295 };
  assert.deepEqual(decodeDocument(encodeDocument(expiring)), expiring);
  const members = { ordinals: [0, 7, 4_000_000_000], paths: ['chunk_0', 'chunk_1', 'chunk_2'] };
  assert.deepEqual(decodeMembers(encodeMembers(members)), members);
  const chunk = { docid: 'a' as DocId, path: 'chunk_0', index: 0, metaJson: '{"offset":0}' };
  assert.deepEqual(decodeChunk(encodeChunk(chunk)), chunk);
  const vector = Float32Array.of(1.5, -2, 3e-38);
  assert.deepEqual(decodeVector(encodeVector(vector)), vector);
});

test('a vector that is a view of a larger array stores its own part', () => {
  const whole = Float32Array.of(1, 2, 3, 4);
  assert.deepEqual(decodeVector(encodeVector(whole.subarray(1, 3))), Float32Array.of(2, 3));
});

const bytes = encodeDocument(document);
const damages: [string, Buffer][] = [
  ['another version', Buffer.concat([Buffer.from([9]), bytes.subarray(1)])],
  ['cut off', bytes.subarray(0, bytes.length - 3)],
  ['empty', Buffer.alloc(0)],
  ['another record', encodeChunk({ docid: 'a' as DocId, path: 'p', index: 0, metaJson: '{}' })],
];
for (const [what, damaged] of damages) {
  test(`a document record that is ${what} is damage`, () => {
    assert.throws(() => decodeDocument(damaged), DamagedRecord);
  });
}

test('a vector of a broken length is damage', () => {
  assert.throws(() => decodeVector(Buffer.alloc(6)), DamagedRecord);
  assert.throws(() => decodeVector(Buffer.alloc(0)), DamagedRecord);
});
