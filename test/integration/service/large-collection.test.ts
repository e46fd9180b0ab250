// A collection that is large enough for a graph, through the whole server: found while the graph is being built,
// afterwards, and after some of it was replaced and deleted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../../kit/server.js';

const CHUNKS = 6000;
const server = await startTestServer({ SHEAF_STORAGE__PARTITIONS: '1' });
const { call } = server;
const base = '/v1/collections/acme/large';

/** Sixteen characters, no two alike. */
const word = (i: number, kind = 'w'): string =>
  `${kind}${String((i * 7919) % 1_000_003).padStart(7, '0')} ${String(i).padStart(6, '0')} `;
const textOf = (from: number, to: number, kind?: string): string =>
  Array.from({ length: to - from }, (_, i) => word(from + i, kind)).join('');

async function topOf(text: string): Promise<string> {
  const { json } = await call('POST', `${base}/search`, { q: text, k: 1 });
  return json.matches[0]?.text;
}

async function assertFound(texts: string[]): Promise<void> {
  for (const text of texts) assert.equal(await topOf(text), text);
}

test('every chunk is found, however much of the graph has been built', async () => {
  await call('POST', base, { chunking: { strategy: 'fixed', size: 16, overlap: 0 } });
  for (let from = 0; from < CHUNKS; from += 1000) {
    const { json } = await call('POST', `${base}/documents`, { docid: `D${from}`, text: textOf(from, from + 1000) });
    assert.equal(json.chunks, 1000);
    await assertFound([word(from), word(from + 500), word(0)]);
  }
  await assertFound(Array.from({ length: 60 }, (_, i) => word(i * 100)));
  await new Promise((resolve) => setTimeout(resolve, 1500));
  await assertFound(Array.from({ length: 60 }, (_, i) => word(i * 100 + 50)));
});

test('replaced and deleted chunks are gone, the others are still found', async () => {
  await call('POST', `${base}/documents`, { docid: 'D1000', text: textOf(1000, 2000, 'n') });
  await call('DELETE', `${base}/documents/D3000`);
  await assertFound([word(1500, 'n'), word(1000, 'n'), word(2500), word(5999)]);
  for (const gone of [word(1500), word(3500)]) assert.notEqual(await topOf(gone), gone);
  const { json } = await call('POST', `${base}/search`, { q: word(10), k: 1000 });
  assert.equal(json.matches.length, 1000);
  assert.equal(new Set(json.matches.map(({ id }: { id: string }) => id)).size, 1000);
  assert.deepEqual(
    json.matches.filter(({ id }: { id: string }) => id.startsWith('D3000::')),
    [],
  );
});

test('no internal error was logged', () => {
  assert.deepEqual(server.faults, []);
});
