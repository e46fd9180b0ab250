// What the stand-ins for vector databases share: rows in memory with an exact search by cosine, and a server that
// refuses what the protocol it is told does not have: other paths and methods, missing, additional or mistyped members.
// Each stand-in speaks one database's protocol.
import type { TestContext } from 'node:test';
import { type FakeReply, startFakeServer } from '../fake-server.js';

export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

export interface StoredRow {
  readonly id: string;
  readonly vector: readonly number[];
  readonly fields: Readonly<Record<string, string>>;
}

/** Members of an object: `vector: 'numbers'`, `text: 'string?'`. */
type Shape = Readonly<
  Record<string, 'string' | 'number' | 'boolean' | 'numbers' | 'object' | 'array' | 'string?' | 'object?'>
>;

/** The object, if it has these members and no others. */
export function shaped(value: unknown, shape: Shape): Record<string, any> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Refused(
      400,
      `an object was expected, not ${(JSON.stringify(value) as string | undefined)?.slice(0, 80)}`,
    );
  const given = value as Record<string, unknown>;
  for (const name of Object.keys(given)) if (!(name in shape)) throw new Refused(400, `unknown member ${name}`);
  for (const [name, kind] of Object.entries(shape))
    if (!fits(given[name], kind)) throw new Refused(400, `${name} is not of the kind ${kind}`);
  return given;
}

function fits(value: unknown, kind: Shape[string]): boolean {
  if (kind.endsWith('?')) return value === undefined || fits(value, kind.slice(0, -1) as Shape[string]);
  if (kind === 'numbers')
    return Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'number');
  if (kind === 'array') return Array.isArray(value);
  return typeof value === kind && value !== null && !Array.isArray(value);
}

export class FakeRows {
  dim: number | undefined;
  private readonly rows = new Map<string, StoredRow>();

  get size(): number {
    return this.rows.size;
  }

  put(row: StoredRow): void {
    this.dim ??= row.vector.length;
    if (row.vector.length !== this.dim)
      throw new Refused(400, `a vector of ${row.vector.length} numbers where ${this.dim} were expected`);
    this.rows.set(row.id, row);
  }

  nearest(vector: readonly number[], k: number, field?: string, value?: string): { row: StoredRow; cosine: number }[] {
    if (vector.length !== this.dim)
      throw new Refused(400, `a query of ${vector.length} numbers where ${this.dim} were expected`);
    const fitting = [...this.rows.values()].filter(({ fields }) => field === undefined || fields[field] === value);
    return fitting
      .map((row) => ({ row, cosine: cosine(vector, row.vector) }))
      .sort((a, b) => b.cosine - a.cosine)
      .slice(0, k);
  }
}

function cosine(a: readonly number[], b: readonly number[]): number {
  const dot = (x: readonly number[], y: readonly number[]): number =>
    x.reduce((sum, value, i) => sum + value * y[i]!, 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

/** `path` is a pattern over the whole of path and query; what it captures comes behind the body. */
export interface FakeRoute {
  readonly method: string;
  readonly path: RegExp;
  readonly contentType?: string;
  readonly answer: (body: string, ...captured: string[]) => unknown;
}

/** Its address. */
export async function startFakeDatabase(
  t: TestContext,
  routes: readonly FakeRoute[],
  refusal: (message: string) => unknown,
): Promise<string> {
  const { url } = await startFakeServer(t, ({ method, path, headers, body }): FakeReply => {
    const found = routes
      .map((route) => ({ route, match: route.path.exec(path) }))
      .find(({ route, match }) => route.method === method && match);
    if (!found) return { status: 404, json: refusal(`no ${method} ${path}`) };
    if (body.length > 0 && headers['content-type'] !== (found.route.contentType ?? 'application/json'))
      return { status: 406, json: refusal('another content type was expected') };
    try {
      return { json: found.route.answer(body.toString(), ...(found.match as RegExpExecArray).slice(1)) };
    } catch (error) {
      return { status: error instanceof Refused ? error.status : 400, json: refusal((error as Error).message) };
    }
  });
  return url;
}

// A stand-in for Qdrant, by its documented REST interface, as far as a comparison needs it.

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
