// Malicious or damaged zip files, each kind by name. Every one is rejected with its reason, and changes nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import JSZip from 'jszip';
import { download, rewritten, upload, withManifest, withRecords } from '../../kit/archives.js';
import { startTestServer } from '../../kit/server.js';

const server = await startTestServer();
const { call } = server;
const PATH = '/v1/collections/acme/docs';
const TARGET = '/v1/collections/acme/target/archive';
const DOCUMENTS = 'documents/00000.msgpack';

for (let n = 0; n < 5; n++)
  await call('POST', `${PATH}/documents`, { docid: `D${n}`, text: `Captain Nemo, number ${n}.` });
await call('POST', `${PATH}/search`, { q: 'captain' });
const { bytes: good } = await download(server, `${PATH}/archive`);

async function refused(archive: Uint8Array, reason: string): Promise<void> {
  const answers = [TARGET, `${TARGET}?dry_run=1`].map((target) => upload(server, 'POST', target, archive));
  for (const { status, json } of await Promise.all(answers)) {
    assert.deepEqual(
      [status, json.code, json.details?.reason],
      [400, 'collection_archive_invalid', reason],
      JSON.stringify(json),
    );
  }
  assert.equal((await call('GET', '/v1/collections/acme/target/detail')).status, 404);
}

const changed = (change: (manifest: Record<string, any>) => unknown): Promise<Uint8Array> => withManifest(good, change);
const withDocuments = (change: (documents: Record<string, any>[]) => unknown[]): Promise<Uint8Array> =>
  withRecords(good, DOCUMENTS, change);

/** The bytes with one name replaced everywhere by another of the same length. */
function renamed(archive: Uint8Array, from: string, to: string): Uint8Array {
  assert.equal(from.length, to.length);
  return new Uint8Array(Buffer.from(Buffer.from(archive).toString('latin1').replaceAll(from, to), 'latin1'));
}

test('an archive that another library has packed again is accepted', async () => {
  const { status, text: answer } = await upload(
    server,
    'POST',
    '/v1/collections/acme/again/archive',
    await rewritten(good, () => undefined),
  );
  assert.equal(status, 200, answer);
  const deflated = await (await JSZip.loadAsync(good)).generateAsync({ type: 'uint8array', compression: 'DEFLATE' });
  assert.equal((await upload(server, 'POST', '/v1/collections/acme/deflated/archive', deflated)).status, 200);
});

test('no zip at all', () => refused(Buffer.from('PK but no zip, really'), 'not_a_zip'));
test('an empty file', async () => assert.equal((await upload(server, 'POST', TARGET, new Uint8Array())).status, 400));
test('cut off at every place of its directory', async () => {
  const cut = [0.2, 0.5, 0.9, 0.99].map((share) => good.slice(0, Math.floor(good.length * share)));
  await Promise.all(cut.map((archive) => refused(archive, 'not_a_zip')));
});
test('an absolute path', async () => refused(renamed(good, DOCUMENTS, '/ocuments/00000.msgpack'), 'unsafe_path'));
test('a path that climbs', async () => refused(renamed(good, DOCUMENTS, '../uments/00000.msgpack'), 'unsafe_path'));
test('a path that climbs inside', async () =>
  refused(renamed(good, DOCUMENTS, 'docume/../00000.msgpack'), 'unsafe_path'));
test('a path of Windows', async () => refused(renamed(good, DOCUMENTS, 'c:\\uments\\00000.msgpack'), 'unsafe_path'));
test('an entry that is in no manifest', async () =>
  refused(await rewritten(good, (zip) => void zip.file('extra.bin', 'x')), 'unexpected_entry'));
test('an entry that is missing', async () =>
  refused(await rewritten(good, (zip) => void zip.remove(DOCUMENTS)), 'missing_entry'));
test('no manifest', async () =>
  refused(await rewritten(good, (zip) => void zip.remove('manifest.json')), 'missing_entry'));
test('a symbolic link', async () => {
  const zip = await JSZip.loadAsync(good);
  zip.file('link', '/etc/passwd', { unixPermissions: 0o120777 });
  await refused(await zip.generateAsync({ type: 'uint8array', platform: 'UNIX' }), 'symlink');
});
test('two entries of one name', async () => {
  const twice = await rewritten(
    good,
    async (zip) =>
      void zip.file('documents/00001.msgpack', await (zip.file(DOCUMENTS) as JSZip.JSZipObject).async('uint8array')),
  );
  await refused(renamed(twice, 'documents/00001.msgpack', DOCUMENTS), 'duplicate_entry');
});
test('a bomb: a small entry that unpacks to much', async () => {
  const zip = await JSZip.loadAsync(good);
  zip.file(DOCUMENTS, new Uint8Array(64 * 1024 * 1024));
  await refused(await zip.generateAsync({ type: 'uint8array', compression: 'DEFLATE' }), 'compression_ratio');
});
test('entries that share their bytes', async () => {
  const bytes = Buffer.from(good);
  // The zip's directory claims that the first entry is as long as the file.
  const at = bytes.indexOf(Buffer.from([0x50, 0x4b, 0x01, 0x02]));
  bytes.writeUInt32LE(bytes.length, at + 20);
  bytes.writeUInt32LE(bytes.length, at + 24);
  await refused(bytes, 'overlapping_entries');
});
test('a flipped bit in a segment', async () => {
  const zip = await JSZip.loadAsync(good);
  const segment = await (zip.file(DOCUMENTS) as JSZip.JSZipObject).async('nodebuffer');
  segment[segment.length >> 1] = (segment[segment.length >> 1] as number) ^ 4;
  zip.file(DOCUMENTS, segment);
  await refused(await zip.generateAsync({ type: 'uint8array' }), 'digest_mismatch');
});
test('a flipped bit in the zip itself', async () => {
  const bytes = good.slice();
  bytes[200] = (bytes[200] as number) ^ 1;
  await refused(bytes, 'digest_mismatch');
});
test('another service version', async () =>
  refused(await changed((manifest) => (manifest.service_version = '0.9.6')), 'service_version'));
test('another schema version', async () =>
  refused(await changed((manifest) => (manifest.schema_version = 2)), 'schema_version'));
test('another format', async () =>
  refused(await changed((manifest) => (manifest.format_version = 2)), 'format_unknown'));
test('a manifest of something else', async () =>
  refused(await changed((manifest) => (manifest.format = 'other')), 'manifest_invalid'));
test('a manifest without its settings', async () =>
  refused(await changed((manifest) => delete manifest.collection.dim), 'manifest_invalid'));
test('a manifest that is no JSON', async () =>
  refused(await rewritten(good, (zip) => void zip.file('manifest.json', '{')), 'manifest_invalid'));
test('counts that are not those of the documents', async () => {
  await refused(await changed((manifest) => manifest.counts.documents++), 'count_mismatch');
  await refused(await changed((manifest) => (manifest.counts.queries = 9)), 'count_mismatch');
});
test('a size that is not that of the entry', async () =>
  refused(await changed((manifest) => manifest.entries[0].bytes++), 'size_mismatch'));
test('settings that cannot be', async () => {
  await refused(
    await changed((manifest) => (manifest.collection.chunking = { strategy: 'fixed', size: 1, overlap: 0 })),
    'settings_invalid',
  );
  await refused(await changed((manifest) => (manifest.collection.created_at = 'yesterday')), 'settings_invalid');
});
test('a space that no embedder here has', async () =>
  refused(await changed((manifest) => (manifest.collection.vector_space_key = 'unknown:space')), 'embedder_unknown'));
test('a document twice', async () =>
  refused(await withDocuments((documents) => [...documents.slice(0, 4), documents[0]]), 'duplicate_document'));
test('vectors of another length', async () =>
  refused(
    await withDocuments(([first, ...rest]) => [{ ...first, vectors: first?.vectors.subarray(4) }, ...rest]),
    'document_invalid',
  ));
test('a vector that is not finite', async () => {
  await refused(
    await withDocuments(([first, ...rest]) => [
      { ...first, vectors: Buffer.alloc(first?.vectors.length, 0xff) },
      ...rest,
    ]),
    'document_invalid',
  );
});
test('an id with control characters', async () =>
  refused(await withDocuments(([first, ...rest]) => [{ ...first, docid: 'a\u0000b' }, ...rest]), 'document_invalid'));
test('metadata that is no object', async () =>
  refused(await withDocuments(([first, ...rest]) => [{ ...first, metadata: '[1]' }, ...rest]), 'document_invalid'));
test('a document without chunks', async () =>
  refused(await withDocuments(([first, ...rest]) => [{ ...first, chunks: [] }, ...rest]), 'document_invalid'));
test('an archive of everything that has no such collection', async () =>
  refused((await download(server, '/v1/admin/archive')).bytes, 'not_in_archive'));

test('a body that breaks off leaves nothing', async () => {
  const head = `--b\r\nContent-Disposition: form-data; name="file"; filename="a.zip"\r\n\r\n`;
  const { status, json } = await call('POST', TARGET, `${head}${Buffer.from(good).toString('latin1').slice(0, 500)}`, {
    'content-type': 'multipart/form-data; boundary=b',
  });
  assert.deepEqual([status, json.code], [400, 'invalid_multipart']);
});

test('an archive over the limit of a tenant', async () => {
  const small = await startTestServer({ SHEAF_LIMITS__MAX_ARCHIVE_BYTES: '2048' });
  const { status, json } = await upload(small, 'POST', TARGET, Buffer.concat([good, Buffer.alloc(2_000_000)]));
  assert.deepEqual([status, json.code, json.details], [413, 'archive_too_large', { limit_bytes: 2048 }]);
  assert.equal((await upload(small, 'POST', '/v1/admin/collections/acme/docs/archive', good)).status, 200);
});

test('no internal error was logged, and no temporary file is left', async () => {
  assert.deepEqual(server.faults, []);
});
