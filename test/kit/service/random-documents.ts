// A random collection on several servers at once, for the naive versions of searches: documents of several chunks, with
// metadata, priorities and equal texts.
import assert from 'node:assert/strict';
import type { Prng } from '../../../src/base/prng.js';
import type { TestServer } from '../server.js';
import type { NaiveChunk } from './naive-search.js';

/** The collection that is searched, and the same without priorities, from which cosines are read. */
export const PATH = '/v1/collections/acme/twin';
const PLAIN = '/v1/collections/acme/plain';
const WORDS = [
  'whale',
  'captain',
  'submarine',
  'Nautilus',
  'sea',
  'café',
  'budget',
  'parliament',
  'dough',
  'oven',
  'graph',
];

/** Times, texts of more characters than the index holds, which begin alike, numbers as texts, and values of two kinds. */
const WHEN = [
  '2024-05-01',
  '2024-05-01T10:00:00+02:00',
  '1999-12-31T23:59:59Z',
  `${'long '.repeat(60)}a`,
  `${'long '.repeat(60)}b`,
  'long '.repeat(40),
  'längst',
  '12.50',
  -7,
  [3, 'later', '2001-01-01'],
  ['b', 'a\u0000', 'a\u0001z'],
  true,
  [false, null],
  {},
];

export interface RandomDocument {
  docid: string;
  text: string;
  metadata: Record<string, unknown>;
}

export const pick = <T>(prng: Prng, items: readonly T[]): T => items[prng.int(items.length)] as T;

export const sentence = (prng: Prng, words: number): string =>
  Array.from({ length: words }, () => pick(prng, WORDS)).join(' ');

export function randomDocument(prng: Prng, docid: string): RandomDocument {
  const metadata: Record<string, unknown> = {
    lang: pick(prng, ['de', 'en', 'fr']),
    year: pick(prng, [1990, 2000, '2000', 2010, -3.5, '17']),
    tags: pick<unknown>(prng, [['a'], ['b', 'a'], [], 'b', 'c']),
  };
  if (prng.int(2) === 0) metadata.when = pick<unknown>(prng, WHEN);
  if (prng.int(3) > 0) metadata.topic = pick<unknown>(prng, ['sea', 'land', 7, '7', true, null, { deep: 1 }]);
  if (prng.int(4) === 0) metadata.prio_boost = pick<unknown>(prng, [1, 0.5, '-0.5', -1, 0.1]);
  return { docid, text: prng.int(8) === 0 ? 'whale captain' : sentence(prng, 3 + prng.int(40)), metadata };
}

/** Creates both collections on all servers and fills them with the same documents. */
export async function fill(servers: readonly TestServer[], documents: readonly RandomDocument[]): Promise<void> {
  const chunking = { strategy: 'fixed', size: 80, overlap: 10 };
  for (const { call } of servers) {
    for (const path of [PATH, PLAIN]) {
      await call('POST', path, { chunking, ...(path === PLAIN && { priority_key: 'no_priority' }) });
      const { json } = await call('POST', `${path}/documents:batch`, { documents });
      assert.equal(json.succeeded, documents.length, JSON.stringify(json).slice(0, 500));
    }
  }
}

/** Every chunk with its cosine to `q`. */
export async function chunksFor({ call }: TestServer, q: string): Promise<NaiveChunk[]> {
  const { json } = await call('POST', `${PLAIN}/search`, { q, k: 1000, mode: 'vector' });
  return json.matches.map(({ id, text, meta, score }: any): NaiveChunk => {
    const priority = Math.max(-1, Math.min(1, Number(meta.prio_boost ?? 0)));
    const [docid, path] = id.split('::');
    return { id, docid, index: Number(path.slice('chunk_'.length)), text, meta, priority, cosine: score };
  });
}

export type RandomFilter = [body: Record<string, unknown>, fits: (chunk: NaiveChunk) => boolean];

export const FILTERS: readonly RandomFilter[] = [
  [{}, () => true],
  [{ filters: { lang: 'de' } }, ({ meta }) => meta.lang === 'de'],
  [{ filters: { $not: { lang: 'en' }, offset: 0 } }, ({ meta }) => meta.lang !== 'en' && meta.offset === 0],
  [{ filters: { lang: 'it' } }, () => false],
  [
    { content_filter: { op: 'contains', value: 'Cap' }, filters: { lang: ['en', 'fr'] } },
    ({ text, meta }) => /cap/i.test(text) && (meta.lang === 'en' || meta.lang === 'fr'),
  ],
];
