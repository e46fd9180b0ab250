// Vectors of one's own as ingest bodies: items of JSON, put together as batches or lines. Used by the load programs
// that ingest many of them.
import type { SheafClient } from '../../src/client/client.js';
import { clustered, windows } from '../vector-sets.js';

const DIM = 384;

export interface VectorItems {
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
