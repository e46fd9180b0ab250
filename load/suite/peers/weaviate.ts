// Weaviate: objects by REST, searches by GraphQL, which is its HTTP interface for them (its clients use gRPC). Ids are
// UUIDs, so a row's number stands in the last digits of one. Used by load/suite/peers/participants.ts where a URL is
// given.
import { post, send, type Driver, type Filter, type Groups, type Hit, type Row } from './drivers.js';

interface Found extends Groups {
  text: string;
  _additional: { id: string };
}

interface Stored {
  result: { status?: string; errors?: unknown };
}

interface Answer {
  errors?: { message: string }[];
  data?: { Get: Record<string, Found[]> };
}

interface Shard {
  class: string;
  vectorIndexingStatus: string;
  vectorQueueLength: number;
}

/** `className` begins with a capital, as its classes do. */
export function weaviate(url: string, className: string): Driver {
  const property = (name: string, tokenization: string): object => ({ name, dataType: ['text'], tokenization });
  return {
    name: 'Weaviate',
    version: async () =>
      (JSON.parse(await send(url, { method: 'GET', path: '/v1/meta' })) as { version: string }).version,
    create: async () => {
      const properties = [property('text', 'word'), property('tenth', 'field'), property('hundredth', 'field')];
      await send(
        url,
        post('/v1/schema', {
          class: className,
          vectorizer: 'none',
          vectorIndexConfig: { distance: 'cosine' },
          properties,
        }),
      );
    },
    put: async (rows) => {
      const objects = rows.map(({ row, vector, text, groups }: Row) => ({
        class: className,
        id: uuidOf(row),
        vector,
        properties: { text, ...groups },
      }));
      const stored = JSON.parse(await send(url, post('/v1/batch/objects', { objects }))) as Stored[];
      const refused = stored.find(({ result }) => result.errors || result.status === 'FAILED');
      if (refused) throw new Error(`Weaviate refused an object: ${JSON.stringify(refused.result)}`);
    },
    isIndexed: async () => {
      const { nodes } = JSON.parse(await send(url, { method: 'GET', path: '/v1/nodes?output=verbose' })) as {
        nodes: { shards: Shard[] | null }[];
      };
      return nodes
        .flatMap(({ shards }) => shards ?? [])
        .filter((shard) => shard.class === className)
        .every(
          ({ vectorIndexingStatus, vectorQueueLength }) => vectorIndexingStatus !== 'INDEXING' && !vectorQueueLength,
        );
    },
    byVector: (vector, k, filter?: Filter) => post('/v1/graphql', { query: queryOf(className, vector, k, filter) }),
    hits: (answer) => hitsOf(className, answer),
    drop: async () => void (await send(url, { method: 'DELETE', path: `/v1/schema/${className}` })),
  };
}

function queryOf(className: string, vector: readonly number[], k: number, filter?: Filter): string {
  const where = filter ? `, where: {path: ["${filter.field}"], operator: Equal, valueText: "${filter.value}"}` : '';
  return `{Get {${className}(limit: ${k}, nearVector: {vector: [${vector.join(',')}]}${where}) {text tenth hundredth _additional {id distance}}}}`;
}

/** GraphQL answers 200 with errors in the body. */
function hitsOf(className: string, answer: string): Hit[] {
  const { errors, data } = JSON.parse(answer) as Answer;
  if (errors || !data) throw new Error(`Weaviate: ${errors?.[0]?.message ?? answer.slice(0, 300)}`);
  return data.Get[className]!.map(({ text, _additional }) => ({
    row: Number.parseInt(_additional.id.slice(-12), 16),
    text,
  }));
}

/** Of version 8, which is free in what it holds. */
const uuidOf = (row: number): string => `00000000-0000-8000-8000-${row.toString(16).padStart(12, '0')}`;
