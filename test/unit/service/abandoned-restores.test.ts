// Which shadow collections of restores are abandoned: those whose nodes have been missing for long enough, by looks that
// followed each other.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CollectionId, CollectionName, Tenant } from '../../../src/api/ids.js';
import { AbandonedRestores } from '../../../src/service/archive/abandoned.js';
import type { Shadow } from '../../../src/service/collections/shadow-collections.js';
import { collectionOf } from '../../kit/records.js';

const collection = { ...collectionOf('t' as Tenant, 'docs' as CollectionName), id: 1 as CollectionId };

const restoreOf = (id: number, session?: string): Shadow => ({
  id: id as CollectionId,
  purpose: 'restore',
  replaces: null,
  created_at: '2026-01-01T00:00:00.000Z',
  collection,
  ...(session !== undefined && { session }),
});

const SHADOWS = [restoreOf(1, 'here'), restoreOf(2, 'gone'), restoreOf(3), restoreOf(4, 'late')];

/** Looks every five seconds from `from` to `to`, with the sessions that are there at each time; all that was found. */
function looks(restores: AbandonedRestores, from: number, to: number, there: (second: number) => string[]): number[] {
  const found = new Set<number>();
  for (let s = from; s <= to; s += 5)
    for (const id of restores.look(SHADOWS, new Set(there(s)), 1000 * s)) found.add(id);
  return [...found];
}

test('a restore is abandoned when no node has had its session for half a minute, and one without a session never', () => {
  const restores = new AbandonedRestores();
  assert.deepEqual(
    looks(restores, 0, 25, () => ['here', 'late']),
    [],
  );
  assert.deepEqual(
    looks(restores, 30, 30, () => ['here', 'late']),
    [2],
  );
  // A node that was cut off for a moment.
  assert.deepEqual(
    looks(restores, 35, 55, () => ['here']),
    [2],
  );
  assert.deepEqual(
    looks(restores, 60, 80, () => ['here', 'late']),
    [2],
  );
  assert.deepEqual(
    looks(restores, 85, 120, () => ['here']),
    [2, 4],
  );
});

test('the time begins again when the looks have paused, because another node led', () => {
  const restores = new AbandonedRestores();
  assert.deepEqual(
    looks(restores, 0, 20, () => ['here', 'late']),
    [],
  );
  assert.deepEqual(
    looks(restores, 100, 125, () => ['here', 'late']),
    [],
  );
  assert.deepEqual(
    looks(restores, 130, 130, () => ['here', 'late']),
    [2],
  );
});
