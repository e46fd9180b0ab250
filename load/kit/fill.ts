// Fills a collection with many 384-d vectors, made batch by batch so that they need not all be in memory: real ones
// where the data is there, and those again with noise. Used by the programs that need more vectors than there are.
import { createPrng } from '../../src/base/prng.js';
import type { SheafClient } from '../../src/client/client.js';
import { cpuSeconds } from './server-usage.js';
import { clustered, windows } from './vector-sets.js';

const BASE_ROWS = 60_000;
const BATCH = 200;
const LANES = 4;
/** Of the length of a vector. */
const NOISE = 0.3;

interface Place {
  readonly url: string;
  readonly tenant: string;
  readonly name: string;
  /** Of every request, such as a key. */
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

/** Documents V0, V1 and so on. Answers what they are made of. */
export async function fillCollection(filling: Filling): Promise<string> {
  const base = vectorBase(filling.rows, 384);
  await postItems(filling, filling.rows, BATCH, (row) => itemOf(base.rows, row));
  return base.name;
}

/** What `count` vectors are made of: real ones where they are there and of that dimension, else seeded ones. */
export function vectorBase(count: number, dim: number): Base {
  const few = Math.min(count, BASE_ROWS);
  const base = (dim === 384 ? windows(few) : undefined) ?? clustered(few, dim, 1);
  return count > base.rows.length ? { ...base, name: `${base.name}, with noise beyond ${base.rows.length}` } : base;
}

/** In batches, four under way. Throws where one is not stored whole. */
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

/** Four under way; each has the numbers from the first up to the second. */
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
  await Promise.all(Array.from({ length: LANES }, work));
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
 * On a machine that is busy with other things a connection may be cut for want of time: it is tried again. Throws where
 * the status is another one.
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

/**
 * Resolves when the server's process takes hardly any processor time: it has linked and merged all there is. Or after
 * `withinMs`.
 */
export async function untilResting(
  url: string,
  checkMs: number,
  { headers, withinMs = Infinity }: { headers?: Place['headers']; withinMs?: number } = {},
): Promise<void> {
  const startedAtMs = performance.now();
  for (
    let resting = 0, before = await cpuSeconds(url, headers);
    resting < 3 && performance.now() - startedAtMs < withinMs;
  ) {
    await new Promise((resolve) => setTimeout(resolve, checkMs));
    const now = await cpuSeconds(url, headers);
    resting = now - before < 0.1 * (checkMs / 1000) ? resting + 1 : 0;
    before = now;
  }
}

// Vectors of one's own as ingest bodies: items of JSON, put together as batches or lines. Used by the load programs
// that ingest many of them.

const DIM = 384;

interface VectorItems {
  readonly source: string;
  /** Each an ingest body as JSON text. */
  readonly items: readonly string[];
}

/** Real vectors where the data is there, else seeded ones; 7 digits of each number. */
export function vectorItems(count: number): VectorItems {
  const { name, rows } = windows(count) ?? clustered(count, DIM, 1);
  const items = rows.map((row, i) =>
    JSON.stringify({ docid: `V${i}`, vector: Array.from(row, (value) => Number(value.toPrecision(7))) }),
  );
  return { source: name, items };
}

/** `{"documents":[…]}` with up to `size` items each. */
export function batchesOf(items: readonly string[], size: number): string[] {
  return Array.from(
    { length: Math.ceil(items.length / size) },
    (_, i) => `{"documents":[${items.slice(i * size, (i + 1) * size).join(',')}]}`,
  );
}

/** A collection for them. */
export async function createVectorCollection(client: SheafClient, tenant: string, name: string): Promise<void> {
  await client.createCollection(tenant, name, { embedder_type: 'identity', embedder_config: { dim: DIM } });
}

/** Queries for them, of the same kind. */
export function vectorQueries(): number[][] {
  const { queries } = windows(1) ?? clustered(1, DIM, 1);
  return queries.map((query) => Array.from(query, (value) => Number(value.toPrecision(7))));
}

/** In batches, four under way. Throws where one is not stored whole. */
export async function ingestVectors(
  url: string,
  tenant: string,
  name: string,
  items: readonly string[],
  size: number,
): Promise<void> {
  const bodies = batchesOf(items, size).values();
  const work = async (): Promise<void> => {
    for (const body of bodies) {
      const response = await fetch(`${url}/v1/collections/${tenant}/${name}/documents:batch`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json' },
      });
      const text = await response.text();
      if (response.status !== 201 || text.includes('"ok":false'))
        throw new Error(`${response.status}: ${text.slice(0, 500)}`);
    }
  };
  await Promise.all(Array.from({ length: 4 }, work));
}
