// Files over a real socket: types, provenance, CSV parameters and error codes, with a server that keeps running.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileForm, startTestServer } from '../../kit/server.js';
import { docx, paragraph, pdf, pdfText, xlsx } from '../../kit/extract.js';

const server = await startTestServer({}, { textBytesMax: 16 * 2 ** 20 });
const { call } = server;
const base = '/v1/collections/acme/files';
const documents = `${base}/documents`;

async function chunksOf(docid: string): Promise<{ chunk_path: string; meta: Record<string, unknown> }[]> {
  return (await call('GET', `${documents}/${docid}/chunks`)).json.chunks;
}

const contentOf = async (docid: string, path: string): Promise<string> =>
  (await call('GET', `${base}/chunks/${encodeURIComponent(`${docid}::${path}`)}/content`)).text;

async function refused(form: FormData, code: string, query = '', status = 400): Promise<Record<string, any>> {
  const { status: got, json } = await call('POST', `${documents}${query}`, form);
  assert.deepEqual([got, json.code, json.ok], [status, code, false], JSON.stringify(json));
  return json;
}

test('a PDF: pages with their numbers, found by a search', async () => {
  const { status, json } = await call(
    'POST',
    documents,
    fileForm('My Report.pdf', pdf([pdfText('Zebra crossing'), '', pdfText('Quarterly numbers')])),
  );
  assert.deepEqual([status, json.docid, json.chunks], [201, 'MY_REPORT_PDF', 2], JSON.stringify(json));
  assert.deepEqual(
    (await chunksOf('MY_REPORT_PDF')).map(({ chunk_path, meta }) => [chunk_path, meta.page, meta.filename]),
    [
      ['page_0', 0, 'My Report.pdf'],
      ['page_2', 2, 'My Report.pdf'],
    ],
  );
  assert.equal(await contentOf('MY_REPORT_PDF', 'page_2'), 'Quarterly numbers');
  const { json: found } = await call('POST', `${base}/search`, { q: 'quarterly numbers', k: 1 });
  assert.deepEqual([found.matches[0].id, found.matches[0].meta.page], ['MY_REPORT_PDF::page_2', 2]);
});

test('CSV with its three parameters', async () => {
  const csv = 'name,country,population\nOslo,Norway,709037\nBergen,Norway,291940\n';
  const form = fileForm('cities.csv', csv, { docid: 'CITIES', metadata: '{"source":"census"}' });
  assert.equal(
    (await call('POST', `${documents}?csv_has_header=yes&csv_meta_cols=population,2&csv_include_cols=name`, form)).json
      .chunks,
    2,
  );
  const [first, second] = await chunksOf('CITIES');
  assert.deepEqual([first?.chunk_path, second?.chunk_path], ['row_0', 'row_1']);
  const { docid: _docid, ingested_at: _at, ...meta } = second?.meta ?? {};
  assert.deepEqual(meta, {
    filename: 'cities.csv',
    source: 'census',
    row: 2,
    has_header: true,
    population: '291940',
    country: 'Norway',
  });
  assert.equal(await contentOf('CITIES', 'row_1'), 'name: Bergen');
});

test('CSV parameters that do not fit', async () => {
  const form = (): FormData => fileForm('a.csv', 'a,b\n1,2\n', { docid: 'BADCSV' });
  const json = await refused(form(), 'validation_error', '?csv_has_header=maybe', 422);
  assert.deepEqual([json.detail[0].loc, json.detail[0].input], [['query', 'csv_has_header'], 'maybe']);
  for (const query of [
    '?csv_meta_cols=c',
    '?csv_include_cols=9',
    '?csv_include_cols=0',
    '?csv_has_header=no&csv_meta_cols=a',
  ])
    await refused(form(), 'invalid_csv_options', query);
  assert.equal((await call('GET', `${documents}/BADCSV`)).status, 404);
});

test('office files are read off their extension too', async () => {
  assert.equal((await call('POST', documents, fileForm('memo.docx', await docx(paragraph('Dear all'))))).status, 201);
  assert.equal(await contentOf('MEMO_DOCX', 'chunk_0'), 'Dear all');
  const sheet = await xlsx({ Sheet1: '<row r="1"><c r="A1" t="inlineStr"><is><t>cell</t></is></c></row>' });
  assert.equal((await call('POST', documents, fileForm('wrong.txt', sheet))).status, 201);
  assert.deepEqual(
    (await chunksOf('WRONG_TXT')).map(({ meta }) => [meta.sheet, meta.row]),
    [['Sheet1', 1]],
  );
});

test('each kind of bad file has its code, and no words of a library', async () => {
  const whole = await docx(paragraph('whole'));
  const cases: [string, string | Uint8Array, string][] = [
    ['a.exe', Buffer.from('MZ\0\0'), 'unsupported_or_invalid_document'],
    ['a.pdf', 'no PDF', 'file_unreadable'],
    ['a.docx', whole.subarray(0, 200), 'file_unreadable'],
    ['a.json', '{', 'file_unreadable'],
    ['a.csv', 'a,b\n"never closed', 'file_unreadable'],
    ['a.pdf', pdf(['']), 'no_text_extracted'],
    ['a.html', '<script>x</script>', 'no_text_extracted'],
    ['a.csv', '\n\n', 'no_text_extracted'],
    ['a.docx', await docx(paragraph('word '.repeat(4_000_000))), 'file_unreadable'],
  ];
  for (const [name, content, code] of cases) {
    const json = await refused(fileForm(name, content, { docid: 'BAD' }), code);
    assert.doesNotMatch(JSON.stringify(json), /node_modules|\/tmp|at \w+ \(|Exception/);
  }
  assert.equal((await call('GET', `${documents}/BAD`)).status, 404);
});

test('a file that cannot be read leaves the old version whole', async () => {
  await call('POST', documents, fileForm('keep.pdf', pdf([pdfText('the old version')])));
  await refused(fileForm('keep.pdf', 'broken'), 'file_unreadable');
  assert.equal(await contentOf('KEEP_PDF', 'page_0'), 'the old version');
  assert.equal((await call('GET', `${documents}/KEEP_PDF`)).json.version, 1);
});

test('chunking none: a page, a row and a whole text are one chunk each', async () => {
  const path = '/v1/collections/acme/whole';
  await call('POST', path, { chunking: { strategy: 'none' } });
  assert.equal(
    (await call('POST', `${path}/documents`, fileForm('a.pdf', pdf([pdfText('one'), pdfText('two')])))).json.chunks,
    2,
  );
  assert.equal(
    (await call('POST', `${path}/documents`, fileForm('a.md', `# One\n${'x '.repeat(5000)}\n# Two\n`))).json.chunks,
    1,
  );
  const { status, json } = await call('POST', `${path}/documents`, fileForm('a.html', `<p>${'x'.repeat(33_000)}</p>`));
  assert.deepEqual([status, json.code], [400, 'chunk_too_large']);
});

test('a vectors-only collection rejects files', async () => {
  await call('POST', '/v1/collections/acme/vectors', { embedder_type: 'identity', embedder_config: { dim: 3 } });
  const { status, json } = await call(
    'POST',
    '/v1/collections/acme/vectors/documents',
    fileForm('a.pdf', pdf([pdfText('one')])),
  );
  assert.deepEqual([status, json.code], [400, 'vectors_only']);
});

test("metadata comes back byte for byte: O'Brien -- x; y", async () => {
  const metadata = { "key's": "O'Brien -- x; y", path: 'C:\\dir\\"x"', page: 'mine' };
  await call('POST', documents, fileForm('quote.txt', 'text', { metadata: JSON.stringify(metadata) }));
  const {
    docid: _docid,
    ingested_at: _at,
    filename,
    ...own
  } = (await call('GET', `${documents}/QUOTE_TXT`)).json.metadata;
  assert.deepEqual([own, filename], [metadata, 'quote.txt']);
});

const FILES = '../shared/data/files';
const sample: [string, string][] = [
  ['pdf-text/tracemonkey.pdf', 'text'],
  ['pdf-noText/testOCR.pdf', 'no_text_extracted'],
  ['pdf-encrypted/issue3371.pdf', 'file_encrypted'],
  ['pdf-malformed/poppler-395-0-fuzzed.pdf', 'file_unreadable'],
  ['docx-nasty/bug53475-password-is-pass.docx', 'file_encrypted'],
  ['docx-nasty/poc-shared-strings.xlsx', 'file_unreadable'],
  ['zip-nasty/droste.zip', 'unsupported_or_invalid_document'],
  ['zip-nasty/quine.gz', 'unsupported_or_invalid_document'],
  ['zip-nasty/testZipEncrypted.zip', 'file_encrypted'],
];
for (const [file, result] of sample) {
  const path = `${FILES}/${file}`;
  test(`${file} is ${result}`, { skip: existsSync(path) ? false : `${path} is not there` }, async () => {
    const form = fileForm(file.split('/').pop() as string, readFileSync(path));
    if (result !== 'text') return void (await refused(form, result));
    const { status, json } = await call('POST', documents, form);
    assert.equal(status, 201, JSON.stringify(json));
  });
}

test('no internal error was logged', () => {
  assert.deepEqual(server.faults, []);
});

test('whole sentences: headings begin chunks, pages stay apart, and a text is cut as a file is', async () => {
  const sentences = '/v1/collections/acme/sentences';
  const chunking = { strategy: 'sentence', size: 60, overlap: 15 };
  assert.deepEqual((await call('POST', sentences, { chunking })).json.chunking, chunking);
  assert.deepEqual((await call('GET', `${sentences}/detail`)).json.chunking, chunking);
  const piecesOf = async (docid: string): Promise<unknown[]> => {
    const { chunks } = (await call('GET', `${sentences}/documents/${docid}/chunks`)).json;
    return Promise.all(
      chunks.map(
        async ({ rid, chunk_path, meta }: { rid: string; chunk_path: string; meta: Record<string, unknown> }) => [
          chunk_path,
          meta.offset,
          meta.heading,
          (await call('GET', `${sentences}/chunks/${encodeURIComponent(rid)}/content`)).text,
        ],
      ),
    );
  };
  const text = '# One\n\nThis is the first. It is short. This one is a little longer 😀.\n\n# Two\n\nMore.';
  await call('POST', `${sentences}/documents`, fileForm('a.md', text));
  assert.deepEqual(await piecesOf('A_MD'), [
    ['chunk_0', 0, 'One', '# One\n\nThis is the first. It is short.'],
    ['chunk_1', 26, 'One', 'It is short. This one is a little longer 😀.'],
    ['chunk_2', 71, 'Two', '# Two\n\nMore.'],
  ]);
  await call('POST', `${sentences}/documents`, { docid: 'b', text: text.slice(7) });
  assert.deepEqual(await piecesOf('b'), [
    ['chunk_0', 0, undefined, 'This is the first. It is short.'],
    ['chunk_1', 19, undefined, 'It is short. This one is a little longer 😀.\n\n# Two\n\nMore.'],
  ]);
  await call('POST', `${sentences}/documents`, fileForm('c.pdf', pdf([pdfText('A page.'), pdfText('Another page.')])));
  assert.deepEqual(
    (await piecesOf('C_PDF')).map((piece) => (piece as unknown[]).at(-1)),
    ['A page.', 'Another page.'],
  );
});
