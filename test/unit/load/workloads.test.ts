// Workload files: the suite's own files are valid, and an error message names the place of a mistake.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UsageError, fitted, ownWorkloads, parseWorkload, readWorkload } from '../../../load/suite/workload.js';

const GOOD = `
name: mine
title: Mine
about: What I do.
fill: [{ name: docs, of: texts, documents: 100 }]
traffic: [{ kind: search, body: { k: 3 } }]
closed_loop: { connections: 4, seconds: 2 }
open_loop: { shares: [0.5, 0.9], seconds: 2 }
`;

function complaints(text: string): string[] {
  try {
    parseWorkload(text, 'mine.yaml');
  } catch (error) {
    assert.ok(error instanceof UsageError, String(error));
    return error.message.split('\n');
  }
  return [];
}

test('the workloads of the suite fit their form, and have names of their own', () => {
  const names = ownWorkloads().map(({ name }) => name);
  assert.deepEqual(names, [
    'fill',
    'search-vectors',
    'search-text',
    'search-hybrid',
    'mixed',
    'noisy-tenant',
    'reindex',
    'restart',
  ]);
});

test('a workload may be YAML or JSON', () => {
  const workload = parseWorkload(GOOD, 'mine.yaml');
  assert.deepEqual(parseWorkload(JSON.stringify(workload), 'mine.json'), workload);
});

test('a file that is not there, and one that is no YAML, are named', () => {
  assert.throws(() => readWorkload('/nowhere/mine.yaml'), { message: '/nowhere/mine.yaml: there is no such file' });
  assert.match(complaints('name: [')[0]!, /^mine\.yaml: .+ at line 1/);
});

const WRONG: [name: string, from: string, to: string, complaint: string][] = [
  ['an unknown key', 'title: Mine', 'title: Mine\ncolour: red', 'colour: there is no such key'],
  ['a missing one', 'title: Mine', '', 'title: is missing'],
  [
    'a number that is none',
    'documents: 100',
    'documents: many',
    'fill[0].documents: wants a whole number, at least 1, found "many"',
  ],
  [
    'a number that is too small',
    'connections: 4',
    'connections: 0',
    'closed_loop.connections: wants a number, at least 1, found 0',
  ],
  [
    'a kind that there is not',
    'kind: search',
    'kind: browse',
    'traffic[0].kind: wants "health" or "ingest" or "read" or "search", found "browse"',
  ],
  [
    'a name that is no slug',
    'name: mine',
    'name: My own',
    'name: wants small letters, digits and hyphens, a letter first, 40 at most, found "My own"',
  ],
  [
    'nothing that is filled',
    'fill: [{ name: docs, of: texts, documents: 100 }]',
    'fill: []',
    'fill: wants a list with at least one entry, found a list',
  ],
  [
    'a collection that is not filled',
    'kind: search',
    'kind: search, collection: notes',
    'traffic[0].collection: fill has no notes, but docs',
  ],
  [
    'loops without traffic',
    'traffic: [{ kind: search, body: { k: 3 } }]',
    '',
    'traffic: is missing, and the loops and the restart want it',
  ],
  [
    'shares without a closed loop',
    'closed_loop: { connections: 4, seconds: 2 }',
    '',
    'open_loop.shares: are those of closed_loop, which is missing',
  ],
  [
    'both rates and shares',
    'shares: [0.5, 0.9]',
    'shares: [0.5], rates: [10]',
    'open_loop: wants either shares or rates',
  ],
  [
    'recall of texts',
    'name: mine',
    'name: mine\nrecall: { queries: 10, k: 10 }',
    'recall: wants a collection of vectors',
  ],
  ['a body of what is no search', 'kind: search', 'kind: read', 'traffic[0].body: belongs to a search'],
  [
    'traffic of a job',
    'name: mine',
    'name: mine\nbeside: [{ name: jobs, kind: reindex, traffic: [{ kind: health }] }]',
    'beside[0].traffic: belongs to kind traffic, and to no other',
  ],
];

for (const [name, from, to, complaint] of WRONG) {
  test(`what is wrong is said: ${name}`, () =>
    assert.deepEqual(complaints(GOOD.replace(from, to)), [`mine.yaml: ${complaint}`]));
}

test('everything that is wrong is said at once', () => {
  assert.equal(complaints('name: mine\ntitle: Mine\nfill: [{ name: docs, of: pictures, documents: 0 }]').length, 3);
});

test('a run has its own numbers, and the rest of the workload', () => {
  const workload = fitted(parseWorkload(GOOD, 'mine.yaml'), { tiny: false, seconds: 7, rate: 30, connections: 9 });
  assert.deepEqual(workload.closed_loop, { connections: 9, seconds: 7 });
  assert.deepEqual(workload.open_loop, { rates: [30], seconds: 7 });
  assert.equal(workload.fill[0]!.documents, 100);
});

test('a tiny run of each workload has one rate, a second a loop, and few documents', () => {
  for (const workload of ownWorkloads().map((own) => fitted(own, { tiny: true }))) {
    const { closed_loop: closed, open_loop: open, fill } = workload;
    assert.ok(fill.every(({ documents }) => documents <= 200));
    assert.ok([closed, open].every((loop) => loop === undefined || loop.seconds === 1));
    assert.ok((open?.rates ?? open?.shares ?? []).length <= 1);
  }
});
