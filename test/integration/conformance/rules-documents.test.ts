// What the prose of the specification and contract.md say about documents, chunks and batches, a named test for each
// sentence.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UUID_V7 } from '../../kit/conformance/shapes.js';
import { fileForm, refused, startTestServer, type Answer } from '../../kit/server.js';

const { call } = await startTestServer({ SHEAF_LIMITS__MAX_METADATA_BYTES: '4096' });
const base = '/v1/collections/rules';
const documents = `${base}/docs/documents`;
const batch = (items: unknown, collection = 'docs'): Promise<Answer> =>
  call('POST', `${base}/${collection}/documents:batch`, { documents: items });

test('ingest into a missing collection makes it with the defaults of the instance', async () => {
  assert.equal((await call('POST', `${base}/made/documents`, { text: 'the first' })).status, 201);
  assert.deepEqual((await call('GET', `${base}/made/detail`)).json.chunking, {
    strategy: 'fixed',
    size: 1000,
    overlap: 200,
  });
});

test('the version grows by one with each ingest of a docid, and the old chunks go', async () => {
  await call('POST', documents, { docid: 'V', text: 'old words '.repeat(300), metadata: { n: 1 } });
  await call('POST', documents, { docid: 'V', text: 'new' });
  const { json } = await call('GET', `${documents}/V`);
  assert.deepEqual(
    [json.version, json.chunk_ids, json.chunk_count, 'n' in json.metadata],
    [2, ['V::chunk_0'], 1, false],
  );
});

test('metadata has docid, ingested_at and, of files, filename, beside the keys of the caller', async () => {
  await call('POST', documents, fileForm('My File (1).v2.txt', 'from a file', { metadata: '{"shelf":"A"}' }));
  const { json } = await call('GET', `${documents}/MY_FILE_1_V2_TXT`);
  assert.deepEqual(json.metadata, {
    docid: 'MY_FILE_1_V2_TXT',
    filename: 'My File (1).v2.txt',
    ingested_at: json.ingested_at,
    shelf: 'A',
  });
});

test('a docid that is omitted, null or empty is made: a UUIDv7', async () => {
  for (const docid of [undefined, null, ''])
    assert.match((await call('POST', documents, { docid, text: 'nameless' })).json.docid, UUID_V7);
  assert.match((await batch([{ text: 'nameless' }])).json.documents[0].docid, UUID_V7);
});

test('a docid has 1 to 512 bytes and no control characters; any other byte is addressable percent-encoded', async () => {
  for (const docid of ['x'.repeat(513), 'é'.repeat(257), 'a\nb', '\u0000'])
    await refused(call('POST', documents, { docid, text: 'x' }), 400, 'invalid_docid');
  for (const docid of ['é'.repeat(256), '../../etc/passwd', 'a/b%2Fc::d?e#f', ' ']) {
    assert.equal((await call('POST', documents, { docid, text: 'x' })).status, 201, docid);
    assert.equal((await call('GET', `${documents}/${encodeURIComponent(docid)}`)).json.docid, docid);
  }
});

test('chunks come in document order, the tenth behind the ninth', async () => {
  await call('POST', documents, { docid: 'LONG', text: Array.from({ length: 3000 }, (_, i) => `w${i}`).join(' ') });
  const { json } = await call('GET', `${documents}/LONG/chunks`);
  assert.ok(json.count > 11, String(json.count));
  assert.deepEqual(
    json.chunks.map(({ chunk_path }: { chunk_path: string }) => chunk_path),
    Array.from({ length: json.count }, (_, i) => `chunk_${i}`),
  );
  assert.deepEqual(
    (await call('GET', `${documents}/LONG`)).json.chunk_ids,
    json.chunks.map(({ rid }: { rid: string }) => rid),
  );
});

test('a window shares the overlap with the one before; the chunk record has no text, the content nothing else', async () => {
  const text = Array.from({ length: 1500 }, (_, i) => String.fromCodePoint(0x4e00 + (i % 500))).join('');
  await call('POST', documents, { docid: 'WINDOWS', text });
  const contents = await Promise.all([0, 1].map((i) => call('GET', `${base}/docs/chunks/WINDOWS::chunk_${i}/content`)));
  assert.deepEqual(
    contents.map((content) => content.text),
    [text.slice(0, 1000), text.slice(800, 1500)],
  );
  assert.match(contents[0]?.headers.get('content-type') ?? '', /^text\/plain/);
  const { json } = await call('GET', `${base}/docs/chunks/WINDOWS::chunk_1`);
  assert.deepEqual([json.docid, json.meta.offset, 'text' in json], ['WINDOWS', 800, false]);
});

test('under chunking none each text is one chunk, and one over the largest size is chunk_too_large', async () => {
  await call('POST', `${base}/whole`, { chunking: { strategy: 'none' } });
  assert.equal((await call('POST', `${base}/whole/documents`, { text: 'x '.repeat(10_000) })).json.chunks, 1);
  await refused(call('POST', `${base}/whole/documents`, { text: 'x'.repeat(32_769) }), 400, 'chunk_too_large');
});

test('exactly one of text and vector; null counts as absent', async () => {
  assert.equal((await call('POST', documents, { text: 'x', vector: null, docid: null, metadata: null })).status, 201);
  for (const body of [{}, { text: 'x', vector: [1] }, { text: null, vector: null }]) {
    const { status } = await call('POST', documents, body);
    assert.ok(status === 400 || status === 422, String(status));
  }
});

test('a wrong shape or malformed JSON is invalid_document_json; a form without a file missing_document_file', async () => {
  await refused(call('POST', documents, '{"text":'), 400, 'invalid_document_json');
  await refused(call('POST', documents, { text: 7 }), 400, 'invalid_document_json');
  const form = new FormData();
  form.set('docid', 'X');
  await refused(call('POST', documents, form), 400, 'missing_document_file');
});

test('metadata that is no JSON, no object, contradicts the docid or is too large is refused, each with its code', async () => {
  await refused(call('POST', documents, fileForm('a.txt', 'x', { metadata: '{' })), 400, 'invalid_metadata_json');
  await refused(call('POST', documents, fileForm('a.txt', 'x', { metadata: '[1]' })), 400, 'invalid_metadata');
  await refused(
    call('POST', documents, { docid: 'A', text: 'x', metadata: { docid: 'B' } }),
    400,
    'invalid_metadata_keys',
  );
  await refused(
    call('POST', documents, { docid: 'A', text: 'x', metadata: { ingested_at: '2001-01-01T00:00:00Z' } }),
    400,
    'invalid_metadata_keys',
  );
  await refused(
    call('POST', documents, { docid: 'A', text: 'x', metadata: { long: 'x'.repeat(5000) } }),
    413,
    'metadata_too_large',
  );
  assert.equal(
    (await call('POST', documents, { docid: 'A', text: 'x', metadata: { docid: 'A', page: 7, row: 1, filename: 'f' } }))
      .status,
    201,
  );
});

test('a type that nobody knows is unsupported_or_invalid_document', async () => {
  await refused(
    call('POST', documents, fileForm('a.exe', Buffer.from([0x4d, 0x5a, 0, 1, 2, 3, 0xff, 0xfe]))),
    400,
    'unsupported_or_invalid_document',
  );
});

test('an ingest that fails leaves the old version whole', async () => {
  await call('POST', documents, { docid: 'KEPT', text: 'the old words' });
  for (const body of [{ text: '' }, { text: 'x', metadata: { docid: 'OTHER' } }, { vector: [1] }])
    assert.ok((await call('POST', documents, { docid: 'KEPT', ...body })).status >= 400);
  assert.deepEqual(
    [
      (await call('GET', `${documents}/KEPT`)).json.version,
      (await call('GET', `${base}/docs/chunks/KEPT::chunk_0/content`)).text,
    ],
    [1, 'the old words'],
  );
});

test('deleting a document removes its chunks; deleting what is not there is 200 with 0', async () => {
  await call('POST', documents, { docid: 'GONE', text: 'x'.repeat(1900) });
  assert.equal((await call('DELETE', `${documents}/GONE`)).json.chunks_deleted, 3);
  await refused(call('GET', `${base}/docs/chunks/GONE::chunk_0`), 404, 'chunk_not_found');
  assert.deepEqual((await call('DELETE', `${documents}/GONE`)).json.chunks_deleted, 0);
});

test('of a missing collection listings are empty and the rest is 404', async () => {
  for (const path of ['documents', 'documents/X/chunks', 'queries'])
    assert.deepEqual(
      [(await call('GET', `${base}/none/${path}`)).status, (await call('GET', `${base}/none/${path}`)).json.count],
      [200, 0],
      path,
    );
  await refused(call('GET', `${base}/none/documents/X`), 404, 'document_not_found');
  await refused(call('GET', `${base}/none/chunks/X::chunk_0`), 404, 'chunk_not_found');
  assert.equal((await call('DELETE', `${base}/none/documents/X`)).json.chunks_deleted, 0);
  await refused(call('GET', `${base}/none/detail`), 404, 'collection_not_found');
});

test('vectors: an identity collection takes its dimension and no text; a vector chunk has no content', async () => {
  await call('POST', `${base}/vectors`, { embedder_type: 'identity', embedder_config: { dim: 3 } });
  const { json } = await call('POST', `${base}/vectors/documents`, { docid: 'V', vector: [1, 0, 0] });
  assert.deepEqual([json.chunks, (await call('GET', `${base}/vectors/documents/V`)).json.chunk_ids], [1, ['V::0']]);
  await refused(call('GET', `${base}/vectors/chunks/V::0/content`), 404, 'chunk_content_not_found');
  await refused(call('POST', `${base}/vectors/documents`, { text: 'words' }), 400, 'vectors_only');
  await refused(call('POST', `${base}/vectors/documents`, { vector: [1, 0] }), 400, 'dim_mismatch');
});

test('a batch is 201 although items fail; results stand in order, counted, each with its code', async () => {
  const { status, json } = await batch([
    { docid: 'B0', text: 'fine' },
    { docid: 'B1', text: ' ' },
    { text: 'x', vector: [1] },
    { docid: 'B3', vector: [1, 2] },
    { docid: 'a\nb', text: 'x' },
    { docid: 'B5', text: 'fine' },
  ]);
  assert.deepEqual([status, json.count, json.succeeded, json.failed], [201, 6, 2, 4], JSON.stringify(json));
  assert.deepEqual(
    json.documents.map(({ index, ok }: { index: number; ok: boolean }) => [index, ok]),
    [
      [0, true],
      [1, false],
      [2, false],
      [3, false],
      [4, false],
      [5, true],
    ],
  );
  assert.deepEqual(
    json.documents.map(({ code }: { code?: string }) => code),
    [undefined, 'no_text_extracted', 'invalid_item', 'dim_mismatch', 'invalid_docid', undefined],
  );
  assert.ok(
    json.documents.every(({ ok, chunks, error }: Record<string, unknown>) =>
      ok ? chunks === 1 && error === undefined : chunks === undefined && typeof error === 'string',
    ),
  );
});

test('a docid twice in one batch is applied in order', async () => {
  await batch([
    { docid: 'TWICE', text: 'the first' },
    { docid: 'TWICE', text: 'the second' },
  ]);
  assert.deepEqual(
    [
      (await call('GET', `${documents}/TWICE`)).json.version,
      (await call('GET', `${base}/docs/chunks/TWICE::chunk_0/content`)).text,
    ],
    [2, 'the second'],
  );
});

test('a batch has at least one item, and no more than the limit', async () => {
  assert.equal((await batch([])).status, 422);
  assert.equal((await call('POST', `${documents}:batch`, {})).status, 422);
  await refused(batch(Array.from({ length: 10_001 }, () => 0)), 413, 'request_too_large');
});
