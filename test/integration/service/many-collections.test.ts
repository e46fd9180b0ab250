// A hundred collections that are used in turn are as fast as ten: what a search asks of the workers does not depend on
// how many collections there are, nor on which was used before. The test counts messages; `load search collections`
// measures times.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ShardCommand } from '../../../src/engine/write/commands.js';
import type { CollectionSearch } from '../../../src/engine/search/params.js';
import { ALL_IN_THIS_THREAD, startTestServer } from '../../kit/server.js';

const COLLECTIONS = 100;
// Front threads run short searches themselves, and send none to workers.
const server = await startTestServer({ ...ALL_IN_THIS_THREAD, SHEAF_STORAGE__PARTITIONS: '2' }, { recallSampleMs: 0 });
const { call, parts } = server;
const at = (i: number): string => `/v1/collections/tenant${i % 7}/c${i}`;

/**
 * Records the operations of every message to a shard worker and to a search worker, and sends the message. The server
 * asks for expired documents by itself, at any moment, which is not recorded.
 */
function tapped(): string[][] {
  const messages: string[][] = [];
  for (const workers of [...parts.shards['shards'].map(({ worker }) => worker), parts.searches['workers']]) {
    const run = workers.run.bind(workers);
    workers.run = (requests: (ShardCommand | CollectionSearch)[], ...rest) => {
      const ops = requests.map((request) => ('op' in request ? request.op : 'search'));
      if (ops.some((op) => op !== 'findExpired')) messages.push(ops);
      return run(requests, ...rest);
    };
  }
  return messages;
}

test('a search in any of a hundred collections sends what one in the first of ten sends, and opens nothing', async () => {
  for (let i = 0; i < COLLECTIONS; i++)
    await call('POST', `${at(i)}/documents:batch`, {
      documents: [0, 1, 2, 3].map((n) => ({ docid: `D${n}`, text: `document ${n}` })),
    });
  const messages = tapped();
  const sentBy = async (i: number): Promise<string[][]> => {
    messages.length = 0;
    const { json } = await call('GET', `${at(i)}/search?q=document`);
    assert.equal(json.matches.length, 4);
    return [...messages];
  };
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < COLLECTIONS; i++) assert.deepEqual(await sentBy(i), [['search']], `collection ${i}`);
  }
});

test("a tenant's request after a thousand of the server itself is in the next message to the shard", async () => {
  const messages = tapped();
  const [ref] = parts.catalog.refs();
  assert.ok(ref);
  const noisy = Array.from({ length: 1000 }, () => parts.shards.request(0, 'counts', { collections: [] }));
  await Promise.all([...noisy, parts.shards.request(0, 'getDocument', { collection: ref.id, docid: 'D0' })]);
  assert.equal(
    messages.findIndex((ops) => ops.includes('getDocument')),
    0,
  );
  assert.ok(messages.length > 60, `${messages.length} messages`);
});

test('no internal error was logged', () => {
  assert.deepEqual(server.faults, []);
});
