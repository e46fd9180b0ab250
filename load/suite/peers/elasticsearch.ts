// Elasticsearch (8 and later): a dense_vector in its default index, both groups as keywords, one shard without
// replicas. Used by load/suite/peers/participants.ts where a URL is given.
import { post, send, type Driver, type Filter, type Groups, type Hit, type Row } from './drivers.js';

/** What the documentation's examples ask of each shard for ten hits. */
const CANDIDATES = 100;
const NDJSON = { 'content-type': 'application/x-ndjson' };

interface Found {
  _id: string;
  _source: Groups & { text: string };
}

export function elasticsearch(url: string, index: string): Driver {
  const path = `/${index}`;
  return {
    name: 'Elasticsearch',
    version: async () =>
      (JSON.parse(await send(url, { method: 'GET', path: '/' })) as { version: { number: string } }).version.number,
    create: async (dim) => void (await send(url, { ...post(path, mappingOf(dim)), method: 'PUT' })),
    put: async (rows) => {
      const lines = rows.flatMap((row) => [{ index: { _id: String(row.row) } }, sourceOf(row)]);
      const body = `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`;
      const { errors } = JSON.parse(await send(url, post(`${path}/_bulk`, body, NDJSON))) as { errors: boolean };
      if (errors) throw new Error('Elasticsearch refused documents of a batch');
    },
    // A search sees what has been refreshed; each segment's graph is made as the segment is.
    isIndexed: async () => (await send(url, { method: 'POST', path: `${path}/_refresh` })) !== '',
    byVector: (vector, k, filter?: Filter) =>
      post(`${path}/_search`, {
        knn: {
          field: 'vector',
          query_vector: vector,
          k,
          num_candidates: CANDIDATES,
          ...(filter && { filter: { term: { [filter.field]: filter.value } } }),
        },
        size: k,
        _source: ['text', 'tenth', 'hundredth'],
      }),
    hits: (answer): Hit[] =>
      (JSON.parse(answer) as { hits: { hits: Found[] } }).hits.hits.map(({ _id, _source }) => ({
        row: Number(_id),
        text: _source.text,
      })),
    drop: async () => void (await send(url, { method: 'DELETE', path })),
  };
}

function mappingOf(dims: number): object {
  return {
    settings: { number_of_shards: 1, number_of_replicas: 0 },
    mappings: {
      properties: {
        vector: { type: 'dense_vector', dims, index: true, similarity: 'cosine' },
        text: { type: 'text' },
        tenth: { type: 'keyword' },
        hundredth: { type: 'keyword' },
      },
    },
  };
}

const sourceOf = ({ vector, text, groups }: Row): object => ({ vector, text, ...groups });
