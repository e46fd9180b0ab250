// Which bytes count as binary.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { looksBinary, SNIFF_BYTES_MAX } from '../../../src/extract/file-kind.js';

test('a NUL byte in the head means binary', () => {
  assert.equal(looksBinary(Buffer.from('PK\x03\x04\0\0')), true);
  assert.equal(looksBinary(Buffer.from('plain text, naïve')), false);
  assert.equal(looksBinary(Buffer.alloc(0)), false);
});

test('a byte order mark of UTF-16 means text, NUL bytes or not', () => {
  assert.equal(looksBinary(Buffer.from('\ufeffabc', 'utf16le')), false);
  assert.equal(looksBinary(Buffer.from('\ufeffabc', 'utf16le').swap16()), false);
});

test('only the head is looked at', () => {
  const late = Buffer.concat([Buffer.alloc(SNIFF_BYTES_MAX, 'a'), Buffer.alloc(1)]);
  assert.equal(looksBinary(late), false);
  assert.equal(looksBinary(late.subarray(1)), true);
});
