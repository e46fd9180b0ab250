// Each way in which the bytes of embedder.bin can be damaged has its own message.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { BuiltinEmbedder } from '../../../src/embedding/builtin/embedder.js';
import {
  CHECKED_START,
  EmbedderFileError,
  type EmbedderFileProblem,
  HEADER_BYTES,
  OFFSETS,
  openEmbedderTable,
} from '../../../src/embedding/builtin/table.js';
import { packTables, TINY, writeTinyTables } from '../../kit/embedding/builtin.js';

const whole = packTables(writeTinyTables());

function brokenBy(change: (bytes: Buffer) => void): Buffer {
  const bytes = Buffer.from(whole);
  change(bytes);
  return bytes;
}

/** A file that contradicts itself but has a right checksum, as a faulty packer would write it. */
function resealedAfter(change: (bytes: Buffer) => void): Buffer {
  return brokenBy((bytes) => {
    change(bytes);
    createHash('sha256').update(bytes.subarray(CHECKED_START)).digest().copy(bytes, OFFSETS.sha256);
  });
}

function assertFault(bytes: Uint8Array, fault: EmbedderFileProblem, message: RegExp): void {
  assert.throws(
    () => openEmbedderTable(bytes),
    (error) => {
      assert.ok(error instanceof EmbedderFileError);
      assert.equal(error.problem, fault);
      assert.match(error.message, message);
      return true;
    },
  );
}

test('an empty file', () => assertFault(new Uint8Array(), 'length', /0 bytes are less than the header/));

test('a file cut inside the header', () =>
  assertFault(whole.subarray(0, HEADER_BYTES - 1), 'length', /less than the header/));

test('a file cut after the header', () => assertFault(whole.subarray(0, -1), 'length', /its header says/));

test('a file with bytes appended', () =>
  assertFault(Buffer.concat([whole, Buffer.alloc(1)]), 'length', /its header says/));

test('another magic', () =>
  assertFault(
    brokenBy((bytes) => bytes.write('PK\x03\x04')),
    'magic',
    /not SHEAFEMB/,
  ));

test('a later version', () =>
  assertFault(
    brokenBy((bytes) => bytes.writeUInt32LE(2, OFFSETS.version)),
    'version',
    /version 2/,
  ));

test('any single byte flipped after the length', () => {
  for (let at = OFFSETS.sha256; at < whole.length; at++) {
    assertFault(
      brokenBy((bytes) => bytes.writeUInt8(bytes.readUInt8(at) ^ 0x10, at)),
      'checksum',
      /checksum/,
    );
  }
});

test('a section outside the file', () => {
  for (const name of ['vocabularyStart', 'scalesStart', 'idfsStart', 'rowsStart'] as const) {
    assertFault(
      resealedAfter((bytes) => bytes.writeUInt32LE(whole.length - 1, OFFSETS[name])),
      'layout',
      /outside the file/,
    );
    assertFault(
      resealedAfter((bytes) => bytes.writeUInt32LE(0, OFFSETS[name])),
      'layout',
      /outside the file/,
    );
  }
});

test('more pieces than vocabulary entries', () => {
  assertFault(
    resealedAfter((bytes) => bytes.writeUInt32LE(2, OFFSETS.pieces)),
    'layout',
    /5 vocabulary entries for 2 pieces/,
  );
});

test('rows of another width than the embedder wants', () => {
  assert.throws(
    () => new BuiltinEmbedder(whole),
    (error) => error instanceof EmbedderFileError && error.problem === 'layout',
  );
});

test('bytes at an odd offset, and in shared memory, open like any', () => {
  const shared = new Uint8Array(new SharedArrayBuffer(whole.length + 1), 1);
  shared.set(whole);
  assert.deepEqual(openEmbedderTable(shared), TINY);
});
