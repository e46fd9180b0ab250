// Requests for which two readers could disagree about the end, over a raw socket: each is rejected, and whatever
// follows it in the same TCP segment is not executed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RawClient } from '../../kit/http/raw-client.js';
import { startTestServer } from '../../kit/server.js';

const server = await startTestServer();
const victim = '/v1/collections/acme/victim';
const HIDDEN = `DELETE ${victim} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
const BODY = '{"q":"a"}';
const LAST_CHUNK = '0\r\n\r\n';

/**
 * Everything that is answered before the connection is closed, or within the time that the hidden request would take.
 */
async function answersTo(bytes: string): Promise<string> {
  await server.call('POST', victim, {});
  const client = await RawClient.open(server.port);
  client.send(Buffer.from(bytes, 'latin1'));
  let received = '';
  client.socket.on('data', (piece) => (received += piece.toString('latin1')));
  await Promise.race([new Promise((resolve) => client.socket.once('close', resolve)), survives()]);
  client.destroy();
  return received;
}

/** Asserts that the victim still exists several requests later. */
async function survives(): Promise<void> {
  for (let at = 0; at < 20; at++) assert.equal((await server.call('GET', `${victim}/detail`)).status, 200, 'executed');
}

const post = (headers: readonly string[], body: string): string =>
  `POST /v1/collections/acme/docs/search HTTP/1.1\r\nHost: localhost\r\n${headers.map((line) => `${line}\r\n`).join('')}\r\n${body}`;

const REFUSED: Record<string, [string[], string]> = {
  'lengths 0 and n': [['Content-Length: 0', 'Content-Length: 9'], BODY],
  'lengths n and 0': [['Content-Length: 9', 'Content-Length: 0'], BODY],
  'lengths of which one is empty': [['Content-Length: ', 'Content-Length: 9'], BODY],
  'length 0, and the hidden request as a body': [['Content-Length: 0', `Content-Length: ${HIDDEN.length}`], ''],
  'chunked, identity': [['Transfer-Encoding: chunked, identity'], LAST_CHUNK],
  'gzip, chunked': [['Transfer-Encoding: gzip, chunked'], LAST_CHUNK],
  'chunked twice': [['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'], LAST_CHUNK],
  'chunked, then identity': [['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'], LAST_CHUNK],
  identity: [['Transfer-Encoding: identity'], ''],
  xchunked: [['Transfer-Encoding: xchunked'], LAST_CHUNK],
  'an empty coding': [['Transfer-Encoding: '], LAST_CHUNK],
  'an empty coding beside a length': [['Transfer-Encoding: ', 'Content-Length: 9'], BODY],
  'a coding beside an empty length': [['Transfer-Encoding: chunked', 'Content-Length: '], LAST_CHUNK],
  ...Object.fromEntries(
    ['+0', '-0', '+9', '9, 9', '0x0', '0x9', '0.0', '1e0', '9;', '0 0', '', 'NaN', '\xb2', '9'.repeat(18)].map(
      (length) => [`length ${length}`, [[`Content-Length: ${length}`], '']],
    ),
  ),
  'two hosts': [['Host: other'], ''],
};

for (const [name, [headers, body]] of Object.entries(REFUSED))
  test(`rejected, and no hidden request is executed: ${name}`, async () => {
    const received = await answersTo(post(headers, body) + HIDDEN);
    const [head = '', text = ''] = received.split('\r\n\r\n');
    assert.match(head, /^HTTP\/1\.1 4(22 Unprocessable Entity|00 Bad Request)\r\n/);
    assert.match(head, /\r\nConnection: close/);
    assert.match(head, /\r\nX-Request-ID: /);
    const { ok, code } = JSON.parse(text) as { ok: boolean; code: string };
    assert.deepEqual(
      [ok, code],
      [
        false,
        /^(length |two hosts)/.test(name) && !name.startsWith('length 0,') ? 'invalid_request' : 'validation_error',
      ],
    );
    assert.equal(received.match(/HTTP\/1\.1/g)?.length, 1, 'one answer');
    await survives();
  });

/** Requests that the HTTP library rejects by itself, or reads differently. */
const DROPPED: Record<string, [string[], string]> = {
  'a coding beside a length': [['Transfer-Encoding: chunked', 'Content-Length: 5'], LAST_CHUNK],
  'a length beside a coding': [['Content-Length: 5', 'Transfer-Encoding: chunked'], LAST_CHUNK],
  'a folded line': [['X: a', ' b', 'Content-Length: 0'], ''],
  'a folded length': [['Content-Length:', ' 9'], ''],
  'a bare line feed': [['X: a\nContent-Length: 0'], ''],
  'a bare carriage return': [['X: a\rContent-Length: 0'], ''],
  'space before the colon': [['Content-Length : 9'], ''],
  'a coding with space before the colon': [['Transfer-Encoding : chunked'], LAST_CHUNK],
  'a coding behind a vertical tab': [['Transfer-Encoding: \x0bchunked'], LAST_CHUNK],
  'a coding in tabs': [['Transfer-Encoding:\tchunked\t'], LAST_CHUNK],
  'NUL in a value': [['X: a\x00b'], ''],
  ...Object.fromEntries(
    [
      `9;a=b\r\n${BODY}\r\n${LAST_CHUNK}`,
      `9;a\nb\r\n${BODY}\r\n${LAST_CHUNK}`,
      `9 \r\n${BODY}\r\n${LAST_CHUNK}`,
      ` 9\r\n${BODY}\r\n${LAST_CHUNK}`,
      `9\n${BODY}\n0\n\n`,
      `0x9\r\n${BODY}\r\n${LAST_CHUNK}`,
      `-1\r\n${BODY}\r\n${LAST_CHUNK}`,
      `5\r\n${BODY}\r\n${LAST_CHUNK}`,
      `\r\n${BODY}\r\n${LAST_CHUNK}`,
      `FFFFFFFFFFFFFFFFF\r\n${BODY}\r\n${LAST_CHUNK}`,
      `10000000000000009\r\n${BODY}\r\n${LAST_CHUNK}`,
      `100000009\r\n${BODY}\r\n${LAST_CHUNK}`,
    ].map((chunks) => [`chunks ${JSON.stringify(chunks.slice(0, 20))}`, [['Transfer-Encoding: chunked'], chunks]]),
  ),
};

for (const [name, [headers, body]] of Object.entries(DROPPED))
  test(`no hidden request is executed: ${name}`, async () => {
    await answersTo(post(headers, body) + HIDDEN);
    await survives();
  });

test('one clear request behind another is answered, and chunks as they should be are read', async () => {
  const client = await RawClient.open(server.port);
  const health = 'GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n';
  client.send(health + health);
  for (const _ of [1, 2]) assert.equal((await client.reply()).status, 200);
  client.send(
    post(['Transfer-Encoding: Chunked'], `4\r\n${BODY.slice(0, 4)}\r\n5\r\n${BODY.slice(4)}\r\n${LAST_CHUNK}`),
  );
  assert.equal((await client.reply()).status, 200);
  client.send(post(['Content-Length: 9', 'Content-Length: 9'], BODY));
  assert.equal((await client.reply()).status, 200);
  client.destroy();
});

test('a head may have 16 KiB, in one piece or several; a longer one is told so', async () => {
  for (const [headerBytes, status] of [
    [5000, 200],
    [15_500, 200],
    [17_000, 431],
    [40_000, 431],
  ] as const)
    for (const pieces of [1, 3]) {
      const client = await RawClient.open(server.port);
      const head = `GET /health/live HTTP/1.1\r\nHost: localhost\r\nCookie: ${'a'.repeat(headerBytes)}\r\n\r\n`;
      const step = Math.ceil(head.length / pieces);
      for (let at = 0; at < head.length; at += step) {
        client.send(head.slice(at, at + step));
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      const reply = await client.reply();
      assert.equal(reply.status, status, `${headerBytes} in ${pieces}`);
      if (status === 431) {
        const { code, details } = JSON.parse(reply.body.toString()) as { code: string; details: object };
        assert.deepEqual([code, details], ['request_head_too_large', { limit_bytes: 16_384 }]);
      }
      client.destroy();
    }
});
