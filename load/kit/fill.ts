// Vectors as ingest bodies, and filling a collection over HTTP: real vectors if present; beyond their number the same
// again with noise.
import { createPrng } from '../../src/base/prng.js';
import type { SheafClient } from '../../src/client/client.js';
import { cpuSeconds } from './server-usage.js';
import { VECTOR_DIM, clustered, windows } from './vector-sets.js';

const BASE_ROWS = 60_000;
const BATCH = 200;
const WRITERS = 4;
/** Length of the noise, relative to the length of a vector. */
const NOISE = 0.3;

interface Place {
  readonly url: string;
  readonly tenant: string;
  readonly name: string;
  /** Headers of every request, such as a key. */
  readonly headers?: Readonly<Record<string, string>>;
}

interface Filling extends Place {
  readonly rows: number;
}

interface Base {
  readonly name: string;
  readonly rows: readonly Float32Array[];
  readonly queries: readonly Float32Array[];
}

/**
 * Ingests documents V0, V1 and so on, generated batch by batch to bound memory. Returns a description of the vectors.
 */
export async function fillCollection(filling: Filling): Promise<string> {
  const base = vectorBase(filling.rows, VECTOR_DIM);
  await postItems(filling, filling.rows, BATCH, (row) => itemOf(base.rows, row));
  return base.name;
}

/** The base of `count` vectors: real ones if present and of that dimension, else seeded ones. */
export function vectorBase(count: number, dim: number): Base {
  const few = Math.min(count, BASE_ROWS);
  const base = (dim === VECTOR_DIM ? windows(few) : undefined) ?? clustered(few, dim, 1);
  return count > base.rows.length ? { ...base, name: `${base.name}, with noise beyond ${base.rows.length}` } : base;
}

/** Posts batches, four at a time. Throws if one is not stored completely. */
export function postItems(
  { url, tenant, name, headers }: Place,
  count: number,
  batch: number,
  item: (row: number) => string,
): Promise<void> {
  return inBatches(count, batch, async (from, to) => {
    const items = Array.from({ length: to - from }, (_, i) => item(from + i));
    await post(
      `${url}/v1/collections/${tenant}/${name}/documents:batch`,
      `{"documents":[${items.join(',')}]}`,
      201,
      headers,
    );
  });
}

/** Calls `send` for ranges of numbers, four at a time; each range excludes its end. */
export async function inBatches(
  count: number,
  batch: number,
  put: (from: number, to: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    for (let from = next; from < count; from = next) {
      next = Math.min(from + batch, count);
      await put(from, next);
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, work));
}

export function itemOf(base: readonly Float32Array[], row: number): string {
  const prng = createPrng(row + 1);
  const vector = base[row % base.length] as Float32Array;
  const noise = NOISE / Math.sqrt(vector.length);
  const texts = Array.from(vector, (value) =>
    (row < base.length ? value : value + noise * prng.normal()).toPrecision(6),
  );
  return `{"docid":"V${row}","vector":[${texts.join(',')}]}`;
}

/**
 * Posts a request, with retries because on a busy machine a timeout may close a connection. Throws for another status.
 */
export async function post(
  url: string,
  body: string,
  status: number,
  headers: Place['headers'] = {},
  tries = 5,
): Promise<string> {
  let response: Response;
  try {
    response = await fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } });
  } catch (error) {
    if (tries === 1) throw error;
    await new Promise((resolve) => setTimeout(resolve, 500));
    return post(url, body, status, headers, tries - 1);
  }
  const text = await response.text();
  if (response.status !== status || text.includes('"ok":false'))
    throw new Error(`${response.status}: ${text.slice(0, 300)}`);
  return text;
}

const IDLE_CHECKS = 3;
/** The CPU use, in shares of a core, below which a process is idle. */
const IDLE_SHARE = 0.1;

/**
 * Resolves when a process repeatedly uses hardly any CPU, that is, has finished its background work. True if so, false
 * after `withinMs`.
 */
export async function untilIdle(
  cpuMs: () => number | Promise<number>,
  checkMs: number,
  withinMs = Infinity,
  isDone: () => boolean | Promise<boolean> = () => true,
): Promise<boolean> {
  const startedAtMs = performance.now();
  let before = await cpuMs();
  for (let idle = 0; idle < IDLE_CHECKS; ) {
    if (performance.now() - startedAtMs > withinMs) return false;
    await new Promise((resolve) => setTimeout(resolve, checkMs));
    const isOver = await isDone();
    const now = await cpuMs();
    idle = isOver && now - before < IDLE_SHARE * checkMs ? idle + 1 : 0;
    before = now;
  }
  return true;
}

/** untilIdle for a server, by its metrics. */
export async function untilServerIdle(
  url: string,
  checkMs: number,
  { headers, withinMs }: { headers?: Place['headers']; withinMs?: number } = {},
): Promise<void> {
  await untilIdle(async () => 1000 * (await cpuSeconds(url, headers)), checkMs, withinMs);
}

interface VectorItems {
  readonly source: string;
  /** Ingest bodies as JSON text. */
  readonly items: readonly string[];
}

/** Real vectors if present, else seeded ones; 7 digits per number. */
export function vectorItems(count: number): VectorItems {
  const { name, rows } = windows(count) ?? clustered(count, VECTOR_DIM, 1);
  const items = rows.map((row, i) =>
    JSON.stringify({ docid: `V${i}`, vector: Array.from(row, (value) => Number(value.toPrecision(7))) }),
  );
  return { source: name, items };
}

/** Bodies `{"documents":[…]}` with up to `size` items each. */
export function batchesOf(items: readonly string[], size: number): string[] {
  return Array.from(
    { length: Math.ceil(items.length / size) },
    (_, i) => `{"documents":[${items.slice(i * size, (i + 1) * size).join(',')}]}`,
  );
}

/** Creates a collection for these vectors. */
export async function createVectorCollection(client: SheafClient, tenant: string, name: string): Promise<void> {
  await client.createCollection(tenant, name, { embedder_type: 'identity', embedder_config: { dim: VECTOR_DIM } });
}

/** Queries of the same kind as the vectors. */
export function vectorQueries(): number[][] {
  const { queries } = windows(1) ?? clustered(1, VECTOR_DIM, 1);
  return queries.map((query) => Array.from(query, (value) => Number(value.toPrecision(7))));
}

/** Posts batches, four at a time. Throws if one is not stored completely. */
export function ingestVectors(
  url: string,
  tenant: string,
  name: string,
  items: readonly string[],
  size: number,
): Promise<void> {
  return postItems({ url, tenant, name }, items.length, size, (row) => items[row] as string);
}
