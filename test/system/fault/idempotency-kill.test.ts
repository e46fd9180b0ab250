// A server that is killed amid writes with idempotency keys: after each restart every request is repeated with its key.
// What was answered before is answered again, and each document, each item of a batch and each patch is written exactly
// once, also those whose answer the kill has cut off.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ServeProcess, startServe } from '../../kit/process.js';
import { tempDirectory } from '../../kit/temp.js';
import { createPrng } from '../../../src/base/prng.js';

const ROUNDS = 4;
const WRITERS = 6;
const BATCH_ITEMS = 40;
const DOCUMENTS = '/v1/collections/acme/docs/documents';

interface Write {
  readonly method: 'POST' | 'PATCH';
  readonly path: string;
  readonly body: object;
  readonly key: string;
  /** The first answer that came. */
  answer?: Record<string, unknown>;
}

async function send(url: string, write: Write): Promise<Record<string, unknown>> {
  const { method, path, body, key } = write;
  for (;;) {
    const headers = { 'content-type': 'application/json', 'idempotency-key': key };
    const response = await fetch(`${url}${path}`, { method, body: JSON.stringify(body), headers });
    const { latency_ms: _, request_id: _id, ...answer } = (await response.json()) as Record<string, unknown>;
    if (response.ok) return answer;
    assert.ok(response.status === 503, JSON.stringify(answer));
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test('a retry after a kill gets the first answer and writes nothing twice', async () => {
  const env = { SHEAF_DATA_DIR: tempDirectory(), SHEAF_SERVER__THREADS: '2' };
  const prng = createPrng(25);
  const writes: Write[] = [];
  let server: ServeProcess & { url: string } = await startServe(env);
  await send(server.url, { method: 'POST', path: DOCUMENTS, body: { docid: 'patched', text: 'a text' }, key: 'first' });
  let patches = 0;
  for (let round = 0; round < ROUNDS; round++) {
    let isAlive = true as boolean;
    let answered = 0;
    const { url, child, ended } = server;
    const killAfter = 20 + prng.int(30);
    const write = async (next: Write): Promise<void> => {
      writes.push(next);
      try {
        next.answer = await send(url, next);
        if (++answered === killAfter) child.kill('SIGKILL');
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        isAlive = false;
      }
    };
    const writer = async (number: number): Promise<void> => {
      for (let i = 0; isAlive; i++) {
        const key = `${round}-${number}-${i}`;
        if (number === 0) {
          patches++;
          await write({
            method: 'PATCH',
            path: `${DOCUMENTS}/patched`,
            body: { metadata: { [`p${patches}`]: 1 } },
            key,
          });
        } else if (number === 1) {
          const documents = Array.from({ length: BATCH_ITEMS }, (_, item) => ({ text: `text ${key} ${item}` }));
          await write({ method: 'POST', path: `${DOCUMENTS}:batch`, body: { documents }, key });
        } else await write({ method: 'POST', path: DOCUMENTS, body: { text: `text ${key}` }, key });
      }
    };
    await Promise.all(Array.from({ length: WRITERS }, (_, number) => writer(number)));
    await ended;
    server = await startServe(env);
    for (const one of writes) {
      const again = await send(server.url, one);
      assert.deepEqual(again, one.answer ?? again);
      one.answer = again;
    }
  }
  const listed = (await (await fetch(`${server.url}${DOCUMENTS}`)).json()) as {
    documents: { docid: string; version: number }[];
  };
  const made = writes
    .filter(({ method }) => method === 'POST')
    .flatMap(({ answer }) => (answer?.documents as { docid: string }[] | undefined) ?? [answer as { docid: string }])
    .map(({ docid }) => docid);
  assert.deepEqual(listed.documents.map(({ docid }) => docid).sort(), ['patched', ...made].sort());
  assert.equal(new Set(made).size, made.length);
  // Each patch has made one version.
  assert.equal(listed.documents.find(({ docid }) => docid === 'patched')?.version, 1 + patches);
});
