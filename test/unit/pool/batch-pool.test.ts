// The batch pool against files that hang or hoard: they are ended and refused, others never notice. Real workers.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { unpackDocument } from '../../../src/contract/prepared-document.js';
import type { PrepareAnswer, PrepareRequest } from '../../../src/contract/prepare-messages.js';
import { BatchPool } from '../../../src/pool/batch-pool.js';
import { docx, pdf, pdfText } from '../../kit/batch/packages.js';

const faults: unknown[] = [];
const log = { debug: () => {}, info: () => {}, warn: () => {}, error: (fields: object) => void faults.push(fields) };
const settings = {
  space: { dim: 4, embedder_type: 'builtin', embed_model: 'm', embedder_config: {}, vector_space_key: 'k' },
  chunking: { strategy: 'none' as const },
  priorityKey: 'p',
  nowMs: 0,
  metadataBytesMax: 65_536,
};

function open(limits: { timeoutMs?: number; memoryMb?: number }): BatchPool {
  const pool = new BatchPool(1, { timeoutMs: 60_000, memoryMb: 512, textBytesMax: 2 ** 28, ...limits }, log);
  after(() => pool.close());
  return pool;
}

const file = (name: string, bytes: Uint8Array): PrepareRequest => ({
  ...settings,
  body: {
    kind: 'file',
    name,
    type: '',
    docid: '',
    metadata: '',
    csv: { header: 'auto', metaColumns: '', includeColumns: '' },
    bytes,
  },
});
const json = (text: string): PrepareRequest => ({
  ...settings,
  body: { kind: 'json', bytes: Buffer.from(JSON.stringify({ text })) },
});
const textOf = (answer: PrepareAnswer): string | undefined => unpackDocument(answer.document).chunks[0]?.text;

/**
 * Operators that a small file unpacks to, page for page: it takes a parser minutes to find that nothing is drawn, on
 * the fastest machine too.
 */
const slow = (): Buffer => pdf(new Array<Buffer>(100).fill(Buffer.alloc(40 * 2 ** 20, 'q Q ')));

/** Millions of empty lists: a few bytes each in the file, many in memory. */
const hoard = (): Buffer => Buffer.from(`[${'[],'.repeat(4_000_000)}[]]`);

test('a parser that hangs is ended after the limit; what waits behind it is done, JSON does not wait at all', async () => {
  // Those behind it have to start a thread and be read within that, on the slowest machine too.
  const pool = open({ timeoutMs: 20_000 });
  let hanging = true;
  const hung = assert
    .rejects(pool.prepare(file('hang.pdf', slow())), { code: 'file_unreadable', message: /longer/ })
    .finally(() => (hanging = false));
  const behind = Promise.all(
    ['one', 'two', 'three'].map((word) => pool.prepare(file(`${word}.pdf`, pdf([pdfText(word)])))),
  );
  assert.equal(textOf(await pool.prepare(json('at once'))), 'at once');
  assert.equal(textOf(await pool.prepare(file('note.txt', Buffer.from('a note')))), 'a note');
  assert.equal(hanging, true, 'JSON and plain text did not wait for the file');
  await hung;
  assert.deepEqual((await behind).map(textOf), ['one', 'two', 'three']);
});

test('a file that takes more memory than it may is ended; what waits is done by the successor of its thread', async () => {
  const pool = open({ memoryMb: 256 });
  const died = assert.rejects(pool.prepare(file('hoard.docx', await docx('<w:p/>'.repeat(3_000_000)))), {
    code: 'file_unreadable',
    message: /memory/,
  });
  const behind = Promise.all(['{"a":1}', '{"a":2}'].map((text) => pool.prepare(file('a.json', Buffer.from(text)))));
  await died;
  assert.deepEqual((await behind).map(textOf), ['a: 1', 'a: 2']);
});

test('JSON that would take more memory than it may is refused before it is parsed, as file and as body', async () => {
  const pool = open({ memoryMb: 64 });
  await assert.rejects(pool.prepare(file('hoard.json', hoard())), { code: 'file_unreadable', message: /memory/ });
  const body: PrepareRequest = {
    ...settings,
    body: { kind: 'json', bytes: Buffer.from(`{"text":"a","metadata":{"x":${hoard().toString()}}}`) },
  };
  await assert.rejects(pool.prepare(body), { code: 'file_unreadable', message: /memory/ });
  assert.equal(textOf(await pool.prepare(json('after'))), 'after');
});

test('too many that wait are shed at once; those that wait when the pool is closed are refused', async () => {
  const pool = open({});
  const codes: string[] = [];
  const first = file('hang.pdf', slow());
  const asked = Array.from({ length: 1030 }, (_, i) =>
    pool
      .prepare(i === 0 ? first : file('a.json', Buffer.from('{}')), `tenant ${i % 2}`)
      .catch((error: Error & { code: string }) => void codes.push(error.code)),
  );
  await Promise.all(asked.slice(1024));
  assert.deepEqual(
    codes,
    Array.from({ length: 6 }, () => 'overloaded'),
  );
  await pool.close();
  await Promise.all(asked);
  assert.equal(codes.filter((code) => code === 'overloaded').length, 1030);
});

test('deaths were met, not logged as faults of ours', () => {
  assert.deepEqual(faults, []);
});
