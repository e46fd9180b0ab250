// Who leads, by the messages of the log: a node leads from the begin, renews its lead, and leaves that of another alone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LEAD, Leadership, leaderIn } from '../../../src/cluster/leadership.js';

/** A stream that has the messages by which nodes lead, and tells them to nobody by itself. */
class Leads {
  readonly messages: { sequence: number; payload: Uint8Array }[] = [];

  lastOf(target: string): Promise<{ sequence: number; payload: Uint8Array } | undefined> {
    assert.equal(target, LEAD);
    return Promise.resolve(this.messages.at(-1));
  }

  publishAfter({ payload }: { payload: Uint8Array }, last: number): Promise<number> {
    if ((this.messages.at(-1)?.sequence ?? 0) !== last) return Promise.reject(new Error('another was faster'));
    const sequence = last + 7;
    this.messages.push({ sequence, payload });
    return Promise.resolve(sequence);
  }

  get nodes(): string[] {
    return this.messages.map(({ payload }) => leaderIn(payload));
  }

  get latest(): { sequence: number; payload: Uint8Array } {
    return this.messages.at(-1) as { sequence: number; payload: Uint8Array };
  }
}

const LONG_AGO = -Infinity;

test('a node leads where none is heard of for ten seconds, and renews its lead', async () => {
  const leads = new Leads();
  const a = new Leadership('a', leads);
  await a.renew('1', performance.now());
  assert.deepEqual([leads.nodes, a.node, a.isHere], [[], undefined, false]);
  await a.renew('2', LONG_AGO);
  assert.deepEqual([leads.nodes, a.isHere], [['a'], false], 'it leads when the log has told it');
  a.heard(leads.latest);
  assert.deepEqual([a.node, a.isHere], ['a', true]);
  await a.renew('3', performance.now());
  assert.deepEqual(leads.nodes, ['a', 'a']);
});

test('a node leaves the lead of another one alone, also one that it has not heard of yet', async () => {
  const leads = new Leads();
  const [a, b] = [new Leadership('a', leads), new Leadership('b', leads)];
  await a.renew('1', LONG_AGO);
  b.heard(leads.latest);
  await b.renew('2', LONG_AGO);
  assert.deepEqual([leads.nodes, b.node, b.isHere], [['a'], 'a', false]);
  // Both find that nobody leads; the stream takes the first of them.
  a.heard(leads.latest);
  await Promise.all([a.renew('3', LONG_AGO), a.renew('4', LONG_AGO)]);
  assert.deepEqual(leads.nodes, ['a', 'a']);
});
