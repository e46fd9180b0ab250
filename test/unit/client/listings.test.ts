// The iterators over listings fetch page after page, and none before it is needed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SheafClient } from '../../../src/client/client.js';
import { startFakeServer, type FakeServer } from '../../kit/fake-server.js';
import type { TestContext } from 'node:test';

/** Serves a listing of a, b, c, d, e in pages of two; the cursors are positions. */
function startListing(t: TestContext): Promise<FakeServer> {
  const letters = ['a', 'b', 'c', 'd', 'e'];
  return startFakeServer(t, ({ path }) => {
    const from = Number(new URL(path, 'http://x').searchParams.get('cursor') ?? 0);
    const entries = letters
      .slice(from, from + 2)
      .map((letter) => ({ name: letter, docid: letter, rid: letter, query_id: letter }));
    return {
      json: {
        ok: true,
        documents: entries,
        collections: entries,
        chunks: entries,
        queries: entries,
        ...(from + 2 < letters.length && { next_cursor: String(from + 2) }),
      },
    };
  });
}

test('every iterator gives all entries of all pages', async (t) => {
  const { url, requests } = await startListing(t);
  const client = new SheafClient({ url });
  const found: string[] = [];
  for await (const { name } of client.eachCollection('acme', { limit: 2 })) found.push(name);
  for await (const { docid } of client.eachDocument('acme', 'docs')) found.push(docid);
  for await (const { rid } of client.eachChunk('acme', 'docs', 'x')) found.push(rid);
  for await (const { query_id } of client.queries.each('acme', 'docs')) found.push(query_id);
  assert.equal(found.join(''), 'abcde'.repeat(4));
  assert.deepEqual(
    requests.slice(0, 4).map(({ path }) => path),
    [
      '/v1/collections/acme?limit=2',
      '/v1/collections/acme?limit=2&cursor=2',
      '/v1/collections/acme?limit=2&cursor=4',
      '/v1/collections/acme/docs/documents?limit=1000',
    ],
  );
  assert.match(requests.at(-1)?.path ?? '', /queries\?limit=500&cursor=4$/);
});

test('a caller that stops early fetches no further page, and one with a cursor starts there', async (t) => {
  const { url, requests } = await startListing(t);
  const client = new SheafClient({ url });
  for await (const { docid } of client.eachDocument('acme', 'docs')) if (docid === 'b') break;
  assert.equal(requests.length, 1);
  const rest: string[] = [];
  for await (const { docid } of client.eachDocument('acme', 'docs', { cursor: '2' })) rest.push(docid);
  assert.deepEqual(rest, ['c', 'd', 'e']);
});
