// A replay shows no more than the original could: the filters of the original's key apply, whoever replays.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asCollectionName, asTenant } from '../../../src/api/ids.js';
import { loggedSearch } from '../../../src/service/query-log/logged-search.js';
import { startTestServer } from '../../kit/server.js';

const { call, services } = await startTestServer();

test('a search that a key filtered is filtered when it is replayed, and its entry does not show how', async () => {
  const base = '/v1/collections/acme/docs';
  for (const owner of ['ann', 'bob'])
    await call('POST', `${base}/documents`, { docid: owner, text: 'a secret', metadata: { owner } });
  const { ids, queryId } = await loggedSearch(
    services.search,
    { actor: 'ann', requestId: 'r', embeddedFilters: { owner: 'ann' } },
    asTenant('acme'),
    asCollectionName('docs'),
    { q: 'secret', k: 5 },
  );
  assert.deepEqual(ids, ['ann::chunk_0']);
  const { json } = await call('POST', `/v1/admin/queries/${queryId}/replay`);
  assert.deepEqual(
    json.matches.map(({ id }: { id: string }) => id),
    ids,
  );
  const { json: again } = await call('POST', `${base}/queries/${json.replay_query_id}/replay`);
  assert.equal(again.matches.length, 1);
  const { json: entry } = await call('GET', `${base}/queries/${queryId}`);
  assert.equal(entry.query.actor, 'ann');
  assert.doesNotMatch(JSON.stringify(entry), /owner|embedded/);
});
