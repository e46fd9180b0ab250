// The memory of arenas is shared, grows, is advised to be on huge pages, and lies on all memory nodes, where the addon was
// built.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { createArenaMemory, spreadOverNodes } from '../../../src/base/arena-memory.js';

const SMAPS = '/proc/self/smaps';
const ADDON = new URL('../../../src/base/native/arena-pages.node', import.meta.url);
const isBuilt = existsSync(ADDON);
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

interface Placing {
  placement(view: Uint8Array): number;
}

/** Numbers of <linux/mempolicy.h>, and what the addon answers where the system does not tell. */
const POLICY = { unknown: -1, system: 0, interleaved: 3 };

test('memory is spread over the nodes of a machine that has several, with all it may grow to', { skip }, (t) => {
  const { placement } = createRequire(import.meta.url)(ADDON.pathname) as Placing;
  const policyOf = ({ buffer }: WebAssembly.Memory, at = 0): number => placement(new Uint8Array(buffer, at));
  const lines: [string, Record<string, unknown>, string][] = [];
  const line =
    (level: string) =>
    (fields: Record<string, unknown>, message: string): void =>
      void lines.push([level, fields, message]);
  const log = { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
  const [alone, ...several] = [createArenaMemory(1, 100), createArenaMemory(1, 100), createArenaMemory(1, 100)] as [
    WebAssembly.Memory,
    ...WebAssembly.Memory[],
  ];
  if (policyOf(alone) === POLICY.unknown) return t.skip('the system does not tell of policies');

  spreadOverNodes([alone], 100 * 65_536, log, 1);
  assert.equal(policyOf(alone), POLICY.system);
  assert.equal(lines.length, 0);

  // The nodes of this machine are taken for two, so that the call is made on any.
  spreadOverNodes(several, 100 * 65_536, log, 2);
  for (const memory of several) {
    memory.grow(99);
    assert.deepEqual([policyOf(memory), policyOf(memory, 99 * 65_536)], [POLICY.interleaved, POLICY.interleaved]);
  }
  assert.deepEqual(lines, [['info', { nodes: 2 }, 'the memory of the shards is spread over all memory nodes']]);

  spreadOverNodes([createArenaMemory(1, 1), createArenaMemory(1, 1)], 2 ** 62, log, 2);
  assert.deepEqual(
    lines.slice(1).map(([level, { nodes }]) => [level, nodes]),
    [['warn', 2]],
  );
});
