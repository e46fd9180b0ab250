// The Cranfield collection of ../shared/data (1,400 abstracts, two of them without a word, and 225 queries), and its
// ingest through the HTTP interface. Used by the load programs that want real text.
import { readFileSync } from 'node:fs';
import type { SheafClient } from '../../src/client/client.js';
import { dataFolder } from './data.js';
import type { CannonRequest } from './hammer.js';

const FOLDER = '../shared/data/cranfield';
export const CRANFIELD_TARGET = { tenant: 'load', collection: 'cranfield' };

export interface CranfieldDocument {
  docid: string;
  text: string;
}

/** True where the collection is there; else says so, for programs that then have nothing to measure. */
export const hasCranfield = (): boolean => dataFolder('cranfield') !== undefined;

/** Title and text of the first `count` documents. */
export function readCranfieldDocuments(count = Infinity): CranfieldDocument[] {
  const lines = readLines<{ _id: string; title: string; text: string }>('corpus.jsonl');
  return lines
    .slice(0, count)
    .map(({ _id, title, text }) => ({ docid: _id, text: `${title}\n${text}` }))
    .filter(({ text }) => text.trim() !== '');
}

export function readCranfieldQueries(): string[] {
  return readLines<{ text: string }>('queries.jsonl').map(({ text }) => text);
}

function readLines<T>(name: string): T[] {
  return readFileSync(`${FOLDER}/${name}`, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as T);
}

/** One document a request, `concurrency` of them under way; the number of chunks. Rejects with the first error. */
export async function ingestCranfield(
  client: SheafClient,
  documents: readonly CranfieldDocument[],
  concurrency: number,
): Promise<number> {
  const { tenant, collection } = CRANFIELD_TARGET;
  const queue = documents.values();
  let chunks = 0;
  const work = async (): Promise<void> => {
    for (const document of queue) {
      const answer = await client.ingestText(tenant, collection, document);
      chunks += answer.chunks;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return chunks;
}

/** A search of the collection. */
export const searchCranfield = (body: object): CannonRequest => ({
  method: 'POST',
  path: `/v1/collections/${CRANFIELD_TARGET.tenant}/${CRANFIELD_TARGET.collection}/search`,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});
