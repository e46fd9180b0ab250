// Documents and chunks over a real socket: ingest in every form, replace, listings, details, content, delete, bad
// input.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileForm, refused, startTestServer } from '../../kit/server.js';

const server = await startTestServer();
const { call } = server;
const base = '/v1/collections/acme/docs';
const documents = `${base}/documents`;

test('raw text: stored, chunked, listed, read back', async () => {
  const text = 'α'.repeat(900) + 'β'.repeat(900);
  const { status, json } = await call('POST', documents, {
    docid: 'GREEK',
    text,
    metadata: { lang: 'el', nested: { a: [1, null] } },
  });
  assert.equal(status, 201);
  assert.deepEqual(
    [json.ok, json.tenant, json.collection, json.docid, json.chunks],
    [true, 'acme', 'docs', 'GREEK', 2],
  );

  const { json: detail } = await call('GET', `${documents}/GREEK`);
  assert.deepEqual([detail.tenant, detail.collection, detail.version, detail.chunk_count], ['acme', 'docs', 1, 2]);
  assert.deepEqual(detail.chunk_ids, ['GREEK::chunk_0', 'GREEK::chunk_1']);
  assert.deepEqual(detail.metadata, {
    docid: 'GREEK',
    ingested_at: detail.ingested_at,
    lang: 'el',
    nested: { a: [1, null] },
  });

  const { json: listed } = await call('GET', `${documents}/GREEK/chunks`);
  assert.deepEqual([listed.count, listed.docid], [2, 'GREEK']);
  assert.deepEqual(
    listed.chunks.map(({ chunk_path, meta }: any) => [chunk_path, meta.offset]),
    [
      ['chunk_0', 0],
      ['chunk_1', 800],
    ],
  );
  assert.ok(listed.chunks.every((chunk: object) => !('text' in chunk)));

  const { json: chunk } = await call('GET', `${base}/chunks/${encodeURIComponent('GREEK::chunk_1')}`);
  assert.deepEqual(
    [chunk.rid, chunk.docid, chunk.chunk_path, chunk.tenant, chunk.collection, chunk.meta.lang],
    ['GREEK::chunk_1', 'GREEK', 'chunk_1', 'acme', 'docs', 'el'],
  );

  const content = await call('GET', `${base}/chunks/GREEK::chunk_1/content`);
  assert.equal(content.text, text.slice(800, 1800));
  assert.match(content.headers.get('content-type') ?? '', /^text\/plain; charset=utf-8$/);
});

test('metadata comes back exactly', async () => {
  const metadata = {
    quote: "O'Brien -- x; y",
    'key with "quotes"': '\u2028 \u0000 😀',
    filename: 'mine.txt',
    page: 7,
    empty: {},
    list: [],
  };
  await call('POST', documents, { docid: 'META', text: 'metadata', metadata });
  const { json } = await call('GET', `${documents}/META`);
  const { docid: _docid, ingested_at: _at, ...own } = json.metadata;
  assert.deepEqual(own, metadata);
});

test('a text file by multipart: docid from its name, filename and form metadata kept', async () => {
  const { status, json } = await call(
    'POST',
    documents,
    fileForm('My File (1).v2.txt', 'Captain Nemo', { metadata: '{"shelf":"A"}' }),
  );
  assert.equal(status, 201, JSON.stringify(json));
  assert.equal(json.docid, 'MY_FILE_1_V2_TXT');
  const { json: detail } = await call('GET', `${documents}/MY_FILE_1_V2_TXT`);
  assert.deepEqual([detail.metadata.filename, detail.metadata.shelf], ['My File (1).v2.txt', 'A']);
});

test('files in UTF-8 with BOM, UTF-16 and windows-1252 are read without loss', async () => {
  const files: [string, Uint8Array][] = [
    ['utf8', Buffer.from('\ufeffnaïve café')],
    ['utf16', Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('naïve café', 'utf16le')])],
    ['cp1252', Buffer.from('naïve café', 'latin1')],
  ];
  for (const [docid, bytes] of files) {
    assert.equal((await call('POST', documents, fileForm(`${docid}.txt`, bytes, { docid }))).status, 201);
    assert.equal((await call('GET', `${base}/chunks/${docid}::chunk_0/content`)).text, 'naïve café', docid);
  }
});

test('plain text is taken whatever its extension', async () => {
  assert.equal((await call('POST', documents, fileForm('main.rs', 'fn main() {}'))).json.docid, 'MAIN_RS');
  assert.equal((await call('POST', documents, fileForm('Makefile', 'all: build'))).status, 201);
});

test('a docid that is omitted, null or empty is made', async () => {
  for (const docid of [undefined, null, '']) {
    const { json } = await call('POST', documents, { docid, text: 'no name' });
    assert.match(json.docid, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  }
  assert.equal((await call('POST', documents, fileForm('???.txt', 'x', { docid: '' }))).json.docid, 'TXT');
});

test('ids with slashes, colons and spaces are addressed percent-encoded', async () => {
  const docid = 'a/b::c d?e#f%';
  await call('POST', documents, { docid, text: 'odd name' });
  const path = encodeURIComponent(docid);
  assert.equal((await call('GET', `${documents}/${path}`)).json.docid, docid);
  const rid = encodeURIComponent(`${docid}::chunk_0`);
  assert.equal((await call('GET', `${base}/chunks/${rid}`)).json.docid, docid);
  assert.equal((await call('GET', `${base}/chunks/${rid}/content`)).text, 'odd name');
  assert.equal((await call('DELETE', `${documents}/${path}`)).json.chunks_deleted, 1);
});

test('a replace shows the new chunks only, and raises the version', async () => {
  await call('POST', documents, { docid: 'R', text: 'old '.repeat(600), metadata: { v: 1 } });
  const { json } = await call('POST', documents, { docid: 'R', text: 'entirely new words' });
  assert.equal(json.chunks, 1);
  const { json: detail } = await call('GET', `${documents}/R`);
  assert.deepEqual([detail.version, detail.chunk_count, detail.metadata.v], [2, 1, undefined]);
  assert.equal((await call('GET', `${base}/chunks/R::chunk_1`)).status, 404);
});

test('a replace that fails leaves the old version whole', async () => {
  await call('POST', documents, { docid: 'KEEP', text: 'the old version' });
  for (const body of [
    { docid: 'KEEP', text: '' },
    { docid: 'KEEP', vector: [1, 2] },
    { docid: 'KEEP', text: 'x', metadata: { docid: 'OTHER' } },
  ]) {
    assert.ok((await call('POST', documents, body)).status >= 400);
  }
  assert.equal((await call('GET', `${documents}/KEEP`)).json.version, 1);
  assert.equal((await call('GET', `${base}/chunks/KEEP::chunk_0/content`)).text, 'the old version');
});

test("vectors of one's own: in an identity collection, and in a text collection of its dimension", async () => {
  await call('POST', '/v1/collections/acme/vectors', { embedder_type: 'identity', embedder_config: { dim: 3 } });
  const { json } = await call('POST', '/v1/collections/acme/vectors/documents', { docid: 'V', vector: [1, 2, 3] });
  assert.deepEqual([json.docid, json.chunks], ['V', 1]);
  assert.deepEqual((await call('GET', '/v1/collections/acme/vectors/documents/V')).json.chunk_ids, ['V::0']);
  await refused(call('GET', '/v1/collections/acme/vectors/chunks/V::0/content'), 404, 'chunk_content_not_found');
  await refused(call('POST', '/v1/collections/acme/vectors/documents', { text: 'words' }), 400, 'vectors_only');
  assert.equal(
    (await call('POST', documents, { docid: 'OWN', vector: Array.from({ length: 512 }, () => 1) })).status,
    201,
  );
});

const bad: [string, unknown, number, string][] = [
  ['malformed JSON', '{"text":', 400, 'invalid_document_json'],
  ['NaN', '{"vector":[NaN]}', 400, 'invalid_document_json'],
  ['neither text nor vector', {}, 400, 'invalid_document_json'],
  ['both text and vector', { text: 'a', vector: [1] }, 400, 'invalid_document_json'],
  ['text of another type', { text: 5 }, 400, 'invalid_document_json'],
  ['an unknown field', { text: 'a', title: 'b' }, 400, 'invalid_document_json'],
  ['a list', [], 400, 'invalid_document_json'],
  ['empty text', { text: '' }, 400, 'no_text_extracted'],
  ['blank text', { text: ' \n\t ' }, 400, 'no_text_extracted'],
  ['metadata that is a list', { text: 'a', metadata: [] }, 400, 'invalid_metadata'],
  ['a contradicting docid', { docid: 'A', text: 'a', metadata: { docid: 'B' } }, 400, 'invalid_metadata_keys'],
  ['a contradicting time', { text: 'a', metadata: { ingested_at: 'yesterday' } }, 400, 'invalid_metadata_keys'],
  ['a docid with a control character', { docid: 'a\u0007', text: 'a' }, 400, 'invalid_docid'],
  ['a docid over 512 bytes', { docid: 'é'.repeat(257), text: 'a' }, 400, 'invalid_docid'],
  ['metadata over the limit', { text: 'a', metadata: { x: 'y'.repeat(65_536) } }, 413, 'metadata_too_large'],
  ['a vector of another length', { vector: [1, 2, 3] }, 400, 'dim_mismatch'],
  [
    'an infinite vector',
    `{"vector":[${Array.from({ length: 512 }, () => '1e999').join(',')}]}`,
    422,
    'validation_error',
  ],
  ['a zero vector', { vector: Array.from({ length: 512 }, () => 0) }, 422, 'validation_error'],
  ['a vector beyond float32', { vector: Array.from({ length: 512 }, () => 1e39) }, 422, 'validation_error'],
];
for (const [what, body, status, code] of bad) {
  test(`ingest with ${what} is ${status} ${code} and stores nothing`, async () => {
    const before = (await call('GET', documents)).json.count;
    await refused(call('POST', documents, body), status, code);
    assert.equal((await call('GET', documents)).json.count, before);
  });
}

test('a refused ingest into a missing collection does not make it', async () => {
  await refused(call('POST', '/v1/collections/acme/unborn/documents', { text: '' }), 400, 'no_text_extracted');
  await refused(call('GET', '/v1/collections/acme/unborn/detail'), 404, 'collection_not_found');
  assert.equal((await call('POST', '/v1/collections/acme/unborn/documents', { text: 'now' })).status, 201);
  assert.equal((await call('GET', '/v1/collections/acme/unborn/detail')).json.doc_count, 1);
});

test('bad multipart has its codes', async () => {
  await refused(call('POST', documents, fileForm('a.txt', 'x', { metadata: '{' })), 400, 'invalid_metadata_json');
  await refused(call('POST', documents, fileForm('a.txt', 'x', { metadata: '[1]' })), 400, 'invalid_metadata');
  await refused(call('POST', documents, fileForm('a.txt', '  ')), 400, 'no_text_extracted');
  await refused(
    call('POST', documents, fileForm('a.exe', Buffer.from('MZ\0\0'))),
    400,
    'unsupported_or_invalid_document',
  );
  await refused(
    call('POST', documents, fileForm('a.txt', Buffer.from([0, 1, 2]))),
    400,
    'unsupported_or_invalid_document',
  );
  const none = new FormData();
  none.set('docid', 'A');
  await refused(call('POST', documents, none), 400, 'missing_document_file');
  await refused(
    call('POST', documents, '--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\ncut off', {
      'content-type': 'multipart/form-data; boundary=x',
    }),
    400,
    'invalid_multipart',
  );
  await refused(call('POST', documents, 'text', { 'content-type': 'text/plain' }), 400, 'unsupported_media_type');
});

test('listing is by docid, and of documents only', async () => {
  const path = '/v1/collections/acme/list/documents';
  for (const docid of ['b', 'a', 'C', 'é', '10', '9']) await call('POST', path, { docid, text: docid });
  const { json } = await call('GET', path);
  assert.deepEqual(
    json.documents.map(({ docid }: any) => docid),
    ['10', '9', 'C', 'a', 'b', 'é'],
  );
  assert.deepEqual(Object.keys(json.documents[0]).sort(), ['chunk_count', 'docid', 'ingested_at', 'version']);
  assert.equal(json.count, 6);
});

test('of a missing document, chunk or collection reads are 404, and listings and deletions find nothing', async () => {
  await refused(call('GET', `${documents}/NOPE`), 404, 'document_not_found');
  await refused(call('GET', `${base}/chunks/NOPE::chunk_0`), 404, 'chunk_not_found');
  await refused(call('GET', `${base}/chunks/nonsense`), 404, 'chunk_not_found');
  await refused(call('GET', `${base}/chunks/NOPE::chunk_0/content`), 404, 'chunk_not_found');
  assert.deepEqual((await call('GET', `${documents}/NOPE/chunks`)).json.chunks, []);
  assert.equal((await call('DELETE', `${documents}/NOPE`)).json.chunks_deleted, 0);
  const missing = '/v1/collections/acme/missing';
  assert.deepEqual((await call('GET', `${missing}/documents`)).json.documents, []);
  assert.equal((await call('DELETE', `${missing}/documents/A`)).json.chunks_deleted, 0);
  await refused(call('GET', `${missing}/documents/A`), 404, 'document_not_found');
  await refused(call('GET', `${missing}/detail`), 404, 'collection_not_found');
});

test('chunking none: one chunk, and too long a text is refused', async () => {
  const path = '/v1/collections/acme/whole';
  await call('POST', path, { chunking: { strategy: 'none' } });
  assert.equal((await call('POST', `${path}/documents`, { text: 'x'.repeat(32_768) })).json.chunks, 1);
  await refused(call('POST', `${path}/documents`, { text: 'x'.repeat(32_769) }), 400, 'chunk_too_large');
});

test('no internal error was logged', () => {
  assert.deepEqual(server.faults, []);
});

const NOT_KEPT = ['9007199254740993', '-9007199254740993', '18446744073709551615', '1e400', '-1E+999', '1e-400'];

test('numbers that would not be kept as they are written are refused wherever metadata comes in', async () => {
  for (const number of NOT_KEPT) {
    const metadata = `{"a":[{"id":${number}}]}`;
    const json = await call('POST', documents, `{"text":"x","metadata":${metadata}}`);
    const form = await call('POST', documents, fileForm('a.txt', 'x', { metadata }));
    for (const { status, json: answer } of [json, form]) {
      assert.deepEqual([status, answer.code, answer.detail[0].type], [422, 'validation_error', 'number_not_exact']);
      assert.match(answer.error, /as a string/);
    }
    const item = `{"docid":"N","text":"x","metadata":${metadata}}`;
    const batch = await call('POST', `${documents}:batch`, `{"documents":[${item},{"docid":"OK","text":"y"}]}`);
    assert.deepEqual(
      batch.json.documents.map(({ ok, code }: { ok: boolean; code?: string }) => [ok, code]),
      [
        [false, 'invalid_item'],
        [true, undefined],
      ],
    );
    const lines = await call('POST', `${documents}:batch`, `${item}\n`, { 'content-type': 'application/x-ndjson' });
    assert.match(lines.text, /"code":"invalid_item".*as a string/);
    const search = await call('POST', `${base}/search`, `{"q":"x","filters":{"id":{"$in":[1,${number}]}}}`);
    assert.deepEqual([search.status, search.json.detail[0].type], [422, 'number_not_exact']);
  }
});

test('long ids as strings, and numbers that a double holds, are told apart and come back', async () => {
  const ids = ['9007199254740992', '"9007199254740993"', '9007199254740994', '12345678901234567000', '1e22', '-0.1'];
  for (const [i, id] of ids.entries())
    await call('POST', documents, `{"docid":"ID${i}","text":"long id","metadata":{"id":${id},"v":1.5}}`);
  for (const [i, id] of ids.entries()) {
    const { json } = await call('POST', `${base}/search`, `{"q":"long id","k":50,"filters":{"id":${id}}}`);
    assert.deepEqual(
      json.matches.map(({ id: rid }: { id: string }) => rid),
      [`ID${i}::chunk_0`],
      id,
    );
    const { json: stored } = await call('GET', `${documents}/ID${i}`);
    assert.equal(stored.metadata.id, JSON.parse(id));
  }
  const vector = await call('POST', documents, '{"docid":"V","text":null,"vector":[9007199254740993,1e400]}');
  assert.notEqual(vector.json.detail?.[0]?.type, 'number_not_exact', 'a vector is float32 anyway');
});

test('fields of the caller keep their names, and where a chunk stands is told beside them', async () => {
  const metadata = { offset: 'mine', heading: 'mine', page: 7, row: [1], provenance: 'mine' };
  await call(
    'POST',
    documents,
    fileForm('names.md', '# Title\n\nUnmistakable zyzzyva.', {
      docid: 'NAMES',
      metadata: JSON.stringify(metadata),
    }),
  );
  const { json } = await call('POST', `${base}/search`, {
    q: 'unmistakable zyzzyva',
    k: 1,
    filters: { offset: 'mine' },
  });
  const [{ meta }] = json.matches;
  const place = { offset: 0, heading: 'Title' };
  const { docid: _docid, ingested_at: _at, filename: _filename, ...told } = meta;
  assert.deepEqual(told, { ...metadata, _provenance: place });
  assert.deepEqual((await call('GET', `${base}/chunks/NAMES%3A%3Achunk_0`)).json.meta, meta);
  assert.deepEqual((await call('GET', `${documents}/NAMES/chunks`)).json.chunks[0].meta, meta);
  const filters = { '_provenance.heading': 'Title' };
  assert.equal((await call('POST', `${base}/search`, { q: 'zyzzyva', filters })).json.matches.length, 1);

  await call(
    'POST',
    `${documents}?csv_meta_cols=row,has_header`,
    fileForm('own.csv', 'row,has_header,b\nr1,h1,zymurgy\n', {
      docid: 'ROWS',
      metadata: '{"row":"of all"}',
    }),
  );
  const { json: ofRows } = await call('GET', `${documents}/ROWS/chunks`);
  const { row, has_header, provenance } = ofRows.chunks[0].meta;
  assert.deepEqual([row, has_header, provenance], ['r1', 'h1', { row: 1, has_header: true }]);
});

test('the ids . and .. are refused, for no client could ask for them', async () => {
  for (const docid of ['.', '..']) {
    const answers = [
      await call('POST', documents, { docid, text: 'x' }),
      await call('POST', documents, fileForm('a.txt', 'x', { docid })),
    ];
    for (const { status, json } of answers) assert.deepEqual([status, json.code], [400, 'invalid_docid']);
    const { json } = await call('POST', `${documents}:batch`, { documents: [{ docid, text: 'x' }] });
    assert.equal(json.documents[0].code, 'invalid_docid');
  }
  for (const docid of ['...', '.a', 'a..', '%2e']) {
    assert.equal((await call('POST', documents, { docid, text: 'x' })).status, 201);
    assert.equal((await call('GET', `${documents}/${encodeURIComponent(docid)}`)).json.docid, docid);
  }
});
