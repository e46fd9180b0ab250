// Shadow collections in real LMDB, closed and reopened between all steps: at any moment, a name stands for the old
// collection or the new one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CollectionId, CollectionName, Tenant } from '../../../src/api/ids.js';
import type { Collection } from '../../../src/api/collections.js';
import type { ShadowPurpose, ShadowRecord, StoredCollection } from '../../../src/storage/catalog-commands.js';
import { CatalogStore } from '../../../src/storage/catalog.js';
import { tempDirectory } from '../../kit/temp.js';
import { collectionOf } from '../../kit/records.js';

const [TENANT, NAME] = ['t' as Tenant, 'docs' as CollectionName];
const NOW = '2026-01-01T00:00:00.000Z';

const spaceOf = (name: CollectionName, space: string, dim = 1): Omit<Collection, 'id'> =>
  collectionOf(TENANT, name, { vector_space_key: space, dim });

/** A catalog that is opened anew for each step. */
class Steps {
  private readonly directory = tempDirectory();

  do<T>(step: (store: CatalogStore) => T): T {
    const store = CatalogStore.open(this.directory, false);
    try {
      return step(store);
    } finally {
      store.close();
    }
  }

  create(name = NAME): StoredCollection {
    return this.do((store) => store.create(spaceOf(name, 'old')));
  }

  stage(replaces: CollectionId | null, purpose: ShadowPurpose = 'reindex', name = NAME): ShadowRecord {
    return this.do((store) =>
      store.shadow.stage({ purpose, replaces, created_at: NOW, collection: spaceOf(name, 'new', 2) }),
    );
  }

  switchTo(id: CollectionId, expect: CollectionId | null, keptUntilMs = 0): StoredCollection {
    return this.do((store) => store.shadow.switchTo({ id, expect, nowIso: NOW, keptUntilMs })).collection;
  }

  state(): { named: StoredCollection[]; shadow: ShadowRecord[] } {
    return this.do((store) => ({ named: store.all(), shadow: store.shadow.all() }));
  }
}

test('a shadow collection has an id of its own and no name until the switch, which keeps the old collection for a rollback', () => {
  const steps = new Steps();
  const live = steps.create();
  const naive = steps.stage(live.id);
  assert.deepEqual([live.id, naive.id, naive.collection.id], [1, 2, 2]);
  assert.deepEqual(steps.state().named, [live]);
  const after = steps.switchTo(naive.id, live.id, 5000);
  assert.deepEqual(after, { ...live, id: 2, vector_space_key: 'new', dim: 2, log_id: 1 });
  assert.deepEqual(steps.state(), {
    named: [after],
    shadow: [{ id: 1, purpose: 'previous', collection: live, replaces: 2, created_at: NOW, kept_until_ms: 5000 }],
  });
  const back = steps.switchTo(live.id, after.id);
  assert.deepEqual(back, { ...live, log_id: 1 });
  assert.deepEqual(
    steps.state().shadow.map(({ id, purpose }) => [id, purpose]),
    [[2, 'previous']],
  );
});

test('a switch is refused, and changes nothing, where the name does not stand for what is expected', () => {
  const steps = new Steps();
  const live = steps.create();
  const naive = steps.stage(live.id);
  const before = steps.state();
  for (const expect of [null, 7 as CollectionId])
    assert.throws(() => steps.switchTo(naive.id, expect), { code: 'collection_changed' });
  assert.throws(() => steps.switchTo(9 as CollectionId, live.id), { code: 'collection_changed' });
  assert.deepEqual(steps.state(), before);
});

test('a collection that is restored as a new one takes a free name, with its own settings and query log', () => {
  const steps = new Steps();
  const naive = steps.stage(null, 'restore');
  const made = steps.switchTo(naive.id, null);
  assert.deepEqual(made, { ...spaceOf(NAME, 'new', 2), id: naive.id });
  const again = steps.stage(made.id, 'restore');
  assert.deepEqual(steps.switchTo(again.id, made.id), { ...spaceOf(NAME, 'new', 2), id: again.id });
});

test('a rename also renames the shadow collection of a reindex, and no other', () => {
  const steps = new Steps();
  const live = steps.create();
  const [naive, restore] = [steps.stage(live.id), steps.stage(live.id, 'restore')];
  steps.do((store) => store.update(live, { name: 'other' as CollectionName, display_name: 'Other' }));
  assert.deepEqual(
    steps.state().shadow.map(({ id, collection }) => [id, collection.name]),
    [
      [naive.id, 'other'],
      [restore.id, 'docs'],
    ],
  );
  const after = steps.switchTo(naive.id, live.id);
  assert.deepEqual([after.name, after.display_name, after.vector_space_key], ['other', 'Other', 'new']);
});

test('the shadow collection of a reindex is dropped with its collection and tenant; that of a restore is not', () => {
  const steps = new Steps();
  const [live, other] = [steps.create(), steps.create('other' as CollectionName)];
  const restore = steps.stage(live.id, 'restore');
  for (const { id } of [live, other]) steps.stage(id);
  steps.do((store) => store.delete(live));
  assert.deepEqual(
    steps.state().shadow.map(({ replaces }) => replaces),
    [live.id, other.id],
  );
  steps.do((store) => store.tenants.delete(TENANT, true));
  assert.deepEqual(steps.state(), { named: [], shadow: [restore] });
});

test('a switch drops the other shadow collections of the replaced collection', () => {
  const steps = new Steps();
  const live = steps.create();
  const [reindex, restore] = [steps.stage(live.id), steps.stage(live.id, 'restore')];
  const { dropped } = steps.do((store) =>
    store.shadow.switchTo({ id: restore.id, expect: live.id, nowIso: NOW, keptUntilMs: 0 }),
  );
  assert.deepEqual(
    dropped.map(({ id }) => id),
    [reindex.id],
  );
  assert.deepEqual(
    steps.state().shadow.map(({ id, purpose }) => [id, purpose]),
    [[live.id, 'previous']],
  );
});

test('a dropped shadow collection is gone, and its id is not used again', () => {
  const steps = new Steps();
  const naive = steps.stage(null);
  for (let time = 0; time < 2; time++) steps.do((store) => store.shadow.dropShadow(naive.id));
  assert.deepEqual(steps.state().shadow, []);
  assert.equal(steps.create().id, naive.id + 1);
});
