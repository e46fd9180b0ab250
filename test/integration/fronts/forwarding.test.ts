// Requests that front threads forward to the main thread: clients that disconnect, both directions at a time, methods
// and bounds, TLS.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { startServer } from '../../../src/cli/serve.js';
import { readConfig } from '../../../src/config/load.js';
import { connections, frontPoolOf } from '../../kit/fronts.js';
import { faultLog } from '../../kit/log.js';
import { startTestServer, type TestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';
import { until } from '../../kit/until.js';

const server = await startTestServer({ SHEAF_SERVER__THREADS: '3' });
const all = await connections(server, 3);
const docs = '/v1/collections/acme/docs';
await server.call('POST', `${docs}/documents`, { docid: 'a', text: 'the captain' });

const lentBy = (of: TestServer): number =>
  frontPoolOf(of)['fronts'].reduce((sum, { peer }) => sum + peer['lent'].size, 0);
const isIdle = (): boolean => lentBy(server) === 0 && frontPoolOf(server).sum('requests') === 0;

test('a client that leaves ends its streams on the main thread', async () => {
  for (const connection of all) {
    const events = await connection.open('GET', `${docs}/events`, {}, (out) => out.end());
    assert.equal(events.statusCode, 200);
    events.destroy();
    const archive = await connection.open('GET', `${docs}/archive`, {}, (out) => out.end());
    archive.destroy();
    await assert.rejects(
      connection.open('GET', `${docs}/events`, {}, (out) => (out.end(), setImmediate(() => out.destroy()))),
    );
  }
  await until(isIdle, () => `${lentBy(server)} streams stay open`);
  await until(() => server.parts.events.readerCount === 0, 'readers of events stay');
  assert.deepEqual(server.faults, []);
});

test('results of lines come while further lines are sent', async () => {
  for (const connection of all) {
    let write: (line: object) => void = () => undefined;
    let end: () => void = () => undefined;
    const answer = await connection.open(
      'POST',
      `${docs}/documents:batch`,
      { 'content-type': 'application/x-ndjson' },
      (out) => {
        write = (line) => void out.write(`${JSON.stringify(line)}\n`);
        end = () => void out.end();
        write({ docid: 'l0', text: 'line' });
      },
    );
    assert.equal(answer.statusCode, 201);
    let received = '';
    let sent = 1;
    for await (const piece of answer) {
      received += String(piece);
      if (received.split('\n').length - 1 < sent || sent > 5) continue;
      if (sent === 5) end();
      else write({ docid: `l${sent}`, text: 'line' });
      sent++;
    }
    const summary = JSON.parse(received.trim().split('\n').at(-1) as string) as { succeeded: number };
    assert.equal(summary.succeeded, 5);
  }
});

test('methods, paths and bounds are the same on every connection', async () => {
  const large = Buffer.alloc(2_000_000, 'x');
  for (const connection of all) {
    const got = await connection.call('GET', `${docs}/detail`);
    const head = await connection.call('HEAD', `${docs}/detail`);
    assert.deepEqual([got.status, head.status, head.text], [200, 200, '']);
    assert.ok(Number(head.headers['content-length']) > 0);
    const archive = await connection.call('HEAD', `${docs}/archive`);
    assert.deepEqual([archive.status, archive.text], [200, '']);
    const missing = await connection.call('GET', '/v1/collections/acme/none/detail');
    assert.deepEqual([missing.status, missing.json.code], [404, 'collection_not_found']);
    assert.equal((await connection.call('GET', '/nowhere')).status, 404);
    assert.equal((await connection.call('PUT', `${docs}/detail`)).status, 405);
    const tooLarge = await connection.call('POST', `${docs}/move`, large, { 'content-type': 'application/json' });
    assert.equal(tooLarge.status, 413);
    assert.equal((await connection.call('POST', `${docs}/search`, { q: 'captain' })).json.matches.length > 0, true);
  }
  await until(isIdle, () => `${lentBy(server)} streams stay open`);
});

const skip = spawnSync('openssl', ['version']).status === 0 ? false : 'openssl is not installed';

test('TLS with front threads', { skip }, async (t) => {
  const directory = tempDirectory();
  const [certFile, keyFile] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', keyFile];
  const name = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  execFileSync('openssl', ['req', '-x509', ...key, '-out', certFile, '-days', '2', ...name], { stdio: 'ignore' });
  const env = { SHEAF_SERVER__THREADS: '2', SHEAF_SERVER__TLS__CERT: certFile, SHEAF_SERVER__TLS__KEY: keyFile };
  const config = readConfig({ ...env, SHEAF_SERVER__PORT: '0', SHEAF_THREADS: '1', SHEAF_DATA_DIR: tempDirectory() });
  const secure = await startServer(config, faultLog().log);
  t.after(() => secure.stop());
  const ca = readFileSync(certFile);
  const agents = Array.from({ length: 4 }, () => new Agent({ ca, keepAlive: true, maxSockets: 1 }));
  const call = async (agent: Agent, method: string, path: string, body?: string): Promise<[number, string]> => {
    const headers: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
    const out = request(`https://127.0.0.1:${secure.port}${path}`, { method, agent, headers });
    out.end(body);
    const [answer] = (await once(out, 'response')) as [IncomingMessage];
    let text = '';
    for await (const piece of answer) text += String(piece);
    return [answer.statusCode ?? 0, text];
  };
  await until(async () => (await call(agents[0] as Agent, 'GET', '/health/ready'))[0] === 200);
  for (const [at, agent] of agents.entries()) {
    const put = await call(
      agent,
      'POST',
      `${docs}/documents`,
      JSON.stringify({ docid: `t${at}`, text: `captain ${at}` }),
    );
    assert.equal(put[0], 201, put[1]);
    const [status, text] = await call(agent, 'POST', `${docs}/search`, '{"q":"captain"}');
    assert.deepEqual([status, (JSON.parse(text) as { matches: unknown[] }).matches.length], [200, at + 1]);
  }
  for (const agent of agents) agent.destroy();
});
