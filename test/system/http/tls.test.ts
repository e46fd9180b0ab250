// HTTPS with a certificate made for the test, as an operator runs it: whole requests and streams, wrong files, the
// banner.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { request, Agent } from 'node:https';
import { join } from 'node:path';
import { test } from 'node:test';
import { ConfigError } from '../../../src/config/kinds.js';
import { checkTlsFiles } from '../../../src/config/tls.js';
import { spawnServe, untilReady } from '../../kit/process.js';
import { tempDirectory } from '../../kit/temp.js';
import { measure, route, startProbe } from '../../kit/http/probe-server.js';

const skip = spawnSync('openssl', ['version']).status === 0 ? false : 'openssl is not installed';

interface Files {
  certFile: string;
  keyFile: string;
}

function makeFiles(): Files {
  const directory = tempDirectory();
  const [certFile, keyFile] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', keyFile];
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      ...key,
      '-out',
      certFile,
      '-days',
      '2',
      '-subj',
      '/CN=localhost',
      '-addext',
      'subjectAltName=DNS:localhost,IP:127.0.0.1',
    ],
    { stdio: 'ignore' },
  );
  return { certFile, keyFile };
}

/** Sends one request that trusts only this certificate. */
async function call(
  url: string,
  certFile: string,
  body?: Uint8Array,
  headers: Record<string, string> = {},
): Promise<{ status: number; bytes: Buffer }> {
  const agent = new Agent({ ca: readFileSync(certFile) });
  const sent = request(url, {
    method: body ? 'POST' : 'GET',
    agent,
    headers: { ...(body && !('Transfer-Encoding' in headers) ? { 'Content-Length': body.length } : {}), ...headers },
  });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [import('node:http').IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  agent.destroy();
  return { status: response.statusCode ?? 0, bytes: Buffer.concat(chunks) };
}

test('requests, large replies, streams and lines over TLS', { skip }, async (t) => {
  const tls = makeFiles();
  const big = Buffer.from(Uint8Array.from({ length: 10_000_000 }, (_, at) => (at * 31) % 251).buffer);
  const pieces = async function* (): AsyncGenerator<Buffer> {
    for (let at = 0; at < big.length; at += 300_000) yield big.subarray(at, at + 300_000);
  };
  // A piece of a body is valid only until the next one is requested, and the reply gathers several, so they are copied.
  const copies = async function* (body: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
    for await (const piece of body) yield Buffer.from(piece);
  };
  const routes = [
    route('POST', '/json', measure),
    route('GET', '/big', () => ({ status: 200, bytes: big, contentType: 'text/plain' })),
    route('GET', '/stream', () => ({ status: 200, stream: pieces(), contentType: 'text/plain' })),
    route(
      'POST',
      '/echo',
      (r) => ({ status: 200, stream: copies(r.body.stream()), contentType: 'application/x-ndjson' }),
      {
        body: 'lines',
      },
    ),
  ];
  const probe = await startProbe(t, routes, { jsonBytesMax: 20_000_000 }, { tls });
  const url = `https://127.0.0.1:${probe.port}`;
  assert.deepEqual(JSON.parse((await call(`${url}/json`, tls.certFile, big)).bytes.toString()).bytes, big.length);
  for (const path of ['/big', '/stream']) assert.ok((await call(url + path, tls.certFile)).bytes.equals(big), path);
  assert.ok(
    (await call(`${url}/echo`, tls.certFile, big, { 'Content-Type': 'application/x-ndjson' })).bytes.equals(big),
  );
  const tooLarge = await call(`${url}/json`, tls.certFile, Buffer.alloc(30_000_000));
  assert.equal(tooLarge.status, 413);
  assert.equal((await call(`${url}/nothing`, tls.certFile, Buffer.alloc(30_000_000))).status, 404);
  const chunked = await call(`${url}/json`, tls.certFile, Buffer.alloc(30_000_000), { 'Transfer-Encoding': 'chunked' });
  assert.equal(chunked.status, 413);
  assert.deepEqual(probe.faults, []);
});

test('the server says https and serves it', { skip, timeout: 60_000 }, async () => {
  const { certFile, keyFile } = makeFiles();
  const server = spawnServe({
    SHEAF_DATA_DIR: tempDirectory(),
    SHEAF_STORAGE__PARTITIONS: '1',
    SHEAF_SERVER__TLS__CERT: certFile,
    SHEAF_SERVER__TLS__KEY: keyFile,
  });
  const url = await untilReady(server);
  assert.match(url, /^https:/);
  assert.equal((await call(`${url}/health`, certFile)).status, 200);
});

test('wrong files are told to the operator, each by its name', { skip }, async () => {
  const [one, other] = [makeFiles(), makeFiles()];
  const text = join(tempDirectory(), 'text');
  writeFileSync(text, 'no PEM');
  assert.doesNotThrow(() => checkTlsFiles(one));
  const cases: [Files, RegExp][] = [
    [{ ...one, keyFile: '' }, /server\.tls\.key is not set/],
    [{ ...one, certFile: '' }, /server\.tls\.cert is not set/],
    [{ ...one, certFile: `${text}.none` }, /server\.tls\.cert: there is no file/],
    [{ ...one, certFile: text }, /server\.tls\.cert: .* contains no certificate/],
    [{ ...one, keyFile: text }, /server\.tls\.key: .* contains no private key/],
    [{ ...one, keyFile: other.keyFile }, /is not the key of/],
  ];
  for (const [files, message] of cases)
    assert.throws(
      () => checkTlsFiles(files),
      (error: unknown) => error instanceof ConfigError && message.test(error.message),
    );
});

test('serve ends with one line where only one of the files is given', { skip }, async () => {
  const server = spawnServe({ SHEAF_DATA_DIR: tempDirectory(), SHEAF_SERVER__TLS__KEY: makeFiles().keyFile });
  assert.equal(await server.ended, 1);
  assert.match(server.output(), /^sheaf: server\.tls\.cert is not set/);
});
