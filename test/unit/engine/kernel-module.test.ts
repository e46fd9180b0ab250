// The compiled kernel as a module: instances share nothing but the memory. Every new instance would copy static data
// over live memory and run a start function, and a mutable global would be state that the other instances do not see.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Instance } from '../../../src/engine/memory/bindings.js';
import { FENCE } from '../../../src/engine/memory/layout.js';
import { VectorIndex, GRAPH_MIN } from '../../../src/engine/hnsw/vector-index.js';
import { createMemory, readKernelBytes } from '../../kit/engine/arena.js';

const SECTION_GLOBAL = 6;
const SECTION_START = 8;
const SECTION_DATA = 11;

/** Reads an unsigned LEB128 number; returns the offset behind it too. */
function readNumber(bytes: Uint8Array, from: number): [value: number, next: number] {
  let value = 0;
  for (let at = from, shift = 0; ; at++, shift += 7) {
    const byte = bytes[at] as number;
    value |= (byte & 127) << shift;
    if (byte < 128) return [value, at + 1];
  }
}

function sectionsOf(bytes: Uint8Array): number[] {
  const sections: number[] = [];
  for (let at = 8; at < bytes.length; ) {
    sections.push(bytes[at] as number);
    const [length, body] = readNumber(bytes, at + 1);
    at = body + length;
  }
  return sections;
}

test('the kernel has no static data, no start function and no globals', () => {
  const sections = sectionsOf(readKernelBytes());
  assert(sections.includes(10), 'the section of code is found');
  for (const section of [SECTION_GLOBAL, SECTION_START, SECTION_DATA])
    assert(!sections.includes(section), `section ${section}`);
});

test('the kernel imports nothing but a memory', () => {
  const module = new WebAssembly.Module(readKernelBytes());
  assert.deepEqual(WebAssembly.Module.imports(module), [{ module: 'env', name: 'memory', kind: 'memory' }]);
});

test('a fence precedes the write of a row and the check of row versions in a search', () => {
  const instance = new Instance(new WebAssembly.Module(readKernelBytes()), createMemory());
  instance.calls.format();
  const index = new VectorIndex(instance, instance.calls.createIndex(2, GRAPH_MIN, false) >>> 0);
  const fences = (): number => instance.word(instance.scratch + FENCE);
  assert.equal(fences(), 0);
  index.put(0, Float32Array.of(1, 2));
  assert.equal(fences(), 1);
  assert.equal(index.search(Float32Array.of(1, 2), 1).count, 1);
  assert.equal(fences(), 2, 'the compilers have left it in');
});
