// The batch pool with a file that makes its parser hang: the parser is killed and the file rejected, and others do not
// notice. Uses real workers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pdf, pdfText } from '../../kit/extract.js';
import { faults, file, json, open, slow, textOf } from '../../kit/pools.js';

test('a parser that hangs is ended after the limit; what waits behind it is done, JSON does not wait at all', async () => {
  // Within this time a new thread has to start and read the requests that wait, on the slowest machine too.
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
  assert.deepEqual(faults, [], 'the death was met, not logged as an internal error');
});
