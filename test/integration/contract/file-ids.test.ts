// The document ids of files that are sent without one: derived from the file name where that id is free, else made
// distinct.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileForm, startTestServer, type TestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

const dataDir = tempDirectory();
const server = await startTestServer({ SHEAF_DATA_DIR: dataDir });

interface Stored {
  docid: string;
  docid_taken?: string;
}

const documentsOf = (collection: string): string => `/v1/collections/acme/${collection}/documents`;

async function upload(
  collection: string,
  name: string,
  {
    text = `What ${name} says.`,
    to = server,
    ...fields
  }: { text?: string; to?: TestServer; [field: string]: unknown } = {},
): Promise<Stored> {
  const form = fileForm(name, text, fields as Record<string, string>);
  const { status, json } = await to.call('POST', documentsOf(collection), form);
  assert.equal(status, 201, JSON.stringify(json));
  return json as unknown as Stored;
}

/** The id, version and text of the one document of each file name. */
async function found(collection: string, to = server): Promise<Record<string, [string, number, string]>> {
  const { documents } = (await to.call('GET', documentsOf(collection))).json as {
    documents: { docid: string; version: number; filename: string }[];
  };
  const entries = documents.map(async ({ docid, version, filename }): Promise<[string, [string, number, string]]> => {
    const rid = encodeURIComponent(`${docid}::chunk_0`);
    const { text } = await to.call('GET', `/v1/collections/acme/${collection}/chunks/${rid}/content`);
    return [filename, [docid, version, text]];
  });
  const byName = Object.fromEntries(await Promise.all(entries));
  assert.equal(Object.keys(byName).length, documents.length, 'two documents have one name');
  return byName;
}

const NAMES = ['报告.txt', 'отчёт.txt', '設計書.txt', 'a b.txt', 'a.b.txt', 'a-b.txt', 'é.txt', 'A b.TXT'];

test('files whose names give one id are so many documents, one behind the other and all at once', async () => {
  for (const name of NAMES) await upload('row', name);
  const inRow = await found('row');
  assert.deepEqual(Object.keys(inRow).toSorted(), NAMES.toSorted());
  await Promise.all([...NAMES, ...NAMES, ...NAMES].map((name) => upload('heap', name)));
  const atOnce = await found('heap');
  assert.deepEqual(Object.keys(atOnce).toSorted(), NAMES.toSorted());
  for (const all of [inRow, atOnce])
    for (const [name, [, , text]] of Object.entries(all)) assert.equal(text, `What ${name} says.`);
  assert.ok(Object.values(atOnce).every(([, version]) => version === 3));
  // The first file with an id keeps the plain id; the others get a digest of their name.
  assert.deepEqual([inRow['报告.txt']?.[0], inRow['a b.txt']?.[0]], ['TXT', 'A_B_TXT']);
  for (const [name, [docid]] of Object.entries(inRow))
    if (docid !== 'TXT' && docid !== 'A_B_TXT') assert.match(docid, /^(TXT|A_B_TXT)_[0-9A-F]{12}$/, name);
});

test('the answer says which id a document has, and whose it is otherwise', async () => {
  const first = await upload('told', 'My File (1).v2.txt');
  assert.deepEqual([first.docid, first.docid_taken], ['MY_FILE_1_V2_TXT', undefined]);
  const second = await upload('told', 'my_file.1.v2-txt');
  assert.deepEqual([second.docid_taken, second.docid === first.docid], ['MY_FILE_1_V2_TXT', false]);
  const { json } = await server.call('GET', `${documentsOf('told')}/${second.docid}`);
  assert.deepEqual([json.filename, json.metadata.filename], ['my_file.1.v2-txt', 'my_file.1.v2-txt']);
});

test('a file that comes again overwrites its own document, whatever became of the others', async () => {
  const [a, b] = [await upload('again', 'x y.txt'), await upload('again', 'x-y.txt')];
  assert.equal((await upload('again', 'x y.txt')).docid, a.docid);
  assert.equal((await upload('again', 'x-y.txt')).docid, b.docid);
  await server.call('DELETE', `${documentsOf('again')}/${a.docid}`);
  assert.equal((await upload('again', 'x-y.txt', { text: 'new' })).docid, b.docid);
  assert.deepEqual(await found('again'), { 'x-y.txt': [b.docid, 3, 'new'] });
  // An id that is free again goes to the next file, and a distinct id does not depend on the order of uploads.
  assert.equal((await upload('again', 'x_y.txt')).docid, a.docid);
  await upload('otherwise', 'x_y.txt');
  assert.equal((await upload('otherwise', 'x-y.txt')).docid, b.docid);
});

test('an accent is the same in both of its writings, and paths do not count', async () => {
  const { docid } = await upload('accents', 'r\u00e9sum\u00e9.txt');
  assert.equal((await upload('accents', 're\u0301sume\u0301.txt')).docid, 'RE_SUME_TXT');
  assert.equal((await upload('accents', 'C:\\mine\\r\u00e9sum\u00e9.txt')).docid, docid);
});

test('a document that is no file of this name is left alone', async () => {
  await server.call('POST', documentsOf('mixed'), { docid: 'NOTES_TXT', text: 'typed' });
  const stored = await upload('mixed', 'notes.txt');
  assert.deepEqual([stored.docid_taken, stored.docid === 'NOTES_TXT'], ['NOTES_TXT', false]);
  // A file may be named like the distinct id that another file would get.
  await upload('meets', 'p q.txt');
  const { docid } = await upload('elsewhere', 'p q.txt').then(() => upload('elsewhere', 'p-q.txt'));
  await upload('meets', docid);
  await upload('meets', 'p-q.txt');
  await upload('meets', 'p-q.txt', { text: 'again' });
  const all = await found('meets');
  assert.deepEqual(Object.keys(all).toSorted(), [docid, 'p q.txt', 'p-q.txt'].toSorted());
  assert.deepEqual(all['p-q.txt']?.slice(1), [2, 'again']);
});

test("a caller's own id and own file name rule", async () => {
  assert.equal((await upload('own', 's t.txt', { docid: 'mine' })).docid, 'mine');
  const metadata = JSON.stringify({ filename: 'the original.txt' });
  for (const _ of [1, 2]) assert.equal((await upload('own', 's t.txt', { metadata })).docid, 'S_T_TXT');
  assert.equal((await server.call('GET', `${documentsOf('own')}/S_T_TXT`)).json.version, 2);
});

test('a file that is refused keeps no id, and a name without a letter gives none', async () => {
  const refused = await server.call('POST', documentsOf('refused'), fileForm('u v.pdf', 'no PDF'));
  assert.equal(refused.status, 400);
  assert.equal((await upload('refused', 'u-v.pdf.txt')).docid, 'U_V_PDF_TXT');
  assert.equal((await upload('refused', 'u-v.txt')).docid, 'U_V_TXT');
  assert.equal(
    (await server.call('POST', documentsOf('refused'), fileForm('x'.repeat(600), 'x'))).json.code,
    'invalid_docid',
  );
  assert.match((await upload('refused', '日本')).docid, /^[0-9a-f-]{36}$/);
  assert.equal((await upload('refused', `${'ж-'.repeat(100)}${'w'.repeat(505)}.txt`)).docid.length, 509);
  assert.ok((await upload('refused', `${'w'.repeat(505)}-txt`)).docid.length <= 512);
});

test('a file that comes again finds its document after a restart', async () => {
  const before = await found('row');
  assert.deepEqual(server.faults, []);
  await server.stop();
  const later = await startTestServer({ SHEAF_DATA_DIR: dataDir });
  for (const name of NAMES.toReversed()) await upload('row', name, { to: later });
  const after = await found('row', later);
  for (const [name, [docid, version]] of Object.entries(before))
    assert.deepEqual(after[name]?.slice(0, 2), [docid, version + 1]);
  assert.equal(Object.keys(after).length, NAMES.length);
  assert.deepEqual(later.faults, []);
});
