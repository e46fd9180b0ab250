// Aliases: every route takes them, a switch is seen by every front thread from its answer on, they follow renames, survive
// restarts, dumps of the catalog and reindex jobs, and keep their collection from being deleted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { download, upload } from '../../kit/archives.js';
import { Connection } from '../../kit/fronts.js';
import { jobUntil, status } from '../../kit/reindex.js';
import { type TestServer, fileForm, refused, startTestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

const at = (name: string): string => `/v1/collections/acme/${name}`;
const ALIASES = '/v1/aliases/acme';

const point = ({ call }: TestServer, alias: string, collection: string) =>
  call('PUT', `${ALIASES}/${alias}`, { collection });

async function twoCollections(server: TestServer): Promise<void> {
  for (const name of ['blue', 'green'])
    await server.call('POST', `${at(name)}/documents`, { docid: 'where', text: 'a whale', metadata: { name } });
}

for (const threads of ['0', '2'])
  test(`every kind of route takes an alias; front threads: ${threads}`, async () => {
    const server = await startTestServer({ SHEAF_SERVER__THREADS: threads });
    const { call } = server;
    await twoCollections(server);
    assert.equal((await point(server, 'live', 'blue')).status, 200);
    const search = await call('POST', `${at('live')}/search`, { q: 'whale' });
    assert.deepEqual([search.json.matches[0].meta.name, search.json.matches[0].collection], ['blue', 'blue']);
    assert.equal((await call('GET', `${at('live')}/documents/where`)).json.metadata.name, 'blue');
    assert.equal((await call('POST', `${at('live')}/documents`, { docid: 'new', text: 'text' })).status, 201);
    assert.equal((await call('POST', `${at('live')}/documents`, fileForm('a.txt', 'a file'))).status, 201);
    assert.equal((await call('PATCH', `${at('live')}/documents/new`, { metadata: { a: 1 } })).json.version, 2);
    assert.equal((await call('GET', `${at('blue')}/documents`)).json.count, 3);
    assert.equal((await call('POST', `${at('live')}/documents:delete`, { docids: ['new'] })).json.documents, 1);
    assert.equal((await call('GET', `${at('live')}/detail`)).json.name, 'blue');
    assert.equal((await call('POST', at('live'), {})).status, 201);
    const { bytes } = await download(server, `${at('live')}/archive`);
    assert.equal((await upload(server, 'PUT', `${at('live')}/archive`, bytes)).status, 200);
    const { json: job } = await call('POST', `${at('live')}/reindex`, { compact: true });
    await jobUntil(server, job.job_id, status('succeeded'));
    assert.equal((await call('POST', `${at('live')}/search`, { q: 'whale' })).json.matches[0].meta.name, 'blue');
    assert.deepEqual((await call('GET', '/v1/collections/acme')).json.count, 2);
    assert.deepEqual(server.faults, []);
  });

test('a switch is seen by every front thread from its answer on', async () => {
  const server = await startTestServer({ SHEAF_SERVER__THREADS: '2' });
  await twoCollections(server);
  const connections = Array.from({ length: 6 }, () => new Connection(server.port));
  for (let round = 0; round < 20; round++) {
    const name = round % 2 === 0 ? 'blue' : 'green';
    const by = connections[round % connections.length] as Connection;
    assert.equal((await by.call('PUT', `${ALIASES}/live`, { collection: name })).status, 200);
    const answers = await Promise.all(
      connections.map((one) => one.call('POST', `${at('live')}/search`, { q: 'whale' })),
    );
    assert.deepEqual(
      answers.map(({ json }) => json.matches[0].meta.name),
      connections.map(() => name),
    );
  }
});

test('aliases follow renames, survive a restart, and keep their collection from being deleted', async () => {
  const env = { SHEAF_DATA_DIR: tempDirectory() };
  let server = await startTestServer(env);
  await twoCollections(server);
  await point(server, 'live', 'blue');
  await point(server, 'other', 'green');
  const moved = await server.call('POST', `${at('live')}/move`, { new_name: 'navy' });
  assert.equal(moved.status, 200);
  await server.stop();
  server = await startTestServer(env);
  const { call } = server;
  const { json: list } = await call('GET', ALIASES);
  assert.deepEqual(list.aliases, [
    { alias: 'live', collection: 'navy' },
    { alias: 'other', collection: 'green' },
  ]);
  assert.equal((await call('GET', `${at('live')}/documents/where`)).json.metadata.name, 'blue');
  for (const name of ['navy', 'live']) {
    const { details } = await refused(call('DELETE', at(name)), 409, 'collection_has_aliases');
    assert.deepEqual(details, { aliases: ['live'] });
  }
  await refused(point(server, 'green', 'navy'), 409, 'alias_conflict');
  await refused(point(server, 'x', 'none'), 404, 'collection_not_found');
  await refused(point(server, 'x', 'live'), 404, 'collection_not_found');
  await refused(call('POST', `${at('green')}/move`, { new_name: 'live' }), 409, 'alias_conflict');
  assert.equal((await call('DELETE', `${ALIASES}/live`)).status, 200);
  await refused(call('DELETE', `${ALIASES}/live`), 404, 'alias_not_found');
  assert.equal((await call('DELETE', at('navy'))).status, 200);
  assert.deepEqual((await call('POST', `${at('live')}/search`, { q: 'whale' })).json.matches, []);
});
