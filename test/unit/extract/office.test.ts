// DOCX, PPTX, XLSX, ODT and EPUB: text with its provenance, what is left out, and malicious archives.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { docx, epub, odt, paragraph, pptx, read, texts, xlsx, zipOf } from '../../kit/extract.js';

test('DOCX: paragraphs, lists and tables; headings travel with the chunks', async () => {
  const heading = '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Chapter</w:t></w:r></w:p>';
  const table = `<w:tbl><w:tr><w:tc>${paragraph('a')}</w:tc><w:tc>${paragraph('b')}</w:tc></w:tr></w:tbl>`;
  const [chunk] = await read('a.docx', await docx(`${heading}${paragraph('One &amp; two')}${table}`));
  assert.equal(chunk?.path, 'chunk_0');
  assert.match(chunk.text, /^Chapter\n\nOne & two\n\na\s+b$/);
  assert.equal(chunk.meta.heading, 'Chapter');
});

test('PPTX: a unit a slide in the order of the presentation, with title and notes, without slide numbers', async () => {
  const slides = [
    { title: 'First', text: 'alpha', notes: 'say hello' },
    { title: 'Second', text: 'beta' },
  ];
  assert.deepEqual(await read('a.pptx', await pptx(slides)), [
    { path: 'slide_0', text: 'First\n\nalpha\n\nsay hello', meta: { slide: 0, heading: 'First' } },
    { path: 'slide_1', text: 'Second\n\nbeta', meta: { slide: 1, heading: 'Second' } },
  ]);
});

test('XLSX: rows by sheet, with names of columns, shared strings, dates and flags', async () => {
  const cell = (reference: string, type: string, value: string): string =>
    `<c r="${reference}" ${type}><v>${value}</v></c>`;
  const people = `<row r="1">${cell('A1', 't="s"', '0')}${cell('C1', 't="s"', '1')}</row><row r="3">${cell('A3', 't="s"', '2')}${cell('B3', 't="b"', '1')}${cell('C3', 's="1"', '45292')}</row><row r="4"/>`;
  const numbers = `<row>${cell('A1', '', '1.5')}</row><row><c r="A2" t="inlineStr"><is><t>inline</t></is></c></row>`;
  assert.deepEqual(await read('a.xlsx', await xlsx({ People: people, 'Q&amp;A': numbers }, ['name', 'born', 'Ada'])), [
    { path: 'row_0', text: 'name: Ada\ncol_2: true\nborn: 2024-01-01', meta: { sheet: 'People', row: 3 } },
    { path: 'row_1', text: 'col_1: 1.5', meta: { sheet: 'Q&A', row: 1 } },
    { path: 'row_2', text: 'col_1: inline', meta: { sheet: 'Q&A', row: 2 } },
  ]);
});

test('ODT: paragraphs and headings, spaces and tabs, without comments', async () => {
  const text =
    '<text:h>Title</text:h><text:p>one<text:s text:c="2"/>two<text:tab/>three<office:annotation><text:p>no</text:p></office:annotation></text:p><text:p>four</text:p>';
  const [chunk] = await read('a.odt', await odt(text));
  assert.deepEqual([chunk?.text, chunk?.meta.heading], ['Title\n\none  two three\nfour', 'Title']);
  const bomb = await read('a.odt', await odt('<text:p>a<text:s text:c="999999999"/>b</text:p>'));
  assert.ok((bomb[0]?.text.length ?? 0) < 200);
});

test('EPUB: a unit a chapter in reading order', async () => {
  const chunks = await read(
    'a.epub',
    await epub([
      '<html><h1>One</h1><p>first</p></html>',
      '<html><p> </p></html>',
      `<html><h2>Three</h2><p>${'third '.repeat(300)}</p></html>`,
    ]),
  );
  assert.deepEqual(
    chunks.map(({ path, meta }) => [path, meta]),
    [
      ['chapter_0', { chapter: 0, heading: 'One' }],
      ['chapter_2.0', { chapter: 2, offset: 0, heading: 'Three' }],
      ['chapter_2.1', { chapter: 2, offset: 800, heading: 'Three' }],
      ['chapter_2.2', { chapter: 2, offset: 1600, heading: 'Three' }],
    ],
  );
});

test('what is inside decides, whatever the name says', async () => {
  assert.deepEqual(texts(await read('a.txt', await docx(paragraph('Word')))), ['Word']);
  assert.deepEqual(texts(await read('a.docx', await odt('<text:p>Writer</text:p>'))), ['Writer']);
  await assert.rejects(read('a.docx', await zipOf({ 'a.txt': 'no document' })), {
    code: 'unsupported_or_invalid_document',
  });
});

test('encrypted books and texts are file_encrypted; scrambled fonts do no harm', async () => {
  const cipher = (uri: string): Record<string, string> => ({
    'META-INF/encryption.xml': `<encryption><EncryptedData><CipherData><CipherReference URI="${uri}"/></CipherData></EncryptedData></encryption>`,
  });
  await assert.rejects(read('a.epub', await epub(['<p>x</p>'], cipher('OEBPS/text/chapter%200.xhtml'))), {
    code: 'file_encrypted',
  });
  assert.deepEqual(texts(await read('a.epub', await epub(['<p>x</p>'], cipher('OEBPS/fonts/a.otf')))), ['x']);
  const manifest = {
    'META-INF/manifest.xml':
      '<manifest:manifest><manifest:file-entry><manifest:encryption-data/></manifest:file-entry></manifest:manifest>',
  };
  await assert.rejects(read('a.odt', await odt('<text:p>x</text:p>', '', manifest)), { code: 'file_encrypted' });
});

test('a package that is cut off or has no parts is file_unreadable', async () => {
  const whole = await docx(paragraph('whole'));
  await assert.rejects(read('a.docx', whole.subarray(0, whole.length - 30)), { code: 'file_unreadable' });
  await assert.rejects(read('a.docx', 'plain text'), { code: 'file_unreadable' });
  await assert.rejects(read('a.docx', await docx('<w:p><w:r><w:t>never closed')), { code: 'file_unreadable' });
});

const ENTITIES = `<!DOCTYPE x [<!ENTITY a "${'A'.repeat(1000)}"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY file SYSTEM "file:///etc/passwd"><!ENTITY % ext SYSTEM "http://127.0.0.1:1/x"> %ext;]>`;
const made: [string, (text: string) => Promise<Uint8Array>][] = [
  ['docx', (text) => docx(paragraph(text), ENTITIES)],
  ['pptx', (text) => pptx([{ title: text, text }], ENTITIES)],
  ['xlsx', (text) => xlsx({ S: '<row r="1"><c r="A1" t="s"><v>0</v></c></row>' }, [text], ENTITIES)],
  ['odt', (text) => odt(`<text:p>${text}</text:p>`, ENTITIES)],
  ['epub', (text) => epub([`<?xml version="1.0"?>${ENTITIES}<html><p>${text}</p></html>`])],
];
for (const [type, make] of made) {
  test(`${type}: entities of the file are neither expanded nor fetched`, async () => {
    const got = await read(`a.${type}`, await make('safe &c; &file; word')).catch(
      (error: Error & { code?: string }) => error,
    );
    if (got instanceof Error) return assert.equal(got.code, 'file_unreadable');
    const text = texts(got).join('\n');
    assert.match(text, /safe/);
    assert.doesNotMatch(text, /root:|AAAA/);
  });
}

test('a zip bomb is refused by what it unpacks to, in every type', async () => {
  const megabytes = 'word '.repeat(1_000_000);
  const bombs: [string, Uint8Array][] = [
    ['docx', await docx(paragraph(megabytes))],
    ['pptx', await pptx([{ title: 'x', text: megabytes }])],
    ['xlsx', await xlsx({ S: '<row><c t="s"><v>0</v></c></row>' }, [megabytes])],
    ['odt', await odt(`<text:p>${megabytes}</text:p>`)],
    ['epub', await epub([`<p>${megabytes}</p>`])],
  ];
  for (const [type, bytes] of bombs) {
    assert.ok(bytes.length < 100_000, `${type} is small: ${bytes.length} bytes`);
    await assert.rejects(read(`a.${type}`, bytes, { textBytesMax: 1_000_000 }), { code: 'file_unreadable' }, type);
  }
});

test('one long string that many cells show is counted each time', async () => {
  const rows = Array.from({ length: 1000 }, () => '<row><c t="s"><v>0</v></c></row>').join('');
  await assert.rejects(read('a.xlsx', await xlsx({ S: rows }, ['long '.repeat(2000)]), { textBytesMax: 1_000_000 }), {
    code: 'file_unreadable',
  });
});

test('a picture that unpacks to more than the limit makes a DOCX unreadable, since its parser would unpack it', async () => {
  const bytes = await docx(paragraph('text'));
  const bomb = await zipOf({ ...(await entriesOf(bytes)), 'word/media/a.png': new Uint8Array(2_000_000) });
  await assert.rejects(read('a.docx', bomb, { textBytesMax: 1_000_000 }), { code: 'file_unreadable' });
});

async function entriesOf(bytes: Uint8Array): Promise<Record<string, Uint8Array>> {
  const { default: JSZip } = await import('jszip');
  const { files } = await new JSZip().loadAsync(bytes);
  const entries = Object.values(files).filter(({ dir }) => !dir);
  return Object.fromEntries(
    await Promise.all(entries.map(async (entry) => [entry.name, await entry.async('uint8array')])),
  );
}
