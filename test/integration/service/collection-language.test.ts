// The language of a collection: the server's default where none is named, and where the record is older than languages.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CollectionName } from '../../../src/api/ids.js';
import { MutableCatalog } from '../../../src/service/collections/catalog.js';
import { CatalogStore } from '../../../src/storage/catalog.js';
import { collectionOf } from '../../kit/records.js';
import { startTestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

/** A record from before there were languages and precisions. */
const { language: _language, precision: _precision, ...OLD } = collectionOf('acme', 'old');

test('a record without a language has that of the instance, then and after a change; others keep theirs', () => {
  const store = CatalogStore.open(tempDirectory(), false);
  const old = store.create(OLD);
  store.create({ ...OLD, name: 'new' as CollectionName, language: 'german' });
  const catalog = new MutableCatalog('french');
  catalog.load(store.all(), []);
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
  catalog.put(store.update(old, { display_name: 'Old' }));
  assert.equal(catalog.findById(old.id)?.language, 'french');
});

test('a collection that names none gets that of the instance, through an ingest too', async () => {
  const { call } = await startTestServer({ SHEAF_SEARCH__LANGUAGE: 'dutch' });
  await call('POST', '/v1/collections/acme/made/documents', { text: 'de boeken' });
  assert.equal((await call('GET', '/v1/collections/acme/made/detail')).json.language, 'dutch');
  assert.equal((await call('POST', '/v1/collections/acme/plain', { language: 'none' })).json.language, 'none');
  assert.equal((await call('POST', '/v1/collections/acme/plain')).json.language, 'none');
});
