// Fills a collection with many 384-d vectors, made batch by batch so that they need not all be in memory: real ones where the data is there, and
// those again with noise. Used by the programs that need more vectors than there are.
import { createPrng } from '../../src/base/prng.js';
import { clustered, windows } from '../vector-sets.js';

const BASE_ROWS = 60_000;
const BATCH = 200;
const LANES = 4;
/** Of the length of a vector. */
const NOISE = 0.3;

export interface Filling {
  readonly url: string;
  readonly tenant: string;
  readonly name: string;
  readonly rows: number;
}

/** Documents V0, V1 and so on. Answers what they are made of. */
export async function fillCollection({ url, tenant, name, rows }: Filling): Promise<string> {
  const base = windows(Math.min(rows, BASE_ROWS)) ?? clustered(Math.min(rows, BASE_ROWS), 384, 1);
  let next = 0;
  const work = async (): Promise<void> => {
    for (let from = next; from < rows; from = next) {
      next = from + BATCH;
      const items = Array.from({ length: Math.min(BATCH, rows - from) }, (_, i) => itemOf(base.rows, from + i));
      await post(`${url}/v1/collections/${tenant}/${name}/documents:batch`, `{"documents":[${items.join(',')}]}`, 201);
    }
  };
  await Promise.all(Array.from({ length: LANES }, work));
  return rows > base.rows.length ? `${base.name}, with noise beyond ${base.rows.length}` : base.name;
}

export function itemOf(base: readonly Float32Array[], row: number): string {
  const prng = createPrng(row + 1);
  const vector = base[row % base.length] as Float32Array;
  const noise = NOISE / Math.sqrt(vector.length);
  const texts = Array.from(vector, (value) => (row < base.length ? value : value + noise * prng.normal()).toPrecision(6));
  return `{"docid":"V${row}","vector":[${texts.join(',')}]}`;
}

/** On a machine that is busy with other things a connection may be cut for want of time: it is tried again. Throws where the status is another one. */
export async function post(url: string, body: string, status: number, tries = 5): Promise<string> {
  let response: Response;
  try {
    response = await fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
  } catch (error) {
    if (tries === 1) throw error;
    await new Promise((resolve) => setTimeout(resolve, 500));
    return post(url, body, status, tries - 1);
  }
  const text = await response.text();
  if (response.status !== status || text.includes('"ok":false')) throw new Error(`${response.status}: ${text.slice(0, 300)}`);
  return text;
}

/** Resolves when the server's process takes hardly any processor time: it has linked and merged all there is. */
export async function untilResting(cpuSeconds: () => Promise<number>, checkMs: number): Promise<void> {
  for (let resting = 0, before = await cpuSeconds(); resting < 3; ) {
    await new Promise((resolve) => setTimeout(resolve, checkMs));
    const now = await cpuSeconds();
    resting = now - before < 0.1 * (checkMs / 1000) ? resting + 1 : 0;
    before = now;
  }
}
