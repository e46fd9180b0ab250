// Writes of one collection pass the write gate in the order in which they arrived, whatever is held meanwhile: a
// reindex job relies on this (docs/internals/reindex.md, 3).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CollectionId } from '../../../src/api/ids.js';
import { WriteGate } from '../../../src/pool/write-gate.js';

const HERE = 1 as CollectionId;
const THERE = 2 as CollectionId;

/** A promise, and the function that resolves it. */
function deferred(): { opened: Promise<void>; open: () => void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

test('a write that waited for one holder does not fall behind one that came while another held', async () => {
  const gate = new WriteGate();
  const passed: string[] = [];
  const pass = (name: string, place: CollectionId | undefined = HERE): Promise<void> =>
    gate.shared(place, async () => void passed.push(name));
  const [one, all] = [deferred(), deferred()];
  const holding = gate.exclusive(HERE, () => one.opened);
  const first = pass('first');
  await pass('elsewhere', THERE);
  const holdingAll = gate.exclusive('all', () => all.opened);
  const others = [pass('second'), pass('third', THERE)];
  one.open();
  await holding;
  all.open();
  await Promise.all([holdingAll, first, ...others]);
  assert.deepEqual(
    passed.filter((name) => name !== 'third'),
    ['elsewhere', 'first', 'second'],
  );
  assert.equal(passed.includes('third'), true);
});

test('a holder of the gate waits for earlier writes, and no write passes until it is done', async () => {
  const gate = new WriteGate();
  const [write, hold] = [deferred(), deferred()];
  const told: string[] = [];
  const writing = gate.shared(HERE, () => write.opened.then(() => void told.push('written')));
  const holding = gate.exclusive(HERE, () => hold.opened.then(() => void told.push('held')));
  const behind = gate.shared(HERE, async () => void told.push('behind'));
  const again = gate.exclusive(HERE, async () => void told.push('held again'));
  write.open();
  await writing;
  hold.open();
  await Promise.all([holding, behind, again]);
  assert.deepEqual(told.slice(0, 2), ['written', 'held']);
  assert.deepEqual(told.slice(2).sort(), ['behind', 'held again']);
  await gate.shared(HERE, async () => void told.push('last'));
  assert.equal(told.at(-1), 'last');
});
