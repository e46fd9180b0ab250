// PDF: pages as units, encrypted and broken files, and pages that unpack without end.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pdf, pdfText, read } from '../../kit/extract.js';

test('a page is a chunk, counted from 0; a blank one makes none; a long one is split', async () => {
  const long = Array.from(
    { length: 30 },
    (_, i) => `BT /F 12 Tf 20 ${780 - 20 * i} Td (${'word '.repeat(10)}${i}) Tj ET`,
  ).join('\n');
  const chunks = await read('a.pdf', pdf([pdfText('First page'), '', pdfText('Third page'), long]));
  assert.deepEqual(chunks.slice(0, 2), [
    { path: 'page_0', text: 'First page', meta: { page: 0 } },
    { path: 'page_2', text: 'Third page', meta: { page: 2 } },
  ]);
  assert.deepEqual(
    chunks.slice(2).map(({ path, meta }) => [path, meta]),
    [
      ['page_3.0', { page: 3, offset: 0 }],
      ['page_3.1', { page: 3, offset: 800 }],
    ],
  );
});

test('a PDF is one under any name, and text under the name of one is file_unreadable', async () => {
  const bytes = pdf([pdfText('Hello')]);
  for (const name of ['a.txt', 'a.docx', 'a', 'a.csv'])
    assert.equal((await read(name, bytes))[0]?.path, 'page_0', name);
  await assert.rejects(read('a.pdf', 'this is no PDF'), { code: 'file_unreadable' });
  assert.equal(
    (await read('a.txt', 'A PDF begins with %PDF-1.7\n and then come objects: 1 0 obj'))[0]?.path,
    'chunk_0',
  );
});

test('without text there is nothing to index', async () => {
  await assert.rejects(read('a.pdf', pdf(['0 0 10 10 re f'])), { code: 'no_text_extracted' });
});

test('a PDF that is cut off gives what can be read, or is file_unreadable; never another error', async () => {
  const bytes = pdf([pdfText('Hello'), pdfText('World')]);
  for (let length = 0; length < bytes.length; length += 97) {
    const got = await read('a.pdf', bytes.subarray(0, length)).catch((error: Error & { code?: string }) => error);
    if (got instanceof Error)
      assert.match(got.code ?? got.message, /^(file_unreadable|no_text_extracted)$/, `cut at ${length}`);
  }
});

test('a page that unpacks to hundreds of megabytes is cut short, and its memory with it', async () => {
  const bomb = pdf([Buffer.alloc(400 * 2 ** 20, ' ')]);
  assert.ok(bomb.length < 500_000, `${bomb.length} bytes`);
  let peakBytes = 0;
  const watch = setInterval(() => (peakBytes = Math.max(peakBytes, process.memoryUsage().arrayBuffers)), 5);
  const before = process.memoryUsage().arrayBuffers;
  await assert.rejects(read('a.pdf', bomb), (error: Error & { code?: string }) =>
    /^(file_unreadable|no_text_extracted)$/.test(error.code ?? ''),
  );
  clearInterval(watch);
  assert.ok(peakBytes - before < 300 * 2 ** 20, `${peakBytes - before} bytes beside the heap`);
});
