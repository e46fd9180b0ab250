// Restores one collection out of an archive of everything: by HTTP and by the command line, under its own name and
// another, in place of a collection and as a new one, also where the rest of the archive is damaged.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { contentsOf, download, manifestOf, rewritten, upload } from '../../kit/archives.js';
import { runInProcess } from '../../kit/cli.js';
import { fileForm, startTestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

const auth = {
  SHEAF_AUTH__MODE: 'static',
  SHEAF_AUTH__ADMIN_KEY: 'root',
  SHEAF_AUTH__KEYS: JSON.stringify([{ name: 'app', tenant: 'acme', key: 'acme-key' }]),
};
const server = await startTestServer(auth);
const ROOT = { 'x-api-key': 'root' };
const OWN = { 'x-api-key': 'acme-key' };
const asRoot = {
  ...server,
  call: (method: string, path: string, body?: unknown) => server.call(method, path, body, ROOT),
};

for (const [tenant, name, count] of [
  ['acme', 'docs', 5],
  ['acme', 'notes', 3],
  ['globex', 'docs', 4],
] as const) {
  for (let n = 0; n < count; n++)
    await asRoot.call('POST', `/v1/collections/${tenant}/${name}/documents`, {
      docid: `${name}-${n}`,
      text: `Captain Nemo of ${tenant}/${name}, number ${n}.`,
      metadata: { n },
    });
  await asRoot.call('POST', `/v1/collections/${tenant}/${name}/search`, { q: `nemo of ${tenant}` });
}
const { bytes: everything } = await download(server, '/v1/admin/archive', ROOT);

/** The contents of a collection without its logged searches: those whose ids are taken get new ones. */
async function savedOf(name: string, tenant = 'acme'): Promise<Record<string, unknown>> {
  const { queries: _queries, ...saved } = (await contentsOf(asRoot, tenant, name)) as Record<string, unknown>;
  return saved;
}

const [acmeDocs, globexDocs] = [await savedOf('docs'), await savedOf('docs', 'globex')];
const folder = tempDirectory();
const file = join(folder, 'everything.zip');
writeFileSync(file, everything);

const counts = (documents: number) => ({ documents, chunks: documents, queries: 1 });

test('a collection takes its own place again, and nothing else changes', async () => {
  await asRoot.call('DELETE', '/v1/collections/acme/docs/documents/docs-0');
  await asRoot.call('POST', '/v1/collections/acme/notes/documents', { docid: 'later', text: 'After the backup.' });
  const path = '/v1/collections/acme/docs/archive';
  const dry = await upload(server, 'PUT', `${path}?dry_run=true`, everything, OWN);
  assert.deepEqual([dry.status, dry.json.dry_run, dry.json.counts], [200, true, counts(5)]);
  assert.equal((await upload(server, 'POST', path, everything, OWN)).json.code, 'collection_exists');
  const { status, json } = await upload(server, 'PUT', path, everything, OWN);
  assert.deepEqual([status, json.tenant, json.collection, json.counts], [200, 'acme', 'docs', counts(5)]);
  assert.deepEqual(await savedOf('docs'), acmeDocs);
  assert.equal((await asRoot.call('GET', '/v1/collections/acme/notes/detail')).json.doc_count, 4);
});

test('a collection is restored under another name, from another tenant by the admin', async () => {
  const other = await upload(server, 'POST', '/v1/collections/acme/of-monday/archive?from=docs', everything, OWN);
  assert.deepEqual([other.status, other.json.counts], [200, counts(5)]);
  assert.deepEqual(await savedOf('of-monday'), acmeDocs);
  const path = '/v1/admin/collections/acme/of-globex/archive?from=globex/docs';
  assert.equal((await upload(server, 'POST', path, everything, ROOT)).status, 200);
  assert.deepEqual(await savedOf('of-globex'), globexDocs);
  assert.equal((await upload(server, 'PUT', path, everything, ROOT)).status, 200);
});

test('a missing collection and an invalid name each have an error', async () => {
  const path = '/v1/collections/acme/new/archive';
  for (const query of ['', '?from=nobody', '?from=initech/docs']) {
    const { status, json } = await upload(server, 'POST', path + query, everything, OWN);
    assert.deepEqual([status, json.code, json.details.reason], [400, 'collection_archive_invalid', 'not_in_archive']);
    assert.match(String(json.error), /It has: acme\/docs, acme\/notes, globex\/docs\. /);
  }
  for (const from of ['a/b/c', '/docs', 'docs/', '../docs', '%00', 'a%20b'])
    assert.deepEqual((await upload(server, 'POST', `${path}?from=${from}`, everything, OWN)).json.detail?.[0].loc, [
      'query',
      'from',
    ]);
  const { bytes: single } = await download(server, '/v1/collections/acme/notes/archive', OWN);
  const named = await upload(server, 'POST', `${path}?from=docs`, single, OWN);
  assert.deepEqual([named.status, named.json.details.reason], [400, 'not_in_archive']);
  assert.equal((await upload(server, 'POST', `${path}?from=notes&dry_run=true`, single, OWN)).status, 200);
  assert.equal((await asRoot.call('GET', '/v1/collections/acme/new/detail')).status, 404);
});

test('damage elsewhere in the archive does not matter, damage of the collection does', async () => {
  const { collections } = (await manifestOf(everything)) as {
    collections: { tenant: string; name: string; folder: string }[];
  };
  const folderOf = (tenant: string, name: string): string =>
    collections.find((each) => each.tenant === tenant && each.name === name)?.folder ?? '';
  const damaged = await rewritten(everything, (zip) => {
    zip.file(`${folderOf('acme', 'notes')}documents/00000.msgpack`, 'damaged');
    zip.remove('tenants.json');
  });
  const restore = (name: string, bytes: Uint8Array) =>
    upload(server, 'POST', `/v1/admin/collections/acme/saved-${name}/archive?from=${name}`, bytes, ROOT);
  assert.deepEqual((await restore('docs', damaged)).json.counts, counts(5));
  assert.equal((await restore('notes', damaged)).json.details.reason, 'size_mismatch');
  const forged = await rewritten(everything, (zip) => {
    const [from, to] = [folderOf('globex', 'docs'), folderOf('acme', 'notes')];
    return zip
      .file(`${from}manifest.json`)!
      .async('string')
      .then((text) => void zip.file(`${to}manifest.json`, text));
  });
  assert.match((await restore('notes', forged)).json.details.reason as string, /^(size|digest)_mismatch$/);
  assert.equal((await asRoot.call('GET', '/v1/collections/acme/saved-notes/detail')).status, 404);
});

test('the command line restores one collection, and names a remedy where the archive does not have it', async () => {
  const sheaf = (...args: string[]) => runInProcess([...args, '--url', server.url, '--key', 'root']);
  const dry = await sheaf('restore', file, '-t', 'acme', '-c', 'docs', '--replace', '--dry-run');
  assert.match(dry.stdout, /^acme\/docs can be restored from .*: 5 documents, 5 chunks, 1 logged search/, dry.stderr);
  const other = await sheaf('restore', file, '-t', 'globex', '-c', 'copy', '--from', 'acme/notes');
  assert.deepEqual([other.code, other.stderr], [0, '']);
  assert.equal((await asRoot.call('GET', '/v1/collections/globex/copy/detail')).json.doc_count, 3);
  const missing = await sheaf('restore', file, '-t', 'acme', '-c', 'nobody');
  assert.deepEqual(
    [missing.code, /has no collection acme\/nobody\. It has: acme\/docs/.test(missing.stderr)],
    [1, true],
  );
  const whole = await sheaf('restore', file, '--from', 'acme/docs', '--dry-run');
  assert.deepEqual([whole.code, /--collection/.test(whole.stderr)], [2, true]);
});

test('a multipart form restores one collection, within the limits of a tenant', async () => {
  const small = await startTestServer({ ...auth, SHEAF_LIMITS__MAX_ARCHIVE_BYTES: '2048' });
  const refused = await small.call('POST', '/v1/collections/acme/docs/archive', fileForm('all.zip', everything), OWN);
  assert.deepEqual([refused.status, refused.json.code], [413, 'archive_too_large']);
  assert.deepEqual([server.faults, small.faults], [[], []]);
});
