// The language of a collection: the instance's where none is named, and of records from the time before there were
// languages.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CollectionName, Tenant } from '../../../src/api/ids.js';
import { type StoredCollection, refOf } from '../../../src/storage/catalog-commands.js';
import { Catalog } from '../../../src/service/collections/catalog.js';
import { CatalogStore } from '../../../src/storage/catalog.js';
import { startTestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

const OLD: Omit<StoredCollection, 'id'> = {
  tenant: 'acme' as Tenant,
  name: 'old' as CollectionName,
  display_name: 'old',
  created_at: '',
  chunking: { strategy: 'none' },
  priority_key: 'p',
  search_mode: 'vector',
  service_version: '',
  schema_version: 1,
  generation: 1,
  embedder_type: 'identity',
  embed_model: '',
  embedder_config: {},
  vector_space_key: '',
  dim: 1,
};

test('a record without a language has that of the instance, then and after a change; others keep theirs', () => {
  const store = CatalogStore.open(tempDirectory(), false);
  const old = store.create(OLD);
  store.create({ ...OLD, name: 'new' as CollectionName, language: 'german' });
  const catalog = new Catalog('french');
  catalog.load(store.all());
  assert.deepEqual(
    catalog
      .refs()
      .map(({ id, language }) => [id, language])
      .sort(),
    [
      [1, 'french'],
      [2, 'german'],
    ],
  );
  assert.equal(refOf(catalog.put(store.update(old, { display_name: 'Old' }))).language, 'french');
});

test('a collection that names none gets that of the instance, through an ingest too', async () => {
  const { call } = await startTestServer({ SHEAF_SEARCH__LANGUAGE: 'dutch' });
  await call('POST', '/v1/collections/acme/made/documents', { text: 'de boeken' });
  assert.equal((await call('GET', '/v1/collections/acme/made/detail')).json.language, 'dutch');
  assert.equal((await call('POST', '/v1/collections/acme/plain', { language: 'none' })).json.language, 'none');
  assert.equal((await call('POST', '/v1/collections/acme/plain')).json.language, 'none');
});
