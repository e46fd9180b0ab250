// A write to a collection that another node of a cluster spreads over other shards: it is refused at the end of that, and
// made again once the collection is switched.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Collection } from '../../../src/api/collections.js';
import { AppError } from '../../../src/api/errors.js';
import { asOfNow, collectionChanged } from '../../../src/service/collections/catalog-changes.js';
import type { Shadow } from '../../../src/service/collections/shadow-collections.js';

const collectionOf = (id: number): Collection => ({ id, log_id: 1 }) as unknown as Collection;
const BEFORE = collectionOf(1);
const AFTER = collectionOf(2);

/** The catalog of a node, in which `live` has the name, and beside it a shadow collection if it is being spread. */
function namesOf({ isSpreading }: { isSpreading: boolean }) {
  const state = { live: BEFORE, isSpreading };
  return {
    state,
    catalog: { findByLog: () => state.live },
    shadows: { beside: () => (state.isSpreading ? [{} as Shadow] : []) },
  };
}

test('a write that is refused while the collection is spread waits for the switch', async () => {
  const { state, ...names } = namesOf({ isSpreading: true });
  const asked: number[] = [];
  const written = asOfNow(names, BEFORE, async ({ id }) => {
    asked.push(Number(id));
    if (id === BEFORE.id) throw collectionChanged();
    return 'written';
  });
  setTimeout(() => Object.assign(state, { live: AFTER, isSpreading: false }), 60);
  assert.equal(await written, 'written');
  assert.deepEqual(asked, [1, 2]);
});

test('a write is made to the same collection where its spread has ended without a switch', async () => {
  const { state, ...names } = namesOf({ isSpreading: true });
  const written = asOfNow(names, BEFORE, async () => {
    if (state.isSpreading) throw collectionChanged();
    return 'written';
  });
  setTimeout(() => (state.isSpreading = false), 60);
  assert.equal(await written, 'written');
});

test('what is refused for another reason is not waited for', async () => {
  for (const [isSpreading, error] of [
    [false, collectionChanged()],
    [true, new AppError('storage_full')],
    [true, new AppError('collection_not_found')],
  ] as const) {
    let asked = 0;
    const { state: _, ...names } = namesOf({ isSpreading });
    await assert.rejects(
      asOfNow(names, BEFORE, () => {
        asked++;
        return Promise.reject(error);
      }),
      error,
    );
    assert.equal(asked, 1);
  }
});
