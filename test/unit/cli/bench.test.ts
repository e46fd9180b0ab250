// `sheaf bench` against servers that answer in every way that HTTP allows: in pieces, in chunks, with connections that
// end. Client errors and servers that go away end it at once; many connections are no leak.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { runInProcess } from '../../kit/cli.js';
import { startFakeServer } from '../../kit/fake-server.js';
import { tempDirectory } from '../../kit/temp.js';

const QUERIES = join(tempDirectory(), 'queries.txt');
writeFileSync(QUERIES, 'captain\nнаутилус\n"quoted" \\ words\n');
const TIMING = { embed_ms: 1, filter_ms: 0, hydrate_ms: 0.25, search_ms: 2 };
const ANSWER = JSON.stringify({
  ok: true,
  matches: [{ id: 'a::chunk_0', score: 1, text: '"timing":{"search_ms":99}', meta: { timing: { search_ms: 99 } } }],
  timing: TIMING,
});

const bench = (url: string, ...args: string[]) =>
  runInProcess(['bench', '--url', url, '--queries', QUERIES, '--seconds', '0.3', '--json', ...args]);

/** Starts a server that answers each complete request with what `answer` writes. */
async function startRaw(t: TestContext, answer: (socket: Socket, body: string, nth: number) => void): Promise<string> {
  let nth = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    let received = '';
    socket.on('data', (piece) => {
      received += piece.toString();
      const bytes = Number(/content-length: (\d+)/.exec(received)?.[1] ?? Number.NaN);
      const [, body = ''] = received.split('\r\n\r\n');
      if (Buffer.byteLength(body) < bytes) return;
      received = '';
      answer(socket, body, nth++);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

const head = (fields: string): string => `HTTP/1.1 200 OK\r\n${fields}\r\n\r\n`;
const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

test('answers are read as they come: whole, in pieces, in chunks, with the end of the connection', async (t) => {
  const queries = new Set<string>();
  const whole = `${head(`Content-Length: ${Buffer.byteLength(ANSWER)}`)}${ANSWER}`;
  const inChunks = `${head('Transfer-Encoding: chunked')}${chunk('0\r\n\r\n')}${chunk(ANSWER)}0\r\n\r\n`;
  const last = `${head(`connection: close\r\ncontent-length: ${Buffer.byteLength(ANSWER)}`)}${ANSWER}`;
  const url = await startRaw(t, (socket, body, nth) => {
    queries.add((JSON.parse(body) as { q: string }).q);
    if (nth % 5 === 0) socket.write(whole);
    else if (nth % 5 === 1) {
      socket.setNoDelay(true);
      for (let at = 0; at < whole.length; at += 97) socket.write(whole.slice(at, at + 97));
    } else if (nth % 5 === 2) {
      // The first chunk ends with what looks like the end of the whole body.
      const at = inChunks.indexOf('0\r\n\r\n') + 5;
      socket.setNoDelay(true).write(inChunks.slice(0, at));
      setImmediate(() => socket.write(inChunks.slice(at)));
    } else if (nth % 5 === 3) {
      // The last chunk comes in two pieces.
      socket.setNoDelay(true).write(inChunks.slice(0, -2));
      setTimeout(() => socket.write(inChunks.slice(-2)), 2);
    } else socket.end(last);
  });
  const { code, stdout, stderr } = await bench(url, '--connections', '3');
  const measured = JSON.parse(stdout) as Record<string, any>;
  assert.deepEqual([code, measured.failed], [0, 0], stderr);
  assert.ok(measured.searches > 8, stdout);
  assert.deepEqual(measured.server_ms, { embed: 1, filter: 0, hydrate: 0.25, search: 2 });
  assert.deepEqual([...queries].toSorted(), ['"quoted" \\ words', 'captain', 'наутилус']);
});

test('a connection that the server has closed meanwhile is opened again, one that breaks off is told', async (t) => {
  const answer = `${head(`content-length: ${ANSWER.length}`)}${ANSWER}`;
  const closing = await startRaw(t, (socket) => {
    socket.write(answer);
    setTimeout(() => socket.destroy(), 5);
  });
  const { code, stdout, stderr } = await bench(closing, '--connections', '1', '--rate', '20', '--seconds', '1');
  assert.deepEqual([code, (JSON.parse(stdout) as { searches: number }).searches], [0, 20], stderr);
  const breaking = await startRaw(t, (socket) => socket.end(answer.slice(0, -1)));
  const broken = await bench(breaking);
  assert.deepEqual([broken.code, /No answer from .*: the server closed the connection/.test(broken.stderr)], [3, true]);
  const talking = await startRaw(t, (socket) => socket.write('SSH-2.0-OpenSSH\r\n'.repeat(5000)));
  assert.match((await bench(talking)).stderr, /the answer is not HTTP/);
});

test('an error for the client of every search ends it at once, one of now and then is counted', async (t) => {
  const refusing = await startFakeServer(t, () => ({
    status: 401,
    json: { ok: false, code: 'auth_invalid', error: 'No.' },
  }));
  const refused = await bench(refusing.url, '--seconds', '3600', '--connections', '16');
  assert.deepEqual([refused.code, /auth_invalid/.test(refused.stderr)], [1, true]);
  assert.ok(refusing.requests.length <= 16);
  let nth = 0;
  const shedding = await startFakeServer(t, () =>
    nth++ % 2 === 0
      ? { status: 503, json: { ok: false, code: 'overloaded', error: 'Later.' } }
      : { json: JSON.parse(ANSWER) as unknown },
  );
  const { code, stdout } = await bench(shedding.url, '--connections', '2');
  const measured = JSON.parse(stdout) as Record<string, any>;
  assert.deepEqual([code, measured.errors.overloaded, measured.searches > 0], [1, measured.failed, true]);
});

test('many connections that wait, and end, warn of nothing', async (t) => {
  const warnings: Error[] = [];
  const hear = (warning: Error): void => void warnings.push(warning);
  process.on('warning', hear);
  t.after(() => process.off('warning', hear));
  const { url, requests } = await startFakeServer(t, () => ({ json: JSON.parse(ANSWER) as unknown }));
  assert.equal((await bench(url, '--connections', '64')).code, 0);
  assert.equal((await bench(url, '--connections', '64', '--rate', '400')).code, 0);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(warnings, []);
  assert.ok(requests.every(({ path }) => path === '/v1/collections/default/docs/search'));
});

test('the address, its path and the key are those that the other commands take', async (t) => {
  const { url, requests } = await startFakeServer(t, () => ({ json: JSON.parse(ANSWER) as unknown }));
  const { code } = await bench(
    `${url}/below/`,
    '-t',
    'a.b',
    '-c',
    'x-y',
    '--key',
    'secret',
    '--mode',
    'hybrid',
    '-k',
    '3',
  );
  assert.equal(code, 0);
  const [{ path, headers, body } = { path: '', headers: {}, body: '' }] = requests;
  assert.deepEqual(
    [path, headers.authorization, headers['content-type'], headers.host],
    ['/below/v1/collections/a.b/x-y/search', 'Bearer secret', 'application/json', new URL(url).host],
  );
  assert.deepEqual(JSON.parse(body.toString()), { q: 'captain', k: 3, mode: 'hybrid' });
});

test('threads share the connections and the rate, and what they count is one result', async (t) => {
  const ports = new Set<number | undefined>();
  const queries = new Set<string>();
  const url = await startRaw(t, (socket, body) => {
    ports.add(socket.remotePort);
    const { q } = JSON.parse(body) as { q: string };
    queries.add(q);
    socket.write(`${head(`Content-Length: ${Buffer.byteLength(ANSWER)}`)}${ANSWER}`);
  });
  const free = await bench(url, '--connections', '7', '--threads', '3');
  const all = JSON.parse(free.stdout) as Record<string, any>;
  assert.deepEqual([free.code, all.failed, ports.size, queries.size], [0, 0, 7, 3], free.stderr);
  assert.deepEqual(all.server_ms, { embed: 1, filter: 0, hydrate: 0.25, search: 2 });
  assert.ok(all.searches >= 7 && all.latency_ms.p50 > 0);
  // More threads than connections are of no use.
  ports.clear();
  const paced = await bench(url, '--connections', '2', '--threads', '4', '--rate', '100', '--seconds', '1');
  assert.equal(ports.size, 2);
  const { searches } = JSON.parse(paced.stdout) as { searches: number };
  assert.ok(searches > 0 && searches <= 100, String(searches));
});

test('what every thread is refused ends all of them, and is told once', async (t) => {
  const url = await startRaw(t, (socket) => {
    const body = JSON.stringify({ ok: false, code: 'unauthorized', error: 'No key.' });
    socket.write(`HTTP/1.1 401 Unauthorized\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  });
  const { code, stderr } = await bench(url, '--threads', '3', '--seconds', '60');
  assert.notEqual(code, 0);
  assert.equal(stderr.match(/unauthorized/g)?.length, 1, stderr);
});
