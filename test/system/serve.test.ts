// The serve command as an operator sees it: what it prints, when it refuses to start, how it stops, and what survives a
// kill.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { Agent, type IncomingMessage, get } from 'node:http';
import { connect } from 'node:net';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { MAIN, spawnServe, untilReady } from '../kit/process.js';
import { tempDirectory } from '../kit/temp.js';
import { until } from '../kit/until.js';

const documents = '/v1/collections/t/c/documents';
const ingest = (url: string, docid: string, text: string): Promise<Response> =>
  fetch(`${url}${documents}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ docid, text }),
  });

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const answer = await Promise.race([
    once(socket, 'connect').then(() => true),
    once(socket, 'error').then(() => false),
  ]).catch(() => false);
  socket.destroy();
  return answer;
}

test('serve prints its address, its data directory, its embedder and a command to try', async () => {
  const dataDir = tempDirectory();
  const server = spawnServe({ SHEAF_DATA_DIR: dataDir });
  const url = await untilReady(server);
  for (const part of [url, dataDir, 'builtin:static-minilm-512', 'curl', `${url}/docs`, `${url}/mcp`])
    assert.ok(server.output().includes(part), part);
  server.child.kill('SIGTERM');
  assert.equal(await server.ended, 0);
});

test('the files of a data directory are for the user of the server alone', async () => {
  const dataDir = join(tempDirectory(), 'data');
  const server = spawnServe({ SHEAF_DATA_DIR: dataDir, SHEAF_STORAGE__JOURNAL_MB: '16' });
  const url = await untilReady(server);
  assert.equal((await ingest(url, 'one', 'a text')).status, 201);
  assert.equal((await fetch(`${url}/v1/collections/t/c/archive`)).status, 200);
  server.child.kill('SIGTERM');
  assert.equal(await server.ended, 0);
  const entries = readdirSync(dataDir, { withFileTypes: true, recursive: true });
  assert.ok(entries.length > 10);
  for (const entry of [dataDir, ...entries.map(({ parentPath, name }) => join(parentPath, name))]) {
    const { mode } = statSync(entry);
    assert.equal((mode & 0o777).toString(8), statSync(entry).isDirectory() ? '700' : '600', entry);
  }
});

test('a retired key is a line of the log at start, and the server runs', async () => {
  const settings = { SHEAF_SEARCH__HIT_CACHE_MB: 'none', SHEAF_THREADS__BATCH: '1' };
  const server = spawnServe({ SHEAF_DATA_DIR: tempDirectory(), ...settings });
  await untilReady(server);
  const warnings = server
    .output()
    .split('\n')
    .filter((line) => line.includes('"level":40'))
    .map((line) => (JSON.parse(line) as { msg: string }).msg);
  assert.deepEqual(
    warnings.map((message) => /\((SHEAF_\w+)\) (?:will be removed|no longer has any effect)/.exec(message)?.[1]).sort(),
    Object.keys(settings),
  );
  server.child.kill('SIGTERM');
  assert.equal(await server.ended, 0);
});

test('a server with a delay of its stop is not ready, serves meanwhile, and loses no request of a client', async () => {
  const server = spawnServe({
    SHEAF_DATA_DIR: tempDirectory(),
    SHEAF_LIMITS__STOP_DELAY_SECONDS: '3',
    SHEAF_SERVER__THREADS: '2',
  });
  const url = await untilReady(server);
  assert.equal((await ingest(url, 'one', 'a text')).status, 201);
  const answers: { status: number; closes: boolean }[] = [];
  let isTold = false;
  /** Asks again and again over one connection, until the server has closed it and takes no other. */
  const client = async (): Promise<void> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let isClosed = false; !isClosed; ) {
      const sent = get(`${url}${documents}/one`, { agent });
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      answers.push({ status: response.statusCode as number, closes: response.headers.connection === 'close' });
      response.resume();
      await once(response, 'end');
      isClosed = isTold && response.headers.connection === 'close';
    }
    agent.destroy();
  };
  const clients = Promise.all(Array.from({ length: 8 }, client));
  await until(() => answers.length > 100);
  server.child.kill('SIGTERM');
  await until(async () => (await fetch(`${url}/health/ready`)).status === 503);
  isTold = true;
  assert.equal((await fetch(`${url}${documents}/one`)).status, 200);
  await clients;
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
  assert.ok(answers.some(({ closes }) => !closes));
  assert.equal(await server.ended, 0);
});

test('SIGTERM lets a request under way finish, then ends with 0; what it stored is there at the next start', async () => {
  const dataDir = tempDirectory();
  const first = spawnServe({ SHEAF_DATA_DIR: dataDir });
  const { port } = new URL(await untilReady(first));
  const body = JSON.stringify({ docid: 'LATE', text: 'finished while stopping' });
  const socket = connect(Number(port), '127.0.0.1');
  let reply = '';
  socket.on('data', (chunk) => (reply += chunk.toString()));
  socket.write(
    `POST ${documents} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 10)}`,
  );
  // The held request, and the one that asks for the metrics.
  await until(
    async () => /^sheaf_requests_under_way 2$/m.test(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()),
    'the request is not taken',
  );
  first.child.kill('SIGTERM');
  await until(async () => !(await isListening(Number(port))), 'new connections are taken while it stops');
  socket.write(body.slice(10));
  await once(socket, 'close');
  assert.match(reply, /^HTTP\/1\.1 201 /);
  assert.equal(await first.ended, 0);
  const second = spawnServe({ SHEAF_DATA_DIR: dataDir });
  const url = await untilReady(second);
  assert.equal((await fetch(`${url}${documents}/LATE`)).status, 200);
  const { matches } = (await (await fetch(`${url}/v1/collections/t/c/search?q=stopping`)).json()) as {
    matches: { id: string }[];
  };
  assert.deepEqual(
    matches.map(({ id }) => id),
    ['LATE::chunk_0'],
  );
});

test('after kill -9 every acknowledged document is there and complete', async () => {
  const dataDir = tempDirectory();
  const acknowledged: string[] = [];
  for (let round = 0; round < 3; round++) {
    const server = spawnServe({ SHEAF_DATA_DIR: dataDir });
    const url = await untilReady(server);
    for (const docid of acknowledged) {
      const { chunk_count: chunks } = (await (await fetch(`${url}${documents}/${docid}`)).json()) as {
        chunk_count: number;
      };
      assert.equal(chunks, 4, docid);
    }
    const killAt = acknowledged.length + 8 + 5 * round;
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let n = 0; ; n++) {
        const docid = `R${round}-${writer}-${n}`;
        const answer = await ingest(
          url,
          docid,
          `${docid} `.repeat(Math.ceil(3000 / (docid.length + 1))).slice(0, 3000),
        ).catch(() => undefined);
        if (answer === undefined) return;
        if (answer.status === 201) acknowledged.push(docid);
        // The other writers are in the middle of their requests.
        if (acknowledged.length >= killAt) server.child.kill('SIGKILL');
      }
    });
    await Promise.all(writers);
    assert.equal(await server.ended, null);
  }
  assert.ok(acknowledged.length >= 8 + 13 + 18, `${acknowledged.length} acknowledged`);
});

test('a data directory in use, a port in use and a wrong key each end the start with one line that says so', async () => {
  const dataDir = tempDirectory();
  const running = spawnServe({ SHEAF_DATA_DIR: dataDir });
  const { port } = new URL(await untilReady(running));
  const refused: [Record<string, string>, RegExp][] = [
    [{ SHEAF_DATA_DIR: dataDir }, /^sheaf: data_dir .* is in use by another sheaf process.*\n$/],
    [
      { SHEAF_DATA_DIR: tempDirectory(), SHEAF_SERVER__PORT: port },
      /(^|\n)sheaf: Cannot listen on 127\.0\.0\.1:\d+: the port is in use.*\n$/,
    ],
    [
      { SHEAF_DATA_DIR: tempDirectory(), SHEAF_SERVER__PORTS: '1' },
      /^sheaf: SHEAF_SERVER__PORTS is not a configuration key.*\n$/,
    ],
    [{ SHEAF_DATA_DIR: '/proc/sheaf' }, /^sheaf: data_dir .* is not writable.*\n$/],
    [{ SHEAF_DATA_DIR: tempDirectory(), SHEAF_SERVER__HOST: '0.0.0.0' }, /^sheaf: server\.host .* auth\.mode.*\n$/],
  ];
  for (const [env, line] of refused) {
    const server = spawnServe(env);
    assert.equal(await server.ended, 1, server.output());
    assert.match(server.output(), line);
  }
  assert.equal((await fetch(`http://127.0.0.1:${port}/health`)).status, 200);
});

test('mode static makes an admin key that only its owner can read, and wants it', async () => {
  const dataDir = tempDirectory();
  const server = spawnServe({
    SHEAF_DATA_DIR: dataDir,
    SHEAF_AUTH__MODE: 'static',
    SHEAF_AUTH__KEYS: '[{name: web, tenant: t, key: secret}]',
  });
  const url = await untilReady(server);
  const file = join(dataDir, 'admin.key');
  assert.ok(existsSync(file));
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const status = async (path: string, key?: string): Promise<number> =>
    (await fetch(`${url}${path}`, key ? { headers: { authorization: `Bearer ${key}` } } : {})).status;
  assert.deepEqual(
    [await status('/health'), await status('/v1/collections/t'), await status('/v1/collections/t', 'wrong')],
    [200, 401, 401],
  );
  assert.deepEqual(
    [
      await status('/v1/collections/t', 'secret'),
      await status('/v1/collections/u', 'secret'),
      await status('/v1/admin/tenants', 'secret'),
    ],
    [200, 403, 403],
  );
  assert.ok(!server.output().includes('secret'), 'a key is never logged');
});

test('where too few files may be open, the start ends with one line that says how many are needed', async () => {
  for (const limit of [24, 32, 47, 48, 64]) {
    const command = `ulimit -n ${limit}; exec "${process.execPath}" "${MAIN}" serve`;
    const { status, stdout, stderr } = spawnSync('sh', ['-c', command], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, SHEAF_SERVER__PORT: '0', SHEAF_DATA_DIR: tempDirectory() },
    });
    const output = stdout + stderr;
    assert.equal(status, 1, output);
    assert.match(output, /^sheaf: the limit of open files and sockets is \d+, but at least \d+ are needed: .*\n$/);
  }
});
