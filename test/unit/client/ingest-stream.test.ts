// Ingests by NDJSON in both directions: results arrive while documents are still being sent. Covers client errors,
// broken connections, silence, and callers that stop early.
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { test, type TestContext } from 'node:test';
import { SheafClient } from '../../../src/client/client.js';
import type { BatchItemResult, IngestBody } from '../../../src/api/documents.js';
import { until } from '../../kit/until.js';

const SUMMARY = { ok: true, count: 0, succeeded: 0, failed: 0, latency_ms: 1, request_id: 'r' };

type Handle = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

async function start(t: TestContext, handle: Handle, timeoutMs = 10_000): Promise<SheafClient> {
  const server = createServer((request, response) => void handle(request, response).catch(() => response.destroy()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => (server.closeAllConnections(), server.close()));
  return new SheafClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, timeoutMs });
}

/** Answers each line with a result as it comes, then with the summary. */
const answering: Handle = async (request, response) => {
  response.writeHead(201, { 'content-type': 'application/x-ndjson' });
  let count = 0;
  for await (const line of createInterface({ input: request })) {
    const { docid } = JSON.parse(line) as IngestBody;
    response.write(`${JSON.stringify({ index: count++, ok: true, docid, chunks: 1 })}\n`);
  }
  response.end(`${JSON.stringify({ ...SUMMARY, count, succeeded: count })}\n`);
};

async function* documents(
  count: number,
  before: (at: number) => Promise<unknown> = async () => undefined,
): AsyncGenerator<IngestBody> {
  for (let at = 0; at < count; at++) {
    await before(at);
    yield { docid: `d${at}`, text: 'naïve 😀' };
  }
}

async function taken(results: AsyncGenerator<BatchItemResult, unknown>): Promise<BatchItemResult[]> {
  const all: BatchItemResult[] = [];
  for await (const result of results) all.push(result);
  return all;
}

test('a result comes before the next document is asked for', async (t) => {
  const client = await start(t, answering);
  const seen: string[] = [];
  let told: () => void = () => undefined;
  const source = documents(3, async (at) => {
    if (at > 0) await new Promise<void>((resolve) => (seen.length >= at ? resolve() : (told = resolve)));
  });
  for await (const { docid } of client.ingestStream('acme', 'docs', source)) {
    seen.push(docid ?? '');
    told();
  }
  assert.deepEqual(seen, ['d0', 'd1', 'd2']);
});

test('many documents from a plain list, and the summary as the end', async (t) => {
  const client = await start(t, answering);
  const results = client.ingestStream(
    'acme',
    'docs',
    Array.from({ length: 5000 }, (_, at) => ({ docid: `d${at}`, text: 'x'.repeat(at % 300) })),
  );
  let count = 0;
  for (;;) {
    const { done, value } = await results.next();
    if (done) {
      assert.deepEqual(value, { ...SUMMARY, count: 5000, succeeded: 5000 });
      break;
    }
    assert.equal(value.docid, `d${count++}`);
  }
  assert.equal(count, 5000);
});

test('an error for the client is a SheafError, and the source is closed', async (t) => {
  let closed = false;
  async function* endless(): AsyncGenerator<IngestBody> {
    try {
      for (;;) yield { text: 'x'.repeat(1000) };
    } finally {
      closed = true;
    }
  }
  const client = await start(t, async (_request, response) => {
    response.writeHead(401, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ ok: false, code: 'auth_invalid', error: 'No.' }));
  });
  await assert.rejects(taken(client.ingestStream('acme', 'docs', endless())), {
    name: 'SheafError',
    status: 401,
    code: 'auth_invalid',
  });
  assert.ok(closed);
});

test('what the source throws is thrown', async (t) => {
  const client = await start(t, answering);
  const failing = documents(5, async (at) => {
    if (at === 3) throw new RangeError('no more');
  });
  await assert.rejects(taken(client.ingestStream('acme', 'docs', failing)), { name: 'RangeError', message: 'no more' });
});

test('an answer without its summary, a broken connection and silence are SheafUnreachable', async (t) => {
  const cut = await start(t, async (_request, response) => void response.writeHead(201).end('{"index":0,"ok":true}\n'));
  await assert.rejects(taken(cut.ingestStream('acme', 'docs', documents(1))), {
    name: 'SheafUnreachable',
    message: /ended early/,
  });
  const broken = await start(t, async (request) => void request.socket.destroy());
  await assert.rejects(taken(broken.ingestStream('acme', 'docs', documents(1))), { name: 'SheafUnreachable' });
  const silent = await start(t, async () => undefined, 100);
  await assert.rejects(taken(silent.ingestStream('acme', 'docs', documents(1))), {
    name: 'SheafUnreachable',
    message: /timeout/,
  });
});

test('a slow source and a slow taker are no silence', async (t) => {
  const client = await start(t, answering, 60_000);
  // Two minutes by the mocked clock that measures the silence; the server does not answer meanwhile.
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const pause = async (): Promise<void> => {
    await new Promise(setImmediate);
    t.mock.timers.tick(120_000);
  };
  let count = 0;
  for await (const _ of client.ingestStream('acme', 'docs', documents(2, pause))) {
    count += 1;
    await pause();
  }
  assert.equal(count, 2);
});

test('a taker who stops early, and a signal, end the request', async (t) => {
  let ended = 0;
  const client = await start(t, async (request, response) => {
    request.on('close', () => (ended += 1));
    await answering(request, response);
  });
  for await (const _ of client.ingestStream('acme', 'docs', documents(100_000))) break;
  const controller = new AbortController();
  const source = documents(2, (at) => (at === 0 ? Promise.resolve() : new Promise(() => undefined)));
  const results = client.ingestStream('acme', 'docs', source, { signal: controller.signal });
  assert.equal((await results.next()).done, false);
  controller.abort();
  await assert.rejects(results.next(), { name: 'AbortError' });
  await until(
    () => ended === 2,
    () => `${ended} requests have ended`,
  );
});
