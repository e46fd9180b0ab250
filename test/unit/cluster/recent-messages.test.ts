// What a node knows of the messages that it has received, and how they differ from those of a log.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecentMessages } from '../../../src/cluster/recent-messages.js';

const message = (sequence: number, id = `m${sequence}`): Parameters<RecentMessages['add']>[0] => ({
  sequence,
  id,
  target: '0',
  payload: Buffer.from(id),
});

const log = (first: number, last: number, other = Infinity): Parameters<RecentMessages['differenceFrom']>[0] => ({
  first,
  last,
  ids: new Map(
    Array.from({ length: last - first + 1 }, (_, i) => [first + i, first + i < other ? `m${first + i}` : `x${i}`]),
  ),
});

function recentOf(...sequences: number[]): RecentMessages {
  const recent = new RecentMessages();
  for (const sequence of sequences) recent.add(message(sequence));
  return recent;
}

const alone = ({ alone: messages }: ReturnType<RecentMessages['differenceFrom']>): string[] =>
  messages.map(({ id }) => id);

test('messages that were applied before the start and come again are known once, in order', () => {
  const recent = recentOf(3, 5, 6);
  for (const sequence of [4, 5, 6, 7]) recent.add(message(sequence));
  assert.deepEqual(
    recent.latest(10).map(([sequence]) => sequence),
    [3, 4, 5, 6, 7],
  );
  assert.deepEqual([recent.first, recent.last], [3, 7]);
  assert.equal(recent.contradicts({ sequence: 8, id: 'm7' }), true);
  assert.equal(recent.contradicts({ sequence: 8, id: 'm8' }), false);
});

test('what a log lacks is known as a whole from a message that both have, or from the first one of all', () => {
  const found = recentOf(4, 5, 6).differenceFrom(log(1, 4));
  assert.deepEqual([found.isOther, found.isWhole, alone(found)], [true, true, ['m5+', 'm6+']]);
  const later = recentOf(5, 6).differenceFrom(log(1, 4));
  assert.deepEqual([later.isOther, later.isWhole, alone(later)], [true, false, ['m5+', 'm6+']]);
  const all = recentOf(1, 2).differenceFrom(log(1, 3, 1));
  assert.deepEqual([all.isOther, all.isWhole, alone(all)], [true, true, ['m1+', 'm2+']]);
});

test('what a log no longer has might have been other than what was received, so the difference is not known as a whole', () => {
  const recent = recentOf(140, 142);
  recent.begin(143, { id: 'm143', wasApplied: false });
  const deleted = recent.differenceFrom(log(143, 145, 143));
  assert.deepEqual([deleted.isOther, deleted.isWhole], [true, false]);
  const there = recent.differenceFrom(log(140, 145, 141));
  assert.deepEqual([there.isOther, there.isWhole, alone(there)], [true, true, ['m142+']]);
  const looked = new RecentMessages();
  looked.begin(143, { id: 'm143', wasApplied: false });
  assert.equal(looked.differenceFrom(log(143, 145, 143)).isWhole, true, 'it has applied nothing');
});

test('what was applied before the start has to be known, and what was only looked at has not', () => {
  for (const [wasApplied, isKnown, isWhole] of [
    [true, false, false],
    [true, true, true],
    [false, false, true],
  ] as const) {
    const recent = isKnown ? recentOf(4, 6) : recentOf(4);
    recent.begin(6, { id: 'm6', wasApplied });
    const found = recent.differenceFrom(log(1, 8, 5));
    assert.deepEqual([found.isOther, found.isWhole], [true, isWhole], `${wasApplied} ${isKnown}`);
  }
});
