// Bodies made to be as expensive as possible, over a real socket: each is rejected with an error of the envelope that
// is short and does not repeat the body, and nothing of it is stored or logged. `load http hostile` measures how long
// other clients wait meanwhile.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer, type Answer } from '../../kit/server.js';

const docs = '/v1/collections/acme/docs';
const KB = 1024;

const names = (count: number): string =>
  `{${Array.from({ length: count }, (_, at) => `"x${at.toString(36)}":0`).join(',')}}`;
const list = (count: number, item: string): string => `[${Array(count).fill(item).join(',')}]`;
const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;

const server = await startTestServer();
assert.equal((await server.call('POST', `${docs}/documents`, { docid: 'one', text: 'a submarine' })).status, 201);

async function refused(path: string, body: string, status: number, code: string, method = 'POST'): Promise<Answer> {
  const answer = await server.call(method, path, body);
  assert.equal(`${answer.status} ${answer.json.code}`, `${status} ${code}`, `${path} ${body.slice(0, 80)}`);
  assert.equal(answer.json.ok, false);
  assert.ok(answer.text.length < 64 * KB, `an answer of ${answer.text.length} characters`);
  return answer;
}

test('JSON that front threads parse has bounds: bytes, names, values, levels', async () => {
  const admin = '/v1/admin/collections/acme/docs';
  for (const path of [docs, `${docs}/search`, '/v1/search', `${admin}/reindex`, `${docs}/move`, '/v1/admin/tenants']) {
    const { json } = await refused(path, names(2000), 413, 'request_too_large');
    assert.equal(json.details.limit_names, 1024, path);
    await refused(path, `{"x":${nested(5000)}}`, 413, 'request_too_large');
    await refused(path, `{"x":${list(20_000, '""')}}`, 413, 'request_too_large');
    await refused(path, `{"x":"${'a'.repeat(300 * KB)}"}`, 413, 'request_too_large');
  }
  await refused(docs, names(2000), 413, 'request_too_large', 'PATCH');
  await refused('/mcp', names(3000), 413, 'request_too_large');
  await refused('/mcp', `"${'a'.repeat(1100 * KB)}"`, 413, 'request_too_large');
});

test('unknown fields within the bounds are told up to a number, by names that are cut', async () => {
  const many = await refused(docs, names(900), 422, 'validation_error');
  assert.equal(many.json.detail.length, 100);
  assert.equal(many.json.detail[0].type, 'extra_forbidden');
  const long = await refused(docs, `{"${'n'.repeat(200 * KB)}":1}`, 422, 'validation_error');
  assert.equal(long.json.detail[0].loc[1].length, 100);
});

test("names of JavaScript's own properties are fields like others", async () => {
  for (const body of ['{"q":"a","__proto__":{"k":1}}', '{"q":"a","constructor":1}', '{"q":"a","toString":1}'])
    await refused(`${docs}/search`, body, 422, 'validation_error');
  const filtered = await server.call('POST', `${docs}/search`, '{"q":"a","filters":{"__proto__":"a"}}');
  assert.equal(filtered.status, 200);
  assert.equal(filtered.json.matches.length, 0);
});

test('filters of as many values as they may have are taken, more are refused', async () => {
  const search = (values: number): Promise<Answer> =>
    server.call('POST', `${docs}/search`, `{"q":"a","filters":{"a":${list(values, '7')}}}`);
  assert.equal((await search(10_000)).status, 200);
  assert.equal((await search(10_001)).json.code, 'validation_error');
});

test('a vector may be as long as vectors are, written at length; what is none is refused', async () => {
  const search = (v: string): Promise<Answer> => server.call('POST', `${docs}/search`, `{"v":${v}}`);
  const longest = await search(list(65_536, '-0.0123456789012345678'));
  assert.equal(longest.json.code, 'dim_mismatch');
  for (const bad of [list(65_537, '1'), list(300_000, '"1"'), list(300_000, '{}'), `[0.${'1'.repeat(2_000_000)}]`])
    assert.equal((await search(bad)).json.code, 'validation_error', bad.slice(0, 20));
  assert.equal((await search(list(3_000_000, '1'))).json.code, 'request_too_large');
});

test('the text of a search has 64 KiB of UTF-8, by POST, in content filters and for agents', async () => {
  const longest = 'é'.repeat(32 * KB);
  const { status, json } = await server.call('POST', `${docs}/search`, { q: longest });
  assert.equal(status, 200);
  const logged = await server.call('GET', `${docs}/queries/${json.query_id}`);
  assert.equal(logged.json.query.query_text, longest);
  const tooLong = `${longest}a`;
  for (const [body, field] of [
    [{ q: tooLong }, 'q'],
    [{ q: 'a', content_filter: { op: 'contains', value: tooLong } }, 'value'],
  ] as const) {
    const answer = await refused(`${docs}/search`, JSON.stringify(body), 422, 'validation_error');
    assert.equal(answer.json.detail[0].type, 'too_long');
    assert.equal(answer.json.detail[0].loc.at(-1), field);
  }
  const call = { name: 'search', arguments: { tenant: 'acme', collection: 'docs', query: tooLong } };
  const agent = await server.call(
    'POST',
    '/mcp',
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call },
    { accept: 'application/json, text/event-stream' },
  );
  assert.match(agent.json.result.content[0].text, /at most 65536 bytes/);
  assert.equal((await server.call('GET', `${docs}/queries`)).json.count, 3, 'the searches above that were made');
});

test('an ingest ends at the first thing that no document has', async () => {
  const path = `${docs}/documents`;
  await refused(path, `{"text":"a",${names(20_000).slice(1)}`, 400, 'invalid_document_json');
  await refused(path, `{"text":"a","metadata":${names(20_000)}}`, 413, 'metadata_too_large');
  await refused(path, `{"text":"a","metadata":{"a":${nested(50_000)}}}`, 400, 'invalid_metadata');
  await refused(path, `{"vector":${list(300_000, '"1"')}}`, 400, 'invalid_document_json');
  await refused(path, `{"vector":${list(60_000, '"1"')}}`, 400, 'invalid_document_json');
  await refused(path, `{"text":"a","${'n'.repeat(200 * KB)}":1}`, 400, 'invalid_document_json');
  const batch = `${docs}/documents:batch`;
  await refused(batch, names(20_000), 422, 'validation_error');
  await refused(batch, `{"documents":${list(1_000_000, '1')}}`, 413, 'request_too_large');
  const items = [names(20_000), `{"text":"a","metadata":{"a":${nested(50_000)}}}`, '{"text":"good","docid":"good"}'];
  const { json } = await server.call('POST', batch, `{"documents":[${items.join(',')}]}`);
  assert.deepEqual(
    json.documents.map(({ code }: { code?: string }) => code),
    ['invalid_item', 'invalid_item', undefined],
  );
  assert.equal((await server.call('GET', path)).json.count, 2);
  assert.deepEqual(server.faults, []);
});
