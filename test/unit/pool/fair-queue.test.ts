// The fair queue: turns by tenant, weighed by cost; order within a tenant; and a comparison with a naive version.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { FairQueue } from '../../../src/pool/request-queue.js';

function drained<T>(queue: FairQueue<T>): T[] {
  const items: T[] = [];
  for (let next = queue.shift(); next; next = queue.shift()) items.push(next.item);
  return items;
}

test('tenants of equal cost are served one each in turn, each in its own order', () => {
  const queue = new FairQueue<string>(1);
  for (const item of ['a1', 'a2', 'a3', 'a4']) queue.push('a', item, 1);
  for (const item of ['b1', 'b2']) queue.push('b', item, 1);
  queue.push('c', 'c1', 1);
  assert.deepEqual(drained(queue), ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
  assert.equal(queue.size, 0);
});

test('a tenant that comes late waits for one request of each other tenant, not for all of theirs', () => {
  const queue = new FairQueue<string>(1);
  for (let i = 0; i < 1000; i++) queue.push('a', `a${i}`, 1);
  for (let i = 0; i < 10; i++) queue.shift();
  queue.push('b', 'b', 1);
  assert.ok([queue.shift(), queue.shift()].some((next) => next?.item === 'b'));
});

test('large requests are weighed: two tenants get the same cost, not the same number', () => {
  const queue = new FairQueue<string>(10);
  for (let i = 0; i < 100; i++) queue.push('large', 'large', 50);
  for (let i = 0; i < 1000; i++) queue.push('small', 'small', 5);
  const spent = { large: 0, small: 0 };
  for (let i = 0; i < 550; i++) {
    const { item, cost } = queue.shift() as { item: 'large' | 'small'; cost: number };
    spent[item] += cost;
  }
  assert.ok(Math.abs(spent.large - spent.small) <= 60, JSON.stringify(spent));
});

test('nothing is lost, doubled or overtaken within a tenant, whatever comes and goes', () => {
  const seed = 5;
  const prng = createPrng(seed);
  const queue = new FairQueue<{ key: string; n: number }>(3);
  const next = new Map<string, number>();
  const seen = new Map<string, number>();
  let size = 0;
  for (let step = 0; step < 20_000; step++) {
    if (prng.next() < 0.5) {
      const key = `t${prng.int(7)}`;
      const n = next.get(key) ?? 0;
      next.set(key, n + 1);
      queue.push(key, { key, n }, prng.int(9));
      size++;
    } else {
      const got = queue.shift();
      assert.equal(got !== undefined, size > 0, `seed ${seed}`);
      if (!got) continue;
      size--;
      assert.equal(got.item.n, seen.get(got.item.key) ?? 0, `seed ${seed}`);
      seen.set(got.item.key, got.item.n + 1);
    }
    assert.equal(queue.size, size);
  }
  const rest = queue.drain();
  assert.deepEqual([rest.length, queue.size, queue.shift()], [size, 0, undefined]);
});

test('removed requests are neither served nor counted, at random, compared with a plain list for each tenant', () => {
  for (const seed of [1, 2, 3]) {
    const prng = createPrng(seed);
    const queue = new FairQueue<number>(3);
    const lines = new Map<string, number[]>();
    for (let item = 0; item < 3000; item++) {
      const key = `line ${prng.int(4)}`;
      const line = lines.get(key) ?? (lines.set(key, []).get(key) as number[]);
      const action = prng.int(3);
      if (action < 2) {
        queue.push(key, item, prng.int(5));
        line.push(item);
      } else if (prng.next() < 0.5) {
        const removed = prng.next() < 0.2 ? -1 : (line[prng.int(line.length)] ?? -1);
        queue.remove(key, removed);
        lines.set(
          key,
          line.filter((each) => each !== removed),
        );
      } else {
        const served = queue.shift()?.item;
        const from = [...lines.values()].find((each) => each[0] === served);
        assert.ok(from || served === undefined, `the first of a line is served, seed ${seed}`);
        from?.shift();
      }
      for (const [name, waiting] of lines) assert.equal(queue.waitingOf(name), waiting.length, `seed ${seed}`);
      assert.equal(queue.size, [...lines.values()].flat().length, `seed ${seed}`);
    }
    assert.deepEqual(
      drained(queue).sort((a, b) => a - b),
      [...lines.values()].flat().sort((a, b) => a - b),
      `seed ${seed}`,
    );
  }
});
