// Conditional writes: `if_version` at ingest, patch and deletion, alone, in batches, as a file, and raced by many writers of
// which one wins each version.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileForm, refused, startTestServer } from '../../kit/server.js';

const BASE = '/v1/collections/acme/docs';
const ONE = `${BASE}/documents/one`;

for (const threads of ['0', '2'])
  test(`a write with if_version takes effect only on that version; front threads: ${threads}`, async () => {
    const { call } = await startTestServer({ SHEAF_SERVER__THREADS: threads });
    const put = (if_version?: number) =>
      call('POST', `${BASE}/documents`, { docid: 'one', text: 'a text', if_version });
    const conflict = async (answer: ReturnType<typeof call>, version: number): Promise<void> => {
      const { details } = await refused(answer, 409, 'version_conflict');
      assert.deepEqual(details, { version });
    };
    await conflict(put(3), 0);
    await conflict(call('DELETE', `${ONE}?if_version=1`), 0);
    assert.equal((await put(0)).json.version, 1);
    await conflict(put(0), 1);
    assert.equal((await put(1)).json.version, 2);
    assert.equal((await call('PATCH', ONE, { metadata: { a: 1 }, if_version: 2 })).json.version, 3);
    await conflict(call('PATCH', ONE, { metadata: { a: 2 }, if_version: 2 }), 3);
    const { json } = await call('GET', ONE);
    assert.deepEqual([json.version, json.metadata.a], [3, 1]);
    await conflict(call('DELETE', `${ONE}?if_version=2`), 3);
    const documents = [
      { docid: 'one', text: 'again', if_version: 3 },
      { docid: 'one', text: 'late', if_version: 3 },
      { docid: 'two', text: 'new', if_version: 0 },
    ];
    const { json: batch } = await call('POST', `${BASE}/documents:batch`, { documents });
    assert.deepEqual(
      batch.documents.map(({ version, code }: { version?: number; code?: string }) => version ?? code),
      [4, 'version_conflict', 1],
    );
    const asFile = (version: string) =>
      call('POST', `${BASE}/documents`, fileForm('x.txt', 'a file', { docid: 'one', if_version: version }));
    await conflict(asFile('3'), 4);
    assert.equal((await asFile('4')).json.version, 5);
    await refused(asFile('x'), 422, 'validation_error');
    await refused(call('DELETE', `${ONE}?if_version=x`), 422, 'validation_error');
    assert.equal((await call('DELETE', `${ONE}?if_version=5`)).json.chunks_deleted, 1);
  });

test('of many writers that read the same version one wins, so no increment is lost', async () => {
  const { call } = await startTestServer({ SHEAF_SERVER__THREADS: '2' });
  await call('POST', `${BASE}/documents`, { docid: 'one', text: 'a text', metadata: { count: 0 } });
  const increment = async (): Promise<void> => {
    for (;;) {
      const { json } = await call('GET', ONE);
      const body = { metadata: { count: json.metadata.count + 1 }, if_version: json.version };
      const { status } = await call('PATCH', ONE, body);
      if (status === 200) return;
      assert.equal(status, 409);
    }
  };
  await Promise.all(Array.from({ length: 24 }, increment));
  const { json } = await call('GET', ONE);
  assert.deepEqual([json.metadata.count, json.version], [24, 25]);
});
