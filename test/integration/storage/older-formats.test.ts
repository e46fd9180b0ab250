// Data that older builds wrote can be opened and served: data directories with their checkpoints, query logs, keys and
// archives. test/kit/data/make-fixture.mjs makes the fixtures; a fixture is kept for as long as its format is promised
// to be readable.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { FIXTURES, unpackFixture } from '../../kit/fixtures.js';
import { ready, startTestServer, type TestServer } from '../../kit/server.js';

interface Expected {
  adminKey: string;
  /** A key of tenant acme with the scope `search`. */
  key: string;
  rows: number;
  answers: { collection: string; body: Record<string, unknown>; ids: string[]; scores: number[] }[];
}

async function unpacked(name: string): Promise<{ folder: string; expected: Expected; archive: Uint8Array }> {
  const folder = await unpackFixture(name);
  const expected = JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8')) as Expected;
  return { folder, expected, archive: readFileSync(join(folder, 'archive.zip')) };
}

const as = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });

async function assertServes(server: TestServer, { answers, key, adminKey, rows }: Expected): Promise<void> {
  for (const { collection, body, ids, scores } of answers) {
    const { status, json } = await server.call('POST', `/v1/collections/acme/${collection}/search`, body, as(key));
    assert.equal(status, 200, JSON.stringify(json));
    const found = json.matches as { id: string; score: number }[];
    assert.deepEqual(
      found.map(({ id }) => id),
      ids,
      JSON.stringify(body),
    );
    for (const [i, { score }] of found.entries()) assert.ok(Math.abs(score - scores[i]!) < 1e-5, JSON.stringify(body));
  }
  const { json: texts } = await server.call('GET', '/v1/collections/acme/texts/detail', undefined, as(adminKey));
  const { json: vectors } = await server.call('GET', '/v1/collections/acme/vectors/detail', undefined, as(adminKey));
  assert.deepEqual([texts.doc_count, vectors.doc_count], [58, rows]);
}

for (const [name, writers] of FIXTURES.flatMap((fixture) => [[fixture, '1'] as const, [fixture, '4'] as const]))
  test(`${name}: a data directory with its checkpoint, keys and query log, by ${writers} log workers`, async () => {
    const { folder, expected } = await unpacked(name);
    const admin = as(expected.adminKey);
    const server = await startTestServer({
      SHEAF_DATA_DIR: join(folder, 'data'),
      SHEAF_QUERY_LOG__WRITERS: writers,
      SHEAF_AUTH__MODE: 'static',
      SHEAF_AUTH__ADMIN_KEY: expected.adminKey,
    });
    await ready(server);
    let logged = 0;
    for (const collection of ['texts', 'vectors']) {
      const { json } = await server.call('GET', `/v1/collections/acme/${collection}/queries`, undefined, admin);
      logged += json.queries.length;
    }
    assert.equal(logged, expected.answers.length);
    await assertServes(server, expected);
    const document = { docid: 'new', text: 'A lighthouse keeper writes.' };
    const { json } = await server.call('POST', '/v1/collections/acme/texts/documents', document, admin);
    assert.equal(json.chunks, 1, JSON.stringify(json));
    assert.deepEqual(server.faults, []);
  });

for (const name of FIXTURES)
  test(`${name}: an archive of everything`, async () => {
    const { expected, archive } = await unpacked(name);
    const server = await startTestServer({
      SHEAF_AUTH__MODE: 'static',
      SHEAF_AUTH__ADMIN_KEY: expected.adminKey,
    });
    await ready(server);
    const body = new FormData();
    body.append('file', new Blob([archive as Uint8Array<ArrayBuffer>]), 'archive.zip');
    const url = `${server.url}/v1/admin/archive`;
    const reply = await fetch(url, { method: 'PUT', headers: as(expected.adminKey), body });
    assert.equal(reply.status, 200, await reply.text());
    await assertServes(server, expected);
    assert.deepEqual(server.faults, []);
  });
