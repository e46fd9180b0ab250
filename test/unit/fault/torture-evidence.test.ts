// What the torture program reports about a violation: the last steps of the slot, and where in the stores the document
// is, if anywhere.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeText } from '../../../load/torture/writer.js';
import { type Left, evidenceOf } from '../../../load/torture/evidence.js';
import { type Documents, Slot, Trail } from '../../../load/torture/model.js';
import type { CollectionId } from '../../../src/api/ids.js';

const at = (revision: number, version: number): { revision: number; version: number } => ({ revision, version });
const OLD: Documents = new Map([
  ['d1', at(3, 1)],
  ['d2', at(4, 1)],
]);

/**
 * The stores with these documents by collection id: 5 has the name, 4 is the previous collection kept beside it, 6
 * belongs to another tenant, 3 has been dropped.
 */
function leftWith(documents: Record<number, Documents>): Left {
  const collection = (id: number, tenant: string, name: string): object => ({ id, tenant, name });
  const staged = { id: 4, purpose: 'previous', replaces: 5, collection: collection(4, 'acme', 's0-a') };
  const all = [collection(5, 'acme', 's0-a'), collection(6, 'other', 's1-a')];
  return {
    collections: all,
    staged: [staged],
    jobs: [],
    documents: new Map(Object.entries(documents).map(([id, own]) => [Number(id) as CollectionId, own])),
  } as unknown as Left;
}

function slotWith(documents: Documents): Slot {
  const slot = new Slot('acme', 's0-', 'text');
  slot.state = { ...slot.state, name: 's0-a', documents };
  return slot;
}

test('the evidence names the collections and revisions of a document that differs from what was acknowledged', () => {
  const slot = slotWith(new Map(OLD).set('d1', at(9, 2)));
  const other = new Map([['d1', at(9, 2)]]);
  assert.deepEqual(evidenceOf(slot, leftWith({ 5: OLD, 6: other })), [
    'acme/s0-a',
    'd1 was acknowledged in revision 9 and version 2: 5 (s0-a) has in revision 3 and version 1',
  ]);
  const [, told] = evidenceOf(slot, leftWith({ 3: other, 4: other, 5: OLD, 6: other }));
  assert.equal(
    told,
    'd1 was acknowledged in revision 9 and version 2: 3 (given up) has in revision 9 and version 2, 4 (previous beside 5) has in revision 9 and version 2, 5 (s0-a) has in revision 3 and version 1',
  );
  assert.deepEqual(evidenceOf(slotWith(new Map([['d7', at(1, 1)]])), leftWith({})), [
    'acme/s0-a',
    'd7 was acknowledged in revision 1 and version 1: no collection has it',
  ]);
  assert.deepEqual(evidenceOf(slotWith(OLD), leftWith({ 5: OLD })), ['acme/s0-a']);
});

test('a trail has the last steps in their order, with what was answered and when', () => {
  const trail = new Trail();
  for (let n = 0; n < 200; n++) trail.asked(`step ${n}`, n)('done', n + 2);
  trail.asked(
    changeText({
      documents: new Map([
        ['d1', at(9, 2)],
        ['d2', null],
      ]),
    }),
    1000,
  );
  const lines = trail.lines();
  assert.equal(lines.length, 80);
  assert.deepEqual(lines.slice(-2), [
    '00:00:00.199 step 199: done after 2 ms',
    '00:00:01.000 d1 in revision 9 and version 2, d2 deleted: not answered',
  ]);
});
