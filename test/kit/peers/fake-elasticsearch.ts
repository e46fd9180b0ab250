// A stand-in for Elasticsearch, by its documented REST interface, as far as a comparison needs it: what has been
// indexed is found after a refresh.
import type { TestContext } from 'node:test';
import { FakeRows, Refused, shaped, startFakeDatabase, type FakeRoute, type StoredRow } from './fake-qdrant.js';

interface Index {
  readonly rows: FakeRows;
  readonly waiting: StoredRow[];
  readonly keywords: ReadonlySet<string>;
}

export async function startFakeElasticsearch(t: TestContext): Promise<string> {
  const indices = new Map<string, Index>();
  const named = (name: string): Index => {
    const index = indices.get(name);
    if (!index) throw new Refused(404, `no such index [${name}]`);
    return index;
  };
  const routes: FakeRoute[] = [
    {
      method: 'GET',
      path: /^\/$/,
      answer: () => ({ name: 'node', version: { number: '9.0.0' }, tagline: 'You Know, for Search' }),
    },
    { method: 'PUT', path: /^\/([a-z][a-z0-9_]*)$/, answer: (body, name) => create(indices, name!, body) },
    {
      method: 'POST',
      path: /^\/(\w+)\/_bulk$/,
      contentType: 'application/x-ndjson',
      answer: (body, name) => bulk(named(name!), body),
    },
    { method: 'POST', path: /^\/(\w+)\/_refresh$/, answer: (_, name) => refresh(named(name!)) },
    { method: 'POST', path: /^\/(\w+)\/_search$/, answer: (body, name) => search(named(name!), body) },
    { method: 'DELETE', path: /^\/(\w+)$/, answer: (_, name) => ({ acknowledged: indices.delete(name!) }) },
  ];
  return startFakeDatabase(t, routes, (reason) => ({
    error: { type: 'illegal_argument_exception', reason },
    status: 400,
  }));
}

function create(indices: Map<string, Index>, name: string, body: string): object {
  const { mappings } = shaped(JSON.parse(body), { settings: 'object', mappings: 'object' });
  const { properties } = shaped(mappings, { properties: 'object' });
  const { dims, index, similarity } = shaped(properties.vector, {
    type: 'string',
    dims: 'number',
    index: 'boolean',
    similarity: 'string',
  });
  if (properties.vector.type !== 'dense_vector' || !index || similarity !== 'cosine')
    throw new Refused(400, 'vectors are to be indexed for cosine');
  const rows = new FakeRows();
  rows.dim = dims;
  const keywords = Object.entries(properties as Record<string, { type: string }>).filter(
    ([, { type }]) => type === 'keyword',
  );
  indices.set(name, { rows, waiting: [], keywords: new Set(keywords.map(([field]) => field)) });
  return { acknowledged: true, shards_acknowledged: true, index: name };
}

/** Pairs of lines, each of which ends with a line feed, the last one too. */
function bulk({ waiting }: Index, body: string): object {
  if (!body.endsWith('\n')) throw new Refused(400, 'The bulk request must be terminated by a newline [\\n]');
  const lines = body
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
  const items = Array.from({ length: lines.length / 2 }, (_, i) => {
    const { _id } = shaped(shaped(lines[2 * i], { index: 'object' })['index'], { _id: 'string' });
    const { vector, ...fields } = shaped(lines[2 * i + 1], {
      vector: 'numbers',
      text: 'string',
      tenth: 'string',
      hundredth: 'string',
    });
    waiting.push({ id: _id, vector, fields });
    return { index: { _id, result: 'created', status: 201 } };
  });
  return { took: 1, errors: false, items };
}

function refresh({ rows, waiting }: Index): object {
  for (const row of waiting.splice(0)) rows.put(row);
  return { _shards: { total: 1, successful: 1, failed: 0 } };
}

function search({ rows, keywords }: Index, body: string): object {
  const { knn, size, _source } = shaped(JSON.parse(body), { knn: 'object', size: 'number', _source: 'array' });
  const { field, query_vector, k, num_candidates, filter } = shaped(knn, {
    field: 'string',
    query_vector: 'numbers',
    k: 'number',
    num_candidates: 'number',
    filter: 'object?',
  });
  if (field !== 'vector') throw new Refused(400, `[${field}] is no dense_vector`);
  if (num_candidates < k) throw new Refused(400, '[num_candidates] cannot be less than [k]');
  const [key, value] =
    filter === undefined ? [] : (Object.entries(shaped(filter, { term: 'object' })['term'])[0] as [string, string]);
  if (key !== undefined && !keywords.has(key)) throw new Refused(400, `[${key}] is no keyword`);
  const sourceOf = ({ fields }: StoredRow): object =>
    Object.fromEntries(Object.entries(fields).filter(([name]) => _source.includes(name)));
  const hits = rows
    .nearest(query_vector, Math.min(k, size), key, value)
    .map(({ row, cosine }) => ({ _index: 'i', _id: row.id, _score: (1 + cosine) / 2, _source: sourceOf(row) }));
  return { took: 1, timed_out: false, hits: { total: { value: hits.length, relation: 'eq' }, hits } };
}
