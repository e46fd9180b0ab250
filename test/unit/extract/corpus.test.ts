// Sends every real file of ../shared/data/files through a batch worker: each has the result that its manifest suggests,
// and the worker survives them all.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { AppError } from '../../../src/api/errors.js';
import { unpackDocument, type PreparedChunk } from '../../../src/text/prepared-document.js';
import { BatchPool } from '../../../src/pool/batch-pool.js';
import { SILENT } from '../../kit/log.js';

const FILES = '../shared/data/files';
const skip = existsSync(FILES) ? false : `${FILES} is not there`;
const log = { ...SILENT, error: (fields: object) => assert.fail(JSON.stringify(fields)) };

interface Entry {
  file: string;
  kind: string;
  expectation: string;
}

let opened: BatchPool | undefined;
after(() => opened?.close());

function pool(): BatchPool {
  return (opened ??= new BatchPool(2, { timeoutMs: 60_000, memoryBytesMax: 2 ** 30, textBytesMax: 64 * 2 ** 20 }, log));
}

const results = new Map<string, Promise<PreparedChunk[] | string>>();

/** The chunks of a file, or the code with which it is rejected. Each file is read once. */
function extracted(file: string): Promise<PreparedChunk[] | string> {
  const found = results.get(file) ?? read(file);
  results.set(file, found);
  return found;
}

async function read(file: string): Promise<PreparedChunk[] | string> {
  const space = { dim: 4, embedder_type: 'builtin', embed_model: 'm', embedder_config: {}, vector_space_key: 'k' };
  const csv = { header: 'auto' as const, metaColumns: '', includeColumns: '' };
  const body = {
    kind: 'file' as const,
    name: file.split('/').pop() as string,
    type: '',
    docid: '',
    metadata: '',
    csv,
    path: `${FILES}/${file}`,
  };
  try {
    const { document } = await pool().prepare({
      body,
      space,
      chunking: { strategy: 'fixed', size: 1000, overlap: 200 },
      priorityKey: 'p',
      nowMs: 0,
      metadataBytesMax: 65_536,
    });
    return unpackDocument(document).chunks;
  } catch (error) {
    assert.ok(error instanceof AppError, String(error));
    assert.doesNotMatch(error.message, /\/|Error:/, 'neither a path nor the words of a library');
    return error.code;
  }
}

const named = (result: PreparedChunk[] | string): string => (typeof result === 'string' ? result : 'text');

/** The results that a kind of file may have, the likeliest first. */
const BY_KIND: Readonly<Record<string, RegExp>> = {
  'pdf-text': /^text$/,
  'pdf-scanned': /^no_text_extracted$/,
  'pdf-image-only': /^no_text_extracted$/,
  'pdf-encrypted': /^file_encrypted$/,
  'pdf-malformed': /^(text|file_unreadable|no_text_extracted)$/,
  docx: /^text$/,
  'docx-nested': /^text$/,
  'docx-image-only': /^text$/,
  'docx-encrypted': /^file_encrypted$/,
  'docx-fuzzed': /^(text|file_unreadable|no_text_extracted)$/,
  'ooxml-bomb': /^(text|file_unreadable)$/,
  'zip-bomb': /^(file_unreadable|unsupported_or_invalid_document)$/,
  'zip-encrypted': /^file_encrypted$/,
  html: /^text$/,
  markdown: /^text$/,
  csv: /^text$/,
  'csv-expected': /^text$/,
  text: /^text$/,
};

/** Results of files that differ from those of their kind. */
const BY_FILE: Readonly<Record<string, string>> = {
  // The page draws the word "Test" beside its image.
  'pdf-noText/inline-image.pdf': 'text',
  // The pages can be read: only the attachment is encrypted.
  'pdf-encrypted/auth-event-ef-open.pdf': 'text',
  // A custom handler opens the file without a password; its page has a form field and no text.
  'pdf-encrypted/secHandler.pdf': 'no_text_extracted',
  'docx/empty.docx': 'no_text_extracted',
  // Only pictures.
  'docx/external-picture.docx': 'no_text_extracted',
  'docx/tiny-picture.docx': 'no_text_extracted',
  'docx/tiny-picture-target-base-relative.docx': 'no_text_extracted',
  'docx-nasty/poc-shared-strings.xlsx': 'file_unreadable',
};

/**
 * Results of JSONTestSuite files: y_ is well-formed, n_ is not, i_ may be either. A value without words gives no text.
 */
const jsonExpectation = (name: string): RegExp =>
  name.startsWith('y_')
    ? /^(text|no_text_extracted)$/
    : name.startsWith('n_')
      ? /^file_unreadable$/
      : /^(text|file_unreadable|no_text_extracted)$/;

test('each file of the manifest has its result, and the worker survives', { skip }, async () => {
  const manifest = parse(readFileSync(`${FILES}/manifest.csv`), { columns: true }) as Entry[];
  const present = manifest.filter(({ file }) => existsSync(`${FILES}/${file}`));
  assert.ok(present.length > 250, `${present.length} files`);
  const wrong: string[] = [];
  const read = present.map(async (entry) => ({ ...entry, got: named(await extracted(entry.file)) }));
  for (const { file, kind, expectation, got } of await Promise.all(read)) {
    const name = file.split('/').pop() as string;
    const wanted =
      BY_FILE[file] !== undefined
        ? new RegExp(`^${BY_FILE[file]}$`)
        : file.startsWith('json-parsing/')
          ? jsonExpectation(name)
          : (BY_KIND[kind] ?? /^$/);
    if (!wanted.test(got)) wrong.push(`${file} (${kind}: ${expectation}) is ${got}, not ${wanted}`);
  }
  assert.deepEqual(wrong, []);
});

const KNOWN: [string, string, RegExp][] = [
  ['pdf-text/tracemonkey.pdf', 'page_0.0', /Trace-based Just-in-Time Type Specialization for Dynamic/],
  ['pdf-text/freeculture.pdf', 'page_125.1', /two to three million recordings of mu-\nsic/],
  ['pdf-text/pdfkit.pdf', 'page_0', /^Header\nFoo: bar\nABC: DEF$/],
  ['pdf-text/copy_paste_ligatures.pdf', 'page_0', /^abcdeffffiflffiffl/],
  ['pdf-malformed/bug1606566.pdf', 'page_0', /^Bug 1606566$/],
  ['docx/pandoc_unicode.docx', 'chunk_0', /^Hello, 世界\. This costs €10\./],
  ['docx/footnote-hyperlink.docx', 'chunk_0', /Example/],
  ['docx/utf8-bom.docx', 'chunk_0', /^This XML has a byte order mark\.$/],
  ['html/hukumusume.html', 'chunk_0', /福娘童話集/],
  ['html/tika_big-preamble.html', 'chunk_4', /недвижимости в аренду/],
  ['csv/utf8.csv', 'row_1', /^a: 4\nb: 5\nc: ʤ$/],
];
for (const [file, path, words] of KNOWN) {
  test(`${file} has its words at ${path}`, { skip }, async () => {
    const chunks = await extracted(file);
    assert.ok(typeof chunks !== 'string', String(chunks));
    assert.match(chunks.find((chunk) => chunk.path === path)?.text ?? '', words);
  });
}

test('no script, style or hidden text of a web page is indexed', { skip }, async () => {
  for (const file of ['html/remove-script-tags.html', 'html/wapo-1.html', 'html/guardian-1.html']) {
    const chunks = await extracted(file);
    assert.ok(typeof chunks !== 'string');
    assert.doesNotMatch(
      chunks.map(({ text }) => text).join('\n'),
      /function\s*\(|<script|var \w+ =|\{\s*display:/,
      file,
    );
  }
});
