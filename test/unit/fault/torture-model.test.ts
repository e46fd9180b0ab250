// The model of the torture program complains about everything that a server may get wrong, and about nothing that it
// may do: a program that cannot complain proves nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Documents,
  type Found,
  type KnownJob,
  Slot,
  type State,
  judge,
  newReindexing,
  replaced,
  settle,
} from '../../../load/torture/model.js';

const DOCUMENTS: Documents = new Map([
  ['d1', { revision: 1, version: 1 }],
  ['d2', { revision: 7, version: 3 }],
]);
const RESTORED: Documents = new Map([
  ['d1', { revision: 1, version: 1 }],
  ['d3', { revision: 2, version: 1 }],
]);
const JOB: KnownJob = {
  id: 'j1',
  after: undefined,
  status: 'running',
  to: 'far',
  keeps: true,
  mayFail: false,
  isIdle: false,
};
const STATE: State = { name: 's0-a', documents: DOCUMENTS, reindexing: newReindexing('near') };

function slotWith(state: Partial<State> = {}): Slot {
  const slot = new Slot('acme', 's0-', 'text');
  slot.state = { ...STATE, ...state };
  return slot;
}

const found = (documents: Documents = DOCUMENTS, other: Partial<Found> = {}): Found => ({
  names: ['s0-a'],
  documents,
  space: 'near',
  jobs: [],
  ...other,
});
const withJob = (job: KnownJob | undefined): Partial<State> => ({ reindexing: { ...newReindexing('near'), job } });
const jobFound = (status: KnownJob['status'], space: string, id = 'j1'): Found =>
  found(DOCUMENTS, { space, jobs: [{ job_id: id, status }] });
const complaints = (slot: Slot, what: Found): number => judge(slot, what).complaints.length;

test('what was acknowledged has to be there, in its version, and nothing else', () => {
  const slot = slotWith();
  assert.equal(complaints(slot, found()), 0);
  for (const wrong of [
    new Map(),
    new Map([['d1', { revision: 1, version: 1 }]]),
    new Map(DOCUMENTS).set('d2', { revision: 6, version: 3 }),
    new Map(DOCUMENTS).set('d2', { revision: 7, version: 2 }),
    new Map(DOCUMENTS).set('d9', { revision: 9, version: 1 }),
  ])
    assert.equal(complaints(slot, found(wrong)) > 0, true);
  for (const names of [[], ['s0-b'], ['s0-a', 's0-b']]) assert.equal(complaints(slot, found(DOCUMENTS, { names })), 1);
});

test('each document of an interrupted batch may be stored or not; the model adopts what is found', () => {
  const slot = slotWith();
  slot.pending = {
    documents: new Map([
      ['d1', { revision: 8, version: 2 }],
      ['d4', { revision: 9, version: 1 }],
      ['d2', null],
    ]),
  };
  const half = new Map([
    ['d1', { revision: 8, version: 2 }],
    ['d2', { revision: 7, version: 3 }],
  ]);
  const judgement = judge(slot, found(half));
  assert.deepEqual([judgement.complaints, judgement.happened], [[], true]);
  settle(slot, found(half), judgement);
  assert.deepEqual([[...slot.documents], slot.pending], [[...half], undefined]);
});

test('a restore has happened as a whole or not at all', () => {
  const restoring = (): Slot => {
    const slot = slotWith();
    slot.pending = { state: { ...STATE, documents: RESTORED, reindexing: replaced(STATE.reindexing, undefined) } };
    return slot;
  };
  assert.deepEqual([judge(restoring(), found()).happened, judge(restoring(), found(RESTORED)).happened], [false, true]);
  assert.equal(complaints(restoring(), found(new Map([...DOCUMENTS, ...RESTORED]))) > 0, true);
  assert.equal(complaints(restoring(), found(new Map([['d1', { revision: 1, version: 1 }]]))) > 0, true);
});

test('a job goes on or has switched; it does not go back, and a pause or a cancel stays', () => {
  const running = slotWith(withJob(JOB));
  for (const right of [jobFound('queued', 'near'), jobFound('committing', 'near'), jobFound('succeeded', 'far')])
    assert.equal(complaints(running, right), 0);
  for (const wrong of [
    jobFound('succeeded', 'near'),
    jobFound('running', 'far'),
    jobFound('failed', 'near'),
    jobFound('paused', 'near'),
    jobFound('running', 'near', 'j2'),
    found(),
  ])
    assert.equal(complaints(running, wrong), 1);
  for (const [status, wrong] of [
    ['paused', 'running'],
    ['cancelled', 'succeeded'],
    ['succeeded', 'running'],
  ] as const)
    assert.equal(
      complaints(slotWith(withJob({ ...JOB, status })), jobFound(status, 'near')),
      0,
      `${status}, not ${wrong}`,
    );
  for (const [status, wrong] of [
    ['paused', 'running'],
    ['cancelled', 'succeeded'],
    ['succeeded', 'running'],
  ] as const)
    assert.equal(
      complaints(slotWith(withJob({ ...JOB, status })), jobFound(wrong, 'near')),
      1,
      `${status}, not ${wrong}`,
    );
});

test('a wish that was cut off is known by what is found: a job that began, one that pauses, the way back', () => {
  const begun = slotWith();
  begun.pending = {
    state: { ...STATE, reindexing: { ...STATE.reindexing, job: { ...JOB, id: undefined, status: 'queued' } } },
  };
  assert.deepEqual([judge(begun, found()).happened, judge(begun, jobFound('running', 'near')).happened], [false, true]);
  settle(begun, jobFound('succeeded', 'far'), judge(begun, jobFound('succeeded', 'far')));
  assert.deepEqual(
    [begun.state.reindexing.space, begun.state.reindexing.wayBack, begun.state.reindexing.job?.id],
    ['far', 'near', 'j1'],
  );
  const paused = slotWith(withJob(JOB));
  paused.pending = { state: { ...STATE, ...withJob({ ...JOB, status: 'pausing' }) } };
  assert.deepEqual(
    [judge(paused, jobFound('paused', 'near')).happened, judge(paused, jobFound('queued', 'near')).happened],
    [true, false],
  );
});

test('where nothing tells whether an archive took the place, the job beside it may switch after all, and only to where it leads', () => {
  const slot = slotWith(withJob(JOB));
  slot.pending = { state: { ...STATE, reindexing: replaced({ ...newReindexing('near'), job: JOB }, undefined) } };
  const now = jobFound('running', 'near');
  const judgement = judge(slot, now);
  assert.equal(judgement.isOpen, true);
  settle(slot, now, judgement);
  assert.equal(complaints(slot, jobFound('succeeded', 'far')), 0);
  for (const wrong of [jobFound('succeeded', 'elsewhere'), jobFound('running', 'far'), jobFound('failed', 'far')])
    assert.equal(complaints(slot, wrong), 1);
});
