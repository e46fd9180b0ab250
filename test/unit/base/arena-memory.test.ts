// The memory of arenas is shared, grows, and is advised to be on huge pages where the addon was built.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createArenaMemory } from '../../../src/base/huge-pages.js';

const SMAPS = '/proc/self/smaps';
const isBuilt = existsSync(new URL('../../../src/base/native/arena-pages.node', import.meta.url));
const skip = (!isBuilt && 'the addon was not built') || (!existsSync(SMAPS) && 'there is no smaps');

test('an arena is shared memory that grows to its maximum', () => {
  const memory = createArenaMemory(1, 3);
  assert.equal(Object.prototype.toString.call(memory.buffer), '[object SharedArrayBuffer]');
  memory.grow(2);
  assert.equal(memory.buffer.byteLength, 3 * 65_536);
  assert.throws(() => memory.grow(1), RangeError);
});

test('an arena is advised to be on huge pages, with all it may grow to', { skip }, () => {
  const advisedBytes = (): number => {
    const mappings = readFileSync(SMAPS, 'utf8')
      .split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m)
      .filter((mapping) => /^VmFlags:.* hg/m.test(mapping));
    return mappings.reduce((sum, mapping) => {
      const [from = '0', end = '0'] = (mapping.split(' ')[0] ?? '').split('-');
      return sum + Number(BigInt(`0x${end}`) - BigInt(`0x${from}`));
    }, 0);
  };
  const before = advisedBytes();
  const memory = createArenaMemory(1, 65_536);
  assert.equal(advisedBytes() - before, 2 ** 32);
  memory.grow(1000);
  assert.equal(advisedBytes() - before, 2 ** 32);
});
