// Readers and epochs: who may enter when, what is freed and when, the slots of dead readers, and the directory of
// segments.
import assert from 'node:assert/strict';
import { threadId } from 'node:worker_threads';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import type { CollectionId } from '../../../src/api/ids.js';
import { clearReader } from '../../../src/engine/memory/ownership.js';
import { Kernel } from '../../../src/engine/memory/arena.js';
import { ReaderTable } from '../../../src/engine/memory/epochs.js';
import {
  LOCK_AT,
  LOST,
  OPEN_AT,
  OWNER,
  READERS_AT,
  READERS_MAX,
  READER_EPOCH,
  READER_LINES,
} from '../../../src/engine/memory/layout.js';
import { createKernel, createMemory, randomVector, readKernelBytes } from '../../kit/engine/arena.js';

const module = new WebAssembly.Module(readKernelBytes());

function createPair(memory = createMemory()): { owner: Kernel; reader: Kernel; memory: WebAssembly.Memory } {
  const reader = new Kernel(module, memory);
  reader.joinReaders();
  const owner = createKernel(memory);
  owner.open();
  return { owner, reader, memory };
}

function fill(owner: Kernel): ReturnType<Kernel['createIndex']> {
  const index = owner.createIndex(16);
  const prng = createPrng(1);
  for (let ordinal = 0; ordinal < 500; ordinal++) index.put(ordinal, randomVector(prng, 16));
  return index;
}

test('a reader enters while the memory is open, and each format is another incarnation', () => {
  const { owner, reader } = createPair();
  assert.equal(
    reader.read((incarnation) => incarnation),
    1,
  );
  owner.format();
  assert.equal(
    reader.read(() => assert.fail('the memory is being filled')),
    undefined,
  );
  owner.open();
  assert.equal(reader.read((incarnation) => reader.read((inner) => [incarnation, inner]))?.join(), '2,2');
  assert.throws(
    () =>
      reader.read(() => {
        throw new Error('of the work');
      }),
    /of the work/,
  );
  owner.format();
});

test('dropped memory is freed once the readers that may see it have left, or at once where there are none', () => {
  const { owner, reader } = createPair();
  const index = fill(owner);
  const naive = fill(owner);
  const before = owner.usedBytes();
  reader.read(() => {
    const seen = reader.attach(index.root).search(randomVector(createPrng(2), 16), 10);
    const used = owner.usedBytes();
    index.drop();
    assert.equal(owner.usedBytes(), used);
    assert(owner.retiredBytes() > 30_000, `${owner.retiredBytes()} bytes`);
    assert.equal(owner.reclaim(), false);
    fill(owner);
    assert.deepEqual(reader.attach(index.root).search(randomVector(createPrng(2), 16), 10), seen);
  });
  while (owner.reclaim());
  assert.equal(owner.retiredBytes(), 0);
  const used = owner.usedBytes();
  naive.drop();
  assert.equal(owner.retiredBytes(), 0);
  assert(owner.usedBytes() < used && used > before);
});

test('a full arena frees what has been retired before it says so', () => {
  const pages = 64;
  const { owner, reader } = createPair(createMemory(pages));
  let putBytes = 0;
  for (let round = 0; round < 100; round++) {
    const index = owner.createIndex(384);
    reader.read(() => {
      for (let ordinal = 0; ordinal < 500; ordinal++) index.put(ordinal, randomVector(createPrng(ordinal), 384));
      putBytes += owner.usedBytes() - owner.retiredBytes();
      index.drop();
    });
  }
  assert.ok(putBytes > 10 * 65_536 * pages, `${putBytes} bytes have gone through`);
});

test('a reader that died while reading holds memory back until its slot is cleared, and its scratch memory is reused', () => {
  const { owner, reader, memory } = createPair();
  const index = fill(owner);
  reader.read(() => reader.attach(index.root).search(randomVector(createPrng(2), 16), 10));
  const place = new Int32Array(memory.buffer, READERS_AT + READER_EPOCH, 1);
  Atomics.store(place, 0, 1);
  index.drop();
  assert.equal(owner.reclaim(), false);
  assert(owner.retiredBytes() > 0);
  clearReader(memory, threadId);
  const used = owner.usedBytes();
  const next = new Kernel(module, memory);
  next.joinReaders();
  assert.equal(
    next.read(() => next.attach(fill(owner).root).search(randomVector(createPrng(2), 16), 10).count),
    10,
  );
  while (owner.reclaim());
  assert.equal(owner.retiredBytes(), 0);
  assert(owner.usedBytes() <= used);
});

test('as many readers as have places are seen, wherever theirs is in a cache line', () => {
  const memory = createMemory();
  const tables = Array.from({ length: READERS_MAX }, () => new ReaderTable(memory));
  const places = tables.map((table) => table.join());
  assert.throws(() => new ReaderTable(memory).join(), /no room for more than 256 readers/);
  const owner = createKernel(memory);
  owner.open();
  for (const at of [0, 1, READER_LINES - 1, READER_LINES, 2 * READER_LINES + 5, READERS_MAX - 1]) {
    const place = places[at] as ReturnType<ReaderTable['join']>;
    assert.equal(place.enter(), 1);
    fill(owner).drop();
    owner.reclaim();
    assert.ok(owner.retiredBytes() > 0, `the reader at place ${at} holds memory back`);
    place.leave();
    while (owner.reclaim());
    assert.equal(owner.retiredBytes(), 0);
  }
  clearReader(memory, threadId);
  new ReaderTable(memory).join();
});

test('a reader that died within the allocator is the end of its owner, not of the memory', () => {
  const { owner, memory } = createPair();
  Atomics.store(new Int32Array(memory.buffer), LOCK_AT >> 2, threadId + 1);
  clearReader(memory, threadId);
  assert.throws(() => owner.createIndex(3), /full/);
  assert.throws(() => owner.reclaim(), /no reader died/);
  const next = createKernel(memory);
  next.createIndex(3).put(0, Float32Array.of(1, 2, 3));
  next.reclaim();
});

test('a reader does not wait for the lock of an owner that is gone, once the memory is closed', () => {
  const { owner, reader, memory } = createPair();
  const index = fill(owner);
  const textIndex = new Int32Array(memory.buffer);
  const answer = reader.read(() => {
    Atomics.store(textIndex, LOCK_AT >> 2, OWNER | 0);
    Atomics.store(textIndex, OPEN_AT >> 2, 0);
    return reader.attach(index.root).search(randomVector(createPrng(2), 16), 10);
  });
  assert.equal(answer, undefined);
  createKernel(memory).open();
  assert.equal(
    reader.read((incarnation) => incarnation),
    2,
  );
});

test('the directory returns the latest entry of a collection, as a map does', () => {
  const { owner, reader } = createPair();
  const prng = createPrng(3);
  const naive = new Map<number, object>();
  reader.read(() => 0);
  const before = owner.usedBytes();
  for (let step = 0; step < 20_000; step++) {
    const id = (1 + prng.int(3000)) as CollectionId;
    if (prng.int(3) > 0) {
      const roots = {
        vectors: 64 * prng.int(1000),
        textIndex: prng.int(2) === 0 ? LOST : 64,
        fields: 0,
        priorities: 128,
        arenas: prng.int(256),
      };
      owner.directory.set(id, roots);
      naive.set(id, roots);
    } else {
      owner.directory.delete(id);
      naive.delete(id);
    }
    reader.read(() => assert.deepEqual(reader.directory.get(id), naive.get(id)));
  }
  for (let id = 1; id <= 3000; id++) assert.deepEqual(reader.directory.get(id as CollectionId), naive.get(id));
  assert(owner.usedBytes() - before < 300_000, `${owner.usedBytes() - before} bytes`);
});
