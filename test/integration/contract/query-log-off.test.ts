// With logging disabled there are no query ids and no new entries; what was logged before can be read and replayed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

const SHEAF_DATA_DIR = tempDirectory();
const docs = '/v1/collections/acme/docs';

test('with logging off a search has no id, and a replay makes no entry', async () => {
  const logging = await startTestServer({ SHEAF_DATA_DIR });
  await logging.call('POST', `${docs}/documents`, { text: 'a submarine' });
  const { json: original } = await logging.call('GET', `${docs}/search?q=submarine`);
  await logging.stop();

  const { call } = await startTestServer({ SHEAF_DATA_DIR, SHEAF_QUERY_LOG__ENABLED: 'false' });
  const { json } = await call('GET', `${docs}/search?q=submarine`);
  assert.deepEqual([json.matches.length, 'query_id' in json], [1, false]);
  const { json: log } = await call('GET', `${docs}/queries`);
  assert.deepEqual(
    log.queries.map(({ query_id: id }: { query_id: string }) => id),
    [original.query_id],
  );
  const { status, json: replayed } = await call('POST', `${docs}/queries/${original.query_id}/replay`);
  assert.deepEqual([status, replayed.matches.length, 'replay_query_id' in replayed], [200, 1, false]);
  assert.equal((await call('GET', `${docs}/queries`)).json.count, 1);
});
