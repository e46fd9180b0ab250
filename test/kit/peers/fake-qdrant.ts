// A stand-in for Qdrant, by its documented REST interface, as far as a comparison needs it.
import type { TestContext } from 'node:test';
import { FakeRows, Refused, shaped, startFakeDatabase, type FakeRoute } from './fake-database.js';

interface Collection {
  readonly rows: FakeRows;
  readonly indexed: Set<string>;
}

const ok = (result: unknown): unknown => ({ result, status: 'ok', time: 0.001 });

export async function startFakeQdrant(t: TestContext): Promise<string> {
  const collections = new Map<string, Collection>();
  const named = (name: string): Collection => {
    const collection = collections.get(name);
    if (!collection) throw new Refused(404, `Not found: Collection \`${name}\` doesn't exist!`);
    return collection;
  };
  const routes: FakeRoute[] = [
    { method: 'GET', path: /^\/$/, answer: () => ({ title: 'qdrant - vector search engine', version: '1.0.0' }) },
    { method: 'PUT', path: /^\/collections\/(\w+)$/, answer: (body, name) => ok(create(collections, name!, body)) },
    {
      method: 'GET',
      path: /^\/collections\/(\w+)$/,
      answer: (_, name) => ok({ status: 'green', points_count: named(name!).rows.size }),
    },
    { method: 'DELETE', path: /^\/collections\/(\w+)$/, answer: (_, name) => ok(collections.delete(name!)) },
    {
      method: 'PUT',
      path: /^\/collections\/(\w+)\/index\?wait=true$/,
      answer: (body, name) => ok(index(named(name!), body)),
    },
    {
      method: 'PUT',
      path: /^\/collections\/(\w+)\/points\?wait=true$/,
      answer: (body, name) => ok(upsert(named(name!), body)),
    },
    {
      method: 'POST',
      path: /^\/collections\/(\w+)\/points\/query$/,
      answer: (body, name) => ok(query(named(name!), body)),
    },
  ];
  return startFakeDatabase(t, routes, (error) => ({ status: { error }, time: 0 }));
}

function create(collections: Map<string, Collection>, name: string, body: string): boolean {
  const { vectors } = shaped(JSON.parse(body), { vectors: 'object' });
  const { size, distance } = shaped(vectors, { size: 'number', distance: 'string' });
  if (!['Cosine', 'Euclid', 'Dot', 'Manhattan'].includes(distance))
    throw new Refused(400, `unknown variant \`${distance}\``);
  if (collections.has(name)) throw new Refused(409, `Wrong input: Collection \`${name}\` already exists!`);
  const rows = new FakeRows();
  rows.dim = size;
  collections.set(name, { rows, indexed: new Set() });
  return true;
}

function index({ indexed }: Collection, body: string): object {
  const { field_name, field_schema } = shaped(JSON.parse(body), { field_name: 'string', field_schema: 'string' });
  if (field_schema !== 'keyword') throw new Refused(400, 'strings have a keyword index');
  indexed.add(field_name);
  return { operation_id: 0, status: 'completed' };
}

function upsert({ rows }: Collection, body: string): object {
  for (const point of shaped(JSON.parse(body), { points: 'array' })['points'] as unknown[]) {
    const { id, vector, payload } = shaped(point, { id: 'number', vector: 'numbers', payload: 'object' });
    if (!Number.isInteger(id) || id < 0) throw new Refused(400, 'ids are unsigned integers or UUIDs');
    rows.put({ id: String(id), vector, fields: payload });
  }
  return { operation_id: 1, status: 'completed' };
}

function query({ rows, indexed }: Collection, body: string): object {
  const given = shaped(JSON.parse(body), {
    query: 'numbers',
    limit: 'number',
    with_payload: 'boolean',
    filter: 'object?',
  });
  const [key, value] = given['filter'] ? conditionOf(given['filter']) : [];
  if (key !== undefined && !indexed.has(key)) throw new Refused(400, `no index of ${key}`);
  return {
    points: rows.nearest(given['query'], given['limit'], key, value).map(({ row, cosine }) => ({
      id: Number(row.id),
      version: 1,
      score: cosine,
      ...(given['with_payload'] && { payload: row.fields }),
    })),
  };
}

function conditionOf(filter: unknown): [string, string] {
  const { must } = shaped(filter, { must: 'array' });
  const { key, match } = shaped(must[0], { key: 'string', match: 'object' });
  return [key, shaped(match, { value: 'string' })['value']];
}
