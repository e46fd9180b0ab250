// Multipart forms over sockets: what arrives, what is rejected, and with which code.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Request } from '../../../src/http/route.js';
import { type ProbeServer, route, startProbe } from '../../kit/http/probe-server.js';
import { jsonOf, type RawReply } from '../../kit/http/raw-client.js';

const FILE_LIMIT = 200_000;

const show = async (request: Request): Promise<{ status: number; json: Record<string, unknown> }> => {
  const { fields, file } = await request.body.form();
  assert.ok(!file || 'bytes' in file);
  const shown = file && {
    name: file.name,
    type: file.type,
    size: file.bytes.length,
    text: file.bytes.subarray(0, 100).toString(),
  };
  return { status: 200, json: { fields: Object.fromEntries(fields), file: shown ?? null } };
};

const start = (t: TestContext): Promise<ProbeServer> =>
  startProbe(t, [route('POST', '/form', show, { body: 'document' })]);

/** Sends a form as text, with the line ends that the format requires; `<b>` stands for the boundary. */
async function post(probe: ProbeServer, text: string, type = 'multipart/form-data; boundary=b'): Promise<RawReply> {
  const body = Buffer.from(text.replaceAll('<b>', '--b').replaceAll('\n', '\r\n'));
  const client = await probe.client();
  client.request('POST', '/form', { 'Content-Type': type, 'Content-Length': String(body.length) }, body);
  return client.reply();
}

const field = (name: string, value: string): string =>
  `<b>\nContent-Disposition: form-data; name="${name}"\n\n${value}\n`;
const file = (name: string, value: string, filename = 'a.txt'): string =>
  `<b>\nContent-Disposition: form-data; name="${name}"; filename="${filename}"\nContent-Type: text/plain\n\n${value}\n`;

test('a form of fetch: fields as UTF-8 text, the file with name and type', async (t) => {
  const probe = await start(t);
  const form = new FormData();
  form.set('docid', 'Größe/1');
  form.set('metadata', '{"a":"\u{1f600}"}');
  form.set('file', new Blob(['héllo\r\n--b\r\nworld'], { type: 'text/plain' }), 'naïve résumé.txt');
  const json = (await (await fetch(probe.url('/form'), { method: 'POST', body: form })).json()) as Record<
    string,
    unknown
  >;
  assert.deepEqual(json.fields, { docid: 'Größe/1', metadata: '{"a":"\u{1f600}"}' });
  const text = 'héllo\r\n--b\r\nworld';
  assert.deepEqual(json.file, { name: 'naïve résumé.txt', type: 'text/plain', size: Buffer.byteLength(text), text });
});

test('forms with fields alone, with an empty file, with nothing', async (t) => {
  const probe = await start(t);
  assert.deepEqual(jsonOf(await post(probe, `${field('docid', 'd')}${field('docid', 'last')}<b>--\n`)).fields, {
    docid: 'last',
  });
  assert.deepEqual(jsonOf(await post(probe, `${file('file', '')}<b>--\n`)).file, {
    name: 'a.txt',
    type: 'text/plain',
    size: 0,
    text: '',
  });
  assert.equal(jsonOf(await post(probe, `${file('file', '', '')}<b>--\n`)).file, null);
  const empty = jsonOf(await post(probe, '<b>--\n'));
  assert.deepEqual([empty.fields, empty.file], [{}, null]);
});

test('a path in a file name is dropped; odd field names do no harm', async (t) => {
  const probe = await start(t);
  const json = jsonOf(await post(probe, `${field('__proto__', 'x')}${file('file', 'x', '../../etc/passwd')}<b>--\n`));
  assert.equal((json.file as { name: string }).name, 'passwd');
  assert.equal(({} as Record<string, unknown>).x, undefined);
});

test('malformed and truncated forms are 400 invalid_multipart', async (t) => {
  const probe = await start(t);
  const whole = `${field('docid', 'd')}${file('file', 'hello')}<b>--\n`;
  const cases: [string, string, string?][] = [
    ['cut in the file', whole.slice(0, whole.indexOf('hello') + 3)],
    ['cut in a part head', whole.slice(0, whole.indexOf('filename'))],
    ['cut before the end', whole.slice(0, whole.lastIndexOf('<b>--'))],
    ['another boundary', whole.replaceAll('<b>', '--other')],
    ['no form at all', 'just text'],
    ['an empty body with a length', '\n'],
    ['no boundary', whole, 'multipart/form-data'],
    ['another type', 'a=b', 'text/plain'],
    ['two files', `${file('file', '1')}${file('file', '2')}<b>--\n`],
    ['too many parts', `${field('f', 'v').repeat(65)}<b>--\n`],
    ['a part without a name', `<b>\nContent-Disposition: form-data\n\nv\n<b>--\n`],
  ];
  for (const [what, text, type] of cases) {
    const reply = await post(probe, text, type);
    assert.deepEqual([reply.status, jsonOf(reply).code], [400, 'invalid_multipart'], what);
  }
  assert.deepEqual(probe.faults, []);
});

test('a form without a body is refused', async (t) => {
  const probe = await start(t);
  const reply = await post(probe, '');
  assert.deepEqual([reply.status, jsonOf(reply).code], [400, 'invalid_multipart']);
});

test('any place to cut a form is refused, in any pieces', async (t) => {
  const probe = await start(t);
  const whole = `${field('docid', 'd')}${file('file', 'hello')}<b>--`;
  for (let at = 0; at < whole.length; at += 3) {
    if (at > whole.lastIndexOf('<b>')) continue;
    assert.equal((await post(probe, whole.slice(0, at))).status, 400, `cut at ${at}`);
  }
  const bytes = Buffer.from(whole.replaceAll('<b>', '--b').replaceAll('\n', '\r\n'));
  const client = await probe.client();
  client.request('POST', '/form', {
    'Content-Type': 'multipart/form-data; boundary=b',
    'Transfer-Encoding': 'chunked',
  });
  for (const byte of bytes) client.send(`1\r\n${String.fromCharCode(byte)}\r\n`);
  client.send('0\r\n\r\n');
  assert.equal((jsonOf(await client.reply()).file as { text: string }).text, 'hello');
});

test('limits: the file, the whole body, one field', async (t) => {
  const probe = await start(t);
  const code = async (text: string): Promise<[number, unknown]> => {
    const reply = await post(probe, text);
    return [reply.status, jsonOf(reply).code];
  };
  const full = jsonOf(await post(probe, `${file('file', 'x'.repeat(FILE_LIMIT))}<b>--\n`));
  assert.equal((full.file as { size: number }).size, FILE_LIMIT);
  assert.deepEqual(await code(`${file('file', 'x'.repeat(FILE_LIMIT + 1))}<b>--\n`), [413, 'file_too_large']);
  assert.deepEqual(await code(`${file('file', 'x'.repeat(FILE_LIMIT + 2_000_000))}<b>--\n`), [413, 'file_too_large']);
  assert.deepEqual(await code(`${field('metadata', 'x'.repeat(1024 * 1024 + 1))}<b>--\n`), [413, 'request_too_large']);
});

test('the client going away in the middle of a file ends the reading', async (t) => {
  const rejections: unknown[] = [];
  const reading = route(
    'POST',
    '/form',
    (request) =>
      show(request).catch((error: unknown) => {
        rejections.push(error);
        throw error;
      }),
    { body: 'document' },
  );
  const probe = await startProbe(t, [reading]);
  const client = await probe.client();
  client.request(
    'POST',
    '/form',
    { 'Content-Type': 'multipart/form-data; boundary=b', 'Content-Length': '100000' },
    `${file('file', 'hello')}`.replaceAll('<b>', '--b').replaceAll('\n', '\r\n'),
  );
  await new Promise((resolve) => setTimeout(resolve, 20));
  client.destroy();
  assert.equal((await probe.event(1)).result, 'aborted');
  await probe.server.drain(5000);
  assert.equal(rejections.length, 1);
  assert.deepEqual(probe.faults, []);
});
