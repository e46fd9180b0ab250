// Judgement sets: stored, listed, replaced and deleted; they stay with their collection over a rename, a reindex and a
// restart, go with it, and are nobody else's; their limits; and `sheaf eval` by a stored set and by the same files.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { JUDGED_QUERIES_MAX, JUDGEMENTS_MAX, JUDGEMENT_SETS_MAX } from '../../../src/api/limits.js';
import { download, upload } from '../../kit/archives.js';
import { runInProcess } from '../../kit/cli.js';
import { jobUntil, status } from '../../kit/reindex.js';
import { type Answer, type TestServer, refused, startTestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

const at = (name: string, set = ''): string => `/v1/collections/acme/${name}/judgements${set && `/${set}`}`;
const QUERIES = [
  { id: 'q1', text: 'a white whale', judgements: { moby: 2, nemo: 0 } },
  { id: 'q2', text: 'captain of a submarine', judgements: { nemo: 3 } },
];
const SUMMARY = { set: 'support', query_count: 2, judgement_count: 3 };

const put = ({ call }: TestServer, name: string, set: string, queries: unknown): Promise<Answer> =>
  call('PUT', at(name, set), { queries });

async function fill(server: TestServer): Promise<void> {
  const texts = { moby: 'The white whale swims.', nemo: 'The captain of the submarine Nautilus.' };
  for (const [docid, text] of Object.entries(texts))
    for (const name of ['docs', 'others'])
      await server.call('POST', `/v1/collections/acme/${name}/documents`, { docid, text });
}

/** The answer without what differs between two requests. */
function told({ json }: Answer): object {
  const {
    ok: _ok,
    latency_ms: _ms,
    request_id: _id,
    updated_at: _at,
    tenant: _tenant,
    collection: _name,
    ...rest
  } = json;
  return rest;
}

for (const fronts of ['0', '2'])
  test(`a set stays with its collection and goes with it, ${fronts} front threads`, async () => {
    const directory = tempDirectory();
    const env = { SHEAF_SERVER__THREADS: fronts, SHEAF_DATA_DIR: directory, SHEAF_STORAGE__JOURNAL_MB: '8' };
    let server = await startTestServer(env);
    await fill(server);
    assert.deepEqual(told(await put(server, 'docs', 'support', QUERIES)), SUMMARY);
    assert.deepEqual(told(await put(server, 'docs', 'empty', [{ id: '1', text: 'whale', judgements: {} }])), {
      set: 'empty',
      query_count: 1,
      judgement_count: 0,
    });
    const isThere = async (name: string): Promise<void> => {
      const { json } = await server.call('GET', at(name));
      assert.deepEqual(
        json.sets.map(({ set, query_count: count }: any) => [set, count]),
        [
          ['empty', 1],
          ['support', 2],
        ],
      );
      assert.deepEqual(told(await server.call('GET', at(name, 'support'))), { ...SUMMARY, queries: QUERIES });
    };
    await isThere('docs');
    assert.equal((await server.call('GET', at('others'))).json.count, 0);
    await server.call('POST', '/v1/collections/acme/docs/move', { new_name: 'papers' });
    await isThere('papers');
    const { json: job } = await server.call('POST', '/v1/collections/acme/papers/reindex', { compact: true });
    await jobUntil(server, job.job_id, status('succeeded'));
    await isThere('papers');
    await server.stop();
    server = await startTestServer(env);
    await isThere('papers');
    assert.equal((await put(server, 'papers', 'support', QUERIES.slice(1))).json.query_count, 1);
    assert.equal((await server.call('DELETE', at('papers', 'empty'))).json.deleted, 'empty');
    await refused(server.call('GET', at('papers', 'empty')), 404, 'judgement_set_not_found');
    await refused(server.call('DELETE', at('papers', 'empty')), 404, 'judgement_set_not_found');
    await server.call('DELETE', '/v1/collections/acme/papers');
    await refused(server.call('GET', at('papers')), 404, 'collection_not_found');
    await fill(server);
    await server.call('POST', '/v1/collections/acme/papers', {});
    assert.equal((await server.call('GET', at('papers'))).json.count, 0);
    assert.deepEqual(server.faults, []);
    await server.stop();
  });

test('archives have the sets of their collections', async () => {
  const server = await startTestServer();
  await fill(server);
  await put(server, 'docs', 'support', QUERIES);
  await put(server, 'others', 'few', QUERIES.slice(1));
  const setsOf = async (name: string): Promise<string[]> =>
    (await server.call('GET', at(name))).json.sets.map(({ set, query_count: count }: any) => `${set} ${count}`);
  const one = (await download(server, '/v1/collections/acme/docs/archive')).bytes;
  const all = (await download(server, '/v1/admin/archive')).bytes;
  await upload(server, 'POST', '/v1/collections/acme/copy/archive', one);
  assert.deepEqual(await setsOf('copy'), ['support 2']);
  assert.deepEqual(told(await server.call('GET', at('copy', 'support'))), { ...SUMMARY, queries: QUERIES });
  await put(server, 'copy', 'support', QUERIES.slice(1));
  await put(server, 'copy', 'later', QUERIES);
  await upload(server, 'PUT', '/v1/collections/acme/copy/archive', one);
  assert.deepEqual(await setsOf('copy'), ['later 2', 'support 2']);
  await put(server, 'docs', 'later', QUERIES);
  await upload(server, 'PUT', '/v1/admin/archive', all);
  assert.deepEqual(await setsOf('docs'), ['support 2']);
  assert.deepEqual(await setsOf('others'), ['few 1']);
  assert.deepEqual(server.faults, []);
});

test('what is wrong or too much is refused, and changes nothing', async () => {
  const server = await startTestServer();
  await fill(server);
  const many = (count: number): object[] =>
    Array.from({ length: count }, (_, i) => ({ id: `q${i}`, text: 'whale', judgements: { moby: 1 } }));
  for (const queries of [
    [],
    'text',
    [{ id: 'q1', text: 'whale' }],
    [{ id: 'q1', text: '', judgements: {} }],
    [{ id: 'q1', text: 'whale', judgements: { moby: -1 } }],
    [{ id: 'q1', text: 'whale', judgements: { moby: 'good' } }],
    [{ id: 'q1', text: 'whale', judgements: {}, more: 1 }],
    [QUERIES[0], QUERIES[0]],
    Array.from({ length: 21 }, (_, i) => ({
      id: `q${i}`,
      text: 'whale',
      judgements: Object.fromEntries(Array.from({ length: JUDGEMENTS_MAX / 20 }, (_, n) => [`d${n}`, 1])),
    })),
  ])
    await refused(put(server, 'docs', 'bad', queries), 422, 'validation_error');
  await refused(put(server, 'docs', 'bad', many(JUDGED_QUERIES_MAX + 1)), 413, 'request_too_large');
  await refused(put(server, 'docs', 'not a slug', QUERIES), 422, 'invalid_collection_name');
  await refused(put(server, 'nothing', 'support', QUERIES), 404, 'collection_not_found');
  assert.equal((await server.call('PUT', at('docs', 'bad'), '{"queries": [')).status, 422);
  assert.equal((await server.call('GET', at('docs'))).json.count, 0);
  assert.equal((await put(server, 'docs', 'large', many(JUDGED_QUERIES_MAX))).json.query_count, JUDGED_QUERIES_MAX);
  for (let n = 1; n < JUDGEMENT_SETS_MAX; n++) assert.equal((await put(server, 'docs', `s${n}`, QUERIES)).status, 200);
  await refused(put(server, 'docs', 'one-more', QUERIES), 429, 'judgement_set_limit_reached');
  assert.equal((await put(server, 'docs', 's1', QUERIES)).status, 200);
  assert.deepEqual(server.faults, []);
});

test('sheaf judgements and sheaf eval: a stored set gives the figures of its files', async () => {
  const server = await startTestServer();
  await fill(server);
  const folder = tempDirectory();
  const [queries, qrels] = [join(folder, 'queries.jsonl'), join(folder, 'qrels.tsv')];
  writeFileSync(queries, QUERIES.map(({ id, text }) => `${JSON.stringify({ _id: id, text })}\n`).join(''));
  const lines = QUERIES.flatMap(({ id, judgements }) =>
    Object.entries(judgements).map(([docid, grade]) => `${id}\t${docid}\t${grade}\n`),
  );
  writeFileSync(qrels, lines.join(''));
  const sheaf = (...args: string[]) => runInProcess([...args, '-t', 'acme', '-c', 'docs', '--url', server.url]);
  const stored = await sheaf('judgements', 'put', 'support', queries, qrels);
  assert.deepEqual(
    [stored.code, stored.stdout],
    [0, 'acme/docs has support now: 2 queries, 3 judgements.\n'],
    stored.stderr,
  );
  assert.deepEqual(told(await server.call('GET', at('docs', 'support'))), { ...SUMMARY, queries: QUERIES });
  assert.match((await sheaf('judgements')).stdout, /support +2 +3/);
  assert.deepEqual(JSON.parse((await sheaf('judgements', 'get', 'support')).stdout).queries, QUERIES);
  const [byFiles, bySet] = [
    await sheaf('eval', queries, qrels, '--json'),
    await sheaf('eval', '--judgements', 'support', '--json'),
  ];
  assert.deepEqual([byFiles.code, bySet.code], [0, 0], bySet.stderr);
  assert.deepEqual(JSON.parse(bySet.stdout), JSON.parse(byFiles.stdout));
  assert.equal(JSON.parse(bySet.stdout).settings[0].ndcg.mean, 1);
  for (const args of [['eval'], ['eval', queries], ['eval', queries, qrels, '--judgements', 'support']]) {
    const { code, stderr } = await sheaf(...args);
    assert.deepEqual([code, /or a stored set with --judgements/.test(stderr)], [2, true], stderr);
  }
  assert.equal((await sheaf('eval', '--judgements', 'nothing')).code, 1);
  assert.match((await sheaf('judgements', 'delete', 'support')).stdout, /support is deleted/);
});
