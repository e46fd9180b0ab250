// The batch pool with files that take too much memory, and with more of them than it takes: these are rejected, and
// others do not notice. Uses real workers. test/system covers a file that hangs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PrepareRequest } from '../../../src/extract/messages.js';
import { docx } from '../../kit/extract.js';
import { faults, file, json, open, settings, slow, textOf } from '../../kit/pools.js';

/** Millions of empty lists: a few bytes each in the file, many in memory. */
const hoard = (): Buffer => Buffer.from(`[${'[],'.repeat(4_000_000)}[]]`);

test('a file that takes more memory than it may is ended; what waits is done by the successor of its thread', async () => {
  const pool = open({ memoryBytesMax: 2 ** 28 });
  const died = assert.rejects(pool.prepare(file('hoard.docx', await docx('<w:p/>'.repeat(3_000_000)))), {
    code: 'file_unreadable',
    message: /memory/,
  });
  const behind = Promise.all(['{"a":1}', '{"a":2}'].map((text) => pool.prepare(file('a.json', Buffer.from(text)))));
  await died;
  assert.deepEqual((await behind).map(textOf), ['a: 1', 'a: 2']);
});

test('a parser is not stopped for memory that others take meanwhile', async () => {
  const pool = open({ timeoutMs: 8000, memoryBytesMax: 2 ** 24 });
  const reading = assert.rejects(pool.prepare(file('slow.pdf', slow())), {
    code: 'file_unreadable',
    message: /longer/,
  });
  // The process allocates more than the limit plus a thread's own memory, several times over.
  const others = [];
  for (let i = 0; i < 24; i++) {
    others.push(Buffer.alloc(32 * 2 ** 20, i + 1));
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await reading;
  assert.equal(others.length, 24);
});

test('JSON that would take more memory or have more values than it may is refused before it is parsed', async () => {
  const pool = open({ memoryBytesMax: 2 ** 26 });
  await assert.rejects(pool.prepare(file('hoard.json', hoard())), { code: 'file_unreadable', message: /memory/ });
  const body: PrepareRequest = {
    ...settings,
    body: { kind: 'json', bytes: Buffer.from(`{"text":"a","metadata":{"x":${hoard().toString()}}}`) },
  };
  await assert.rejects(pool.prepare(body), { code: 'invalid_document_json', message: /at most \d+ values/ });
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

test('short documents, which take no thread, are prepared and refused as long ones are', async () => {
  const pool = open({});
  const documentOf = (fields: object, bytes: number): PrepareRequest => {
    const short = { docid: 'a', text: 'Twenty leagues.', ...fields };
    const long = JSON.stringify({ ...short, metadata: { more: 'x'.repeat(bytes) } });
    return { ...settings, body: { kind: 'json', bytes: Buffer.from(long) } };
  };
  for (const fields of [{}, { text: 7 }, { text: ' ' }, { metadatum: {} }, { docid: 'a/b' }]) {
    const [short, long] = await Promise.all(
      [1, 2000].map((bytes) =>
        pool.prepare(documentOf(fields, bytes)).then(
          (answer) => [answer.docid, answer.chunks, textOf(answer)],
          ({ code, message }: Error & { code?: string }) => [code, message],
        ),
      ),
    );
    assert.deepEqual(short, long);
  }
  await pool.kill();
  assert.equal(textOf(await pool.prepare(documentOf({}, 1))), 'Twenty leagues.');
});

test('deaths of parsers are handled, and not logged as internal errors', () => {
  assert.deepEqual(faults, []);
});
