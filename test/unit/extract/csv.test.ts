// CSV and TSV: headers, chosen columns, delimiters, quoting, ragged rows, and the client errors of the contract.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { read, texts } from '../../kit/extract.js';

const CITIES = 'name,country,population\nOslo,Norway,709037\nBergen,Norway,291940\n';

test('a row is a chunk, with a line for each column; the header is found', async () => {
  assert.deepEqual(await read('a.csv', CITIES), [
    { path: 'row_0', text: 'name: Oslo\ncountry: Norway\npopulation: 709037', meta: { row: 1, has_header: true } },
    { path: 'row_1', text: 'name: Bergen\ncountry: Norway\npopulation: 291940', meta: { row: 2, has_header: true } },
  ]);
});

test('auto: a first row with a number or date is no header, nor is a row that is alone; yes and no rule', async () => {
  assert.deepEqual(
    (await read('a.csv', 'Oslo,709037\nBergen,291940')).map(({ text, meta }) => [text, meta]),
    [
      ['col_1: Oslo\ncol_2: 709037', { row: 1, has_header: false }],
      ['col_1: Bergen\ncol_2: 291940', { row: 2, has_header: false }],
    ],
  );
  assert.deepEqual(texts(await read('a.csv', '2024-01-05,x\ny,z')), [
    'col_1: 2024-01-05\ncol_2: x',
    'col_1: y\ncol_2: z',
  ]);
  assert.deepEqual(texts(await read('a.csv', 'name,country\n')), ['col_1: name\ncol_2: country']);
  assert.deepEqual(texts(await read('a.csv', '1,2\n3,4', { csv: { header: 'yes' } })), ['1: 3\n2: 4']);
  assert.equal((await read('a.csv', CITIES, { csv: { header: 'no' } })).length, 3);
  await assert.rejects(read('a.csv', 'name,country\n', { csv: { header: 'yes' } }), { code: 'no_text_extracted' });
});

test('columns by name and by index: some for the text, some for the metadata, as strings', async () => {
  const [first] = await read('a.csv', CITIES, { csv: { metaColumns: 'population, 2' } });
  assert.deepEqual(first, {
    path: 'row_0',
    text: 'name: Oslo',
    meta: { row: 1, has_header: true, population: '709037', country: 'Norway' },
  });
  const [included] = await read('a.csv', CITIES, { csv: { metaColumns: 'name', includeColumns: 'country,1,country' } });
  assert.deepEqual([included?.text, included?.meta.name], ['country: Norway\nname: Oslo', 'Oslo']);
  const [indexed] = await read('a.csv', 'x,1\ny,2', { csv: { header: 'no', includeColumns: '2', metaColumns: '1' } });
  assert.deepEqual([indexed?.text, indexed?.meta.col_1], ['col_2: 1', 'x']);
  const [year] = await read('a.csv', 'name,2\nOslo,x', { csv: { header: 'yes', includeColumns: '2' } });
  assert.equal(year?.text, '2: x');
});

test('a name without a header, an unknown name and an index out of range are invalid_csv_options', async () => {
  for (const csv of [
    { header: 'no', metaColumns: 'name' },
    { includeColumns: 'nope' },
    { metaColumns: '0' },
    { includeColumns: '4' },
    { includeColumns: '-1' },
    { metaColumns: '1.5' },
  ] as const) {
    await assert.rejects(read('a.csv', CITIES, { csv }), { code: 'invalid_csv_options' }, JSON.stringify(csv));
  }
});

test('a blank header is col_N, a repeated one is numbered', async () => {
  const [row] = await read('a.csv', 'date,,date,date\na,b,c,d', { csv: { header: 'yes' } });
  assert.equal(row?.text, 'date: a\ncol_2: b\ndate_2: c\ndate_3: d');
});

test('the delimiter is found; quotes hold delimiters, line breaks and quotes; a byte order mark is none of the name', async () => {
  for (const delimiter of [',', ';', '\t', '|']) {
    const text = `a${delimiter}b\n"x${delimiter}, y"${delimiter}"two\nlines"\n`;
    assert.deepEqual(
      texts(await read('a.csv', `\ufeff${text}`)),
      [`a: x${delimiter}, y\nb: two\nlines`],
      JSON.stringify(delimiter),
    );
  }
  assert.deepEqual(texts(await read('a.tsv', 'a\tb\nx,y;z\t2')), ['a: x,y;z\nb: 2']);
  assert.deepEqual(texts(await read('a.csv', 'a,b\r\n"say ""hi""",2\r\n')), ['a: say "hi"\nb: 2']);
  assert.deepEqual(texts(await read('a.csv', 'only\none\ncolumn, really')), [
    'only: one',
    'only: column\ncol_2:  really',
  ]);
});

test('ragged rows keep every cell; blank rows make no chunk and keep their number', async () => {
  const chunks = await read('a.csv', 'a,b\n1\n,\n\n1,2,3\n', { csv: { header: 'yes' } });
  assert.deepEqual(
    chunks.map(({ path, text, meta }) => [path, text, meta.row]),
    [
      ['row_0', 'a: 1\nb: ', 1],
      ['row_2', 'a: 1\nb: 2\ncol_3: 3', 3],
    ],
  );
});

test('windows-1252 and UTF-16 are read as text files are', async () => {
  assert.deepEqual(texts(await read('a.csv', Buffer.from('a,b\ncafé,x', 'latin1'))), ['a: café\nb: x']);
  assert.deepEqual(texts(await read('a.csv', Buffer.from('\ufeffa,b\ncafé,x', 'utf16le'))), ['a: café\nb: x']);
});

test('a quote that is never closed is file_unreadable, text over the limit too', async () => {
  await assert.rejects(read('a.csv', 'a,b\n"x,y\n1,2\n'), { code: 'file_unreadable' });
  await assert.rejects(read('a.csv', `${'long name '.repeat(9)},b\n${'1,2\n'.repeat(200)}`, { textBytesMax: 5000 }), {
    code: 'file_unreadable',
  });
});

test('a long row stays one chunk up to the largest chunk, then it is split', async () => {
  assert.deepEqual(
    (await read('a.csv', `a\n${'x'.repeat(30_000)}`, { csv: { header: 'yes' } })).map(({ path }) => path),
    ['row_0'],
  );
  const split = await read('a.csv', `a\n${'x'.repeat(40_000)}`, { csv: { header: 'yes' } });
  assert.deepEqual(
    split.slice(0, 2).map(({ path, meta }) => [path, meta]),
    [
      ['row_0.0', { row: 1, has_header: true, offset: 0 }],
      ['row_0.1', { row: 1, has_header: true, offset: 800 }],
    ],
  );
  await assert.rejects(
    read('a.csv', `a\n${'x'.repeat(40_000)}`, { csv: { header: 'yes' }, chunking: { strategy: 'none' } }),
    { code: 'chunk_too_large' },
  );
});

test('names that mean something to JavaScript are names', async () => {
  const [row] = await read('a.csv', '__proto__,constructor\na,b', {
    csv: { header: 'yes', metaColumns: '__proto__,constructor', includeColumns: '1' },
  });
  assert.deepEqual(Object.entries(row?.meta ?? {}).slice(2), [
    ['__proto__', 'a'],
    ['constructor', 'b'],
  ]);
});

const FILES = '../shared/data/files/csv';
const skip = existsSync(FILES) ? false : `${FILES} is not there`;
type Row = Record<string, string>;
const rowsOf = (name: string): Row[] =>
  JSON.parse(readFileSync(`${FILES}/expected-json/${name}.json`, 'utf8')) as Row[];
const linesOf = (rows: Row[]): string[] =>
  rows.map((row) =>
    Object.entries(row)
      .map(([column, value]) => `${column}: ${value}`)
      .join('\n'),
  );

test('newlines_crlf.csv has the rows of its expected JSON', { skip }, async () => {
  const chunks = await read('a.csv', readFileSync(`${FILES}/newlines_crlf.csv`), { csv: { header: 'yes' } });
  assert.deepEqual(
    texts(chunks).map((text) => text.replaceAll('\r\n', '\n')),
    linesOf(rowsOf('newlines_crlf')).map((text) => text.replaceAll('\r\n', '\n')),
  );
});

test('the rows of each expected JSON come back from CSV, quoted as RFC 4180 says', { skip }, async () => {
  for (const name of [
    'comma_in_quotes',
    'empty',
    'empty_crlf',
    'json',
    'newlines_crlf',
    'quotes_and_newlines',
    'simple',
    'simple_crlf',
  ]) {
    const rows = rowsOf(name);
    const line = (cells: string[]): string => cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',');
    const csv = [Object.keys(rows[0] ?? {}), ...rows.map((row) => Object.values(row))].map(line).join('\r\n');
    assert.deepEqual(texts(await read('a.csv', csv, { csv: { header: 'yes' } })), linesOf(rows), name);
  }
});
