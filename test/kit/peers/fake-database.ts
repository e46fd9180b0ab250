// What the stand-ins for vector databases share: rows in memory with an exact search by cosine, and a server that
// refuses what the protocol it is told does not have: other paths and methods, missing, additional or mistyped members.
// Each stand-in speaks one database's protocol.
import type { TestContext } from 'node:test';
import { startFakeServer, type FakeReply } from '../fake-server.js';

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
export type Shape = Readonly<
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
