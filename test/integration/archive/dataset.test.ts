// Archives of everything: all tenants, their collections and keys as of one moment; a restore replaces all that is
// there, and damaged collections are left out and named.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contentsOf, download, manifestOf, upload, withManifest } from '../../kit/archives.js';
import { startTestServer, type TestServer } from '../../kit/server.js';

const ADMIN = { authorization: 'Bearer admin-key-of-the-tests' };
const STATIC = { SHEAF_AUTH__MODE: 'static', SHEAF_AUTH__ADMIN_KEY: 'admin-key-of-the-tests' };

const server = await startTestServer(STATIC);
const asAdmin = ({ url, call }: TestServer): Pick<TestServer, 'url' | 'call'> => ({
  url,
  call: (method, path, body, headers) => call(method, path, body, { ...ADMIN, ...headers }),
});
const admin = asAdmin(server);

const { json: acme } = await admin.call('POST', '/v1/admin/tenants', { tenant: 'acme', max_collections: 7 });
for (const [tenant, name, count] of [
  ['acme', 'docs', 8],
  ['acme', 'other', 3],
  ['globex', 'docs', 5],
] as const) {
  for (let n = 0; n < count; n++)
    await admin.call('POST', `/v1/collections/${tenant}/${name}/documents`, {
      docid: `D${n}`,
      text: `${tenant} ${name} knows of number ${n}.`,
    });
  await admin.call('POST', `/v1/collections/${tenant}/${name}/search`, { q: 'number' });
}
for (const [tenant, alias, collection] of [
  ['acme', 'live', 'docs'],
  ['acme', 'next', 'other'],
  ['globex', 'live', 'docs'],
] as const)
  assert.equal((await admin.call('PUT', `/v1/aliases/${tenant}/${alias}`, { collection })).status, 200);

/** The aliases of both tenants, as `alias/collection`. */
const aliasesOf = async ({ call }: Pick<TestServer, 'call'>): Promise<string[]> =>
  (await Promise.all(['acme', 'globex'].map((tenant) => call('GET', `/v1/aliases/${tenant}`)))).flatMap(({ json }) =>
    json.aliases.map(({ alias, collection }: Record<string, string>) => `${alias}/${collection}`),
  );
const ALIASES = ['live/docs', 'next/other', 'live/docs'];

const { bytes: archive, status, headers } = await download(server, '/v1/admin/archive', ADMIN);
const COLLECTIONS = [
  ['acme', 'docs'],
  ['acme', 'other'],
  ['globex', 'docs'],
] as const;
const before = await Promise.all(COLLECTIONS.map(([tenant, name]) => contentsOf(admin, tenant, name)));

test('an archive of everything has every collection, and says that nothing is missing', async () => {
  assert.deepEqual(
    [status, headers.get('content-type'), headers.get('x-service-skipped-collections')],
    [200, 'application/zip', null],
  );
  const manifest = await manifestOf(archive);
  assert.deepEqual(
    [
      manifest.format,
      manifest.left_out,
      manifest.collections.map(({ tenant, name }: Record<string, string>) => `${tenant}/${name}`).sort(),
    ],
    ['sheaf-dataset', [], ['acme/docs', 'acme/other', 'globex/docs']],
  );
});

test('only the admin may download or restore everything, and the key is checked before the body is read', async () => {
  const key = { authorization: `Bearer ${acme.key}` };
  assert.equal((await download(server, '/v1/admin/archive', key)).status, 403);
  assert.equal((await upload(server, 'PUT', '/v1/admin/archive', archive, key)).status, 403);
  assert.equal((await upload(server, 'PUT', '/v1/admin/archive', archive)).status, 401);
});

test('a restore on another server gives the same dataset, including keys and searches', async () => {
  const other = await startTestServer({ ...STATIC, SHEAF_STORAGE__PARTITIONS: '2' });
  const otherAdmin = asAdmin(other);
  await otherAdmin.call('POST', '/v1/collections/initech/gone/documents', { text: 'What was there before.' });
  const dry = await upload(other, 'PUT', '/v1/admin/archive?dry_run=true', archive, ADMIN);
  assert.deepEqual(
    [dry.status, dry.json.dry_run, dry.json.counts],
    [200, true, { collections: 3, documents: 16, chunks: 16, queries: 3 }],
    dry.text,
  );
  assert.equal((await otherAdmin.call('GET', '/v1/collections/initech/gone/detail')).status, 200);
  const restored = await upload(other, 'PUT', '/v1/admin/archive', archive, ADMIN);
  assert.deepEqual([restored.status, restored.json.ok, restored.json.left_out], [200, true, []], restored.text);
  assert.equal((await otherAdmin.call('GET', '/v1/collections/initech/gone/detail')).status, 404);
  assert.deepEqual(
    await Promise.all(COLLECTIONS.map(([tenant, name]) => contentsOf(otherAdmin, tenant, name))),
    before,
  );
  const own = await other.call(
    'POST',
    '/v1/collections/acme/docs/search',
    { q: 'number 3' },
    { authorization: `Bearer ${acme.key}` },
  );
  assert.deepEqual([own.status, own.json.matches.length], [200, 5], own.text);
  assert.equal((await otherAdmin.call('GET', '/v1/admin/tenants/acme')).json.max_collections, 7);
  await other.stop();
  const again = await startTestServer({ ...STATIC, SHEAF_DATA_DIR: other.dataDir });
  assert.deepEqual(
    await Promise.all(COLLECTIONS.map(([tenant, name]) => contentsOf(asAdmin(again), tenant, name))).then((all) =>
      (all as { documents: unknown }[]).map(({ documents }) => documents),
    ),
    (before as { documents: unknown }[]).map(({ documents }) => documents),
  );
  assert.deepEqual([other.faults, again.faults], [[], []]);
});

test('a restore on the same server undoes what was written since', async () => {
  await admin.call('POST', '/v1/collections/acme/docs/documents', { docid: 'LATER', text: 'written later' });
  await admin.call('DELETE', '/v1/collections/globex/docs');
  const { status: restored, text } = await upload(server, 'PUT', '/v1/admin/archive', archive, ADMIN);
  assert.equal(restored, 200, text);
  assert.deepEqual(await Promise.all(COLLECTIONS.map(([tenant, name]) => contentsOf(admin, tenant, name))), before);
});

test('a restore brings the aliases of the archive, and keeps those of the server if it has none', async () => {
  await admin.call('PUT', '/v1/aliases/acme/live', { collection: 'other' });
  await admin.call('PUT', '/v1/aliases/globex/later', { collection: 'docs' });
  await admin.call('DELETE', '/v1/aliases/acme/next');
  const changed = ['live/other', 'later/docs', 'live/docs'];
  assert.deepEqual(await aliasesOf(admin), changed);
  const older = await withManifest(archive, (manifest) => delete manifest.aliases);
  assert.equal((await upload(server, 'PUT', '/v1/admin/archive', older, ADMIN)).status, 200);
  assert.deepEqual(await aliasesOf(admin), changed);
  assert.equal((await upload(server, 'PUT', '/v1/admin/archive?dry_run=true', archive, ADMIN)).status, 200);
  assert.deepEqual(await aliasesOf(admin), changed);
  assert.equal((await upload(server, 'PUT', '/v1/admin/archive', archive, ADMIN)).status, 200);
  assert.deepEqual(await aliasesOf(admin), ALIASES);
  const found = await admin.call('POST', '/v1/collections/acme/next/search', { q: 'number' });
  assert.deepEqual([found.status, found.json.matches[0].collection], [200, 'other']);
  const other = await startTestServer(STATIC);
  assert.equal((await upload(other, 'PUT', '/v1/admin/archive', archive, ADMIN)).status, 200);
  assert.deepEqual(await aliasesOf(asAdmin(other)), ALIASES);
  await other.stop();
  const again = await startTestServer({ ...STATIC, SHEAF_DATA_DIR: other.dataDir });
  assert.deepEqual(await aliasesOf(asAdmin(again)), ALIASES);
  assert.deepEqual([other.faults, again.faults], [[], []]);
});

test('aliases that can be none are refused or left out, and what is there stays', async () => {
  const record = { tenant: 'acme', alias: 'live', collection: 'docs' };
  for (const wrong of [
    { ...record, alias: '../x' },
    { ...record, tenant: '' },
    { ...record, collection: 'a b' },
    { tenant: 'acme', alias: 'live' },
    { ...record, alias: 7 },
  ]) {
    const hostile = await withManifest(archive, (manifest) => (manifest.aliases = [wrong]));
    const { status: answered, json } = await upload(server, 'PUT', '/v1/admin/archive', hostile, ADMIN);
    assert.deepEqual([answered, json.code], [400, 'archive_invalid'], JSON.stringify(wrong));
  }
  const many = await withManifest(archive, (manifest) => {
    manifest.aliases = Array.from({ length: 1001 }, (_, i) => ({ ...record, alias: `a${i}` }));
  });
  assert.equal((await upload(server, 'PUT', '/v1/admin/archive', many, ADMIN)).status, 400);
  assert.deepEqual(await aliasesOf(admin), ALIASES);
  const useless = await withManifest(archive, (manifest) => {
    manifest.aliases = [record, { ...record, alias: 'docs' }, { ...record, alias: 'a', collection: 'live' }];
  });
  assert.equal((await upload(server, 'PUT', '/v1/admin/archive', useless, ADMIN)).status, 200);
  assert.deepEqual(await aliasesOf(admin), ['live/docs']);
});

test('an archive that is no dataset is refused, and changes nothing', async () => {
  const { bytes } = await download(server, '/v1/admin/collections/acme/docs/archive', ADMIN);
  const refused = await upload(server, 'PUT', '/v1/admin/archive', bytes, ADMIN);
  assert.deepEqual(
    [refused.status, refused.json.code, refused.json.details.reason],
    [400, 'archive_invalid', 'wrong_kind'],
  );
  const cut = await upload(server, 'PUT', '/v1/admin/archive', archive.slice(0, archive.length - 100), ADMIN);
  assert.deepEqual([cut.status, cut.json.code, cut.json.details.reason], [400, 'archive_invalid', 'not_a_zip']);
  assert.deepEqual(await Promise.all(COLLECTIONS.map(([tenant, name]) => contentsOf(admin, tenant, name))), before);
});

test('no internal error was logged', () => assert.deepEqual(server.faults, []));
