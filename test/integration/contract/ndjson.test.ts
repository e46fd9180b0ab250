// NDJSON batches over a real socket: one result for each line while further lines are still arriving, then the summary.
import assert from 'node:assert/strict';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { test } from 'node:test';
import { startTestServer } from '../../kit/server.js';

const server = await startTestServer({ SHEAF_LIMITS__MAX_JSON_BYTES: '1048576' });
const { call, url } = server;
const path = (name: string): string => `/v1/collections/acme/${name}/documents:batch`;
const ndjson = { 'content-type': 'application/x-ndjson', 'x-request-id': 'lines-1' };
const linesOf = (text: string): Record<string, any>[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, any>);

test('results in order, the summary last', async () => {
  const body = '{"docid":"a","text":"one"}\n{"text":""}\nnot json\n\n{"docid":"b","text":"two"}';
  const { status, headers, text } = await call('POST', path('lines'), body, ndjson);
  assert.deepEqual(
    [status, headers.get('content-type'), headers.get('x-request-id')],
    [201, 'application/x-ndjson', 'lines-1'],
  );
  const [a, empty, bad, b, summary, ...rest] = linesOf(text);
  assert.deepEqual(
    [a, b],
    [
      { index: 0, ok: true, docid: 'a', chunks: 1, version: 1 },
      { index: 3, ok: true, docid: 'b', chunks: 1, version: 1 },
    ],
  );
  assert.deepEqual(
    [empty?.index, empty?.ok, empty?.code, bad?.index, bad?.ok, bad?.code],
    [1, false, 'no_text_extracted', 2, false, 'invalid_item'],
  );
  assert.deepEqual(
    [summary?.ok, summary?.count, summary?.succeeded, summary?.failed, summary?.request_id],
    [true, 4, 2, 2, 'lines-1'],
  );
  assert.equal(typeof summary?.latency_ms, 'number');
  assert.equal(rest.length, 0);
});

test('no lines at all are a count of 0', async () => {
  const { status, text } = await call('POST', path('none'), '\n\n', ndjson);
  assert.deepEqual([status, linesOf(text).map(({ count }) => count)], [201, [0]]);
});

/** A request whose body the test writes piece by piece. */
async function openRequest(
  name: string,
): Promise<{ send: (line: object) => void; end: () => void; answer: Promise<IncomingMessage>; cut: () => void }> {
  const request = httpRequest(`${url}${path(name)}`, { method: 'POST', headers: ndjson });
  request.on('error', () => {});
  const answer = once(request, 'response').then(([response]) => response as IncomingMessage);
  answer.catch(() => {});
  request.flushHeaders();
  return {
    answer,
    send: (line) => void request.write(`${JSON.stringify(line)}\n`),
    end: () => void request.end(),
    cut: () => request.destroy(),
  };
}

test('each result comes while the body is still open, and more than a JSON body may have in all', async () => {
  const { send, end, answer } = await openRequest('open');
  send({ docid: 'D0', text: 'x'.repeat(200_000) });
  const response = await answer;
  assert.equal(response.statusCode, 201);
  let received = '';
  let sent = 1;
  for await (const piece of response) {
    received += String(piece);
    const results = linesOf(received.slice(0, received.lastIndexOf('\n') + 1));
    if (results.length < sent || sent > 12) continue;
    if (sent === 12) end();
    else send({ docid: `D${sent}`, text: 'x'.repeat(200_000) });
    sent++;
  }
  const lines = linesOf(received);
  assert.deepEqual(
    lines.slice(0, -1).map(({ docid, ok }) => [docid, ok]),
    Array.from({ length: 12 }, (_, i) => [`D${i}`, true]),
  );
  assert.deepEqual([lines.at(-1)?.count, lines.at(-1)?.failed], [12, 0]);
});

test('a client that goes away stops it; what had a result is there', async () => {
  const { send, answer, cut } = await openRequest('gone');
  send({ docid: 'kept', text: 'kept' });
  const response = await answer;
  response.on('error', () => {});
  await once(response, 'data');
  send({ docid: 'half' });
  cut();
  assert.equal((await call('GET', '/v1/collections/acme/gone/documents/kept')).status, 200);
  assert.equal((await call('POST', path('gone'), '{"docid":"next","text":"next"}', ndjson)).status, 201);
});

test('no internal error was logged', () => {
  assert.deepEqual(server.faults, []);
});
