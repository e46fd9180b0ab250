// Qdrant, by its REST interface: points with a payload, both groups with a keyword index. Used by
// load/suite/peers/participants.ts where a URL is given.
import { post, send, type Driver, type Filter, type Groups, type Hit, type Row } from './peer.js';

interface Point {
  id: number;
  payload: Groups & { text: string };
}

export function qdrant(url: string, collection: string): Driver {
  const path = `/collections/${collection}`;
  const put = async (to: string, body: object): Promise<void> =>
    void (await send(url, { ...post(to, body), method: 'PUT' }));
  return {
    name: 'Qdrant',
    version: async () => (JSON.parse(await send(url, { method: 'GET', path: '/' })) as { version: string }).version,
    create: async (dim) => {
      await put(path, { vectors: { size: dim, distance: 'Cosine' } });
      for (const field of ['tenth', 'hundredth'])
        await put(`${path}/index?wait=true`, { field_name: field, field_schema: 'keyword' });
    },
    put: (rows) => put(`${path}/points?wait=true`, { points: rows.map(pointOf) }),
    // Yellow: segments are being optimized, the building of graphs among it.
    isIndexed: async () =>
      (JSON.parse(await send(url, { method: 'GET', path })) as { result: { status: string } }).result.status ===
      'green',
    byVector: (vector, k, filter?: Filter) =>
      post(`${path}/points/query`, {
        query: vector,
        limit: k,
        with_payload: true,
        ...(filter && { filter: { must: [{ key: filter.field, match: { value: filter.value } }] } }),
      }),
    hits: (answer): Hit[] =>
      (JSON.parse(answer) as { result: { points: Point[] } }).result.points.map(({ id, payload }) => ({
        row: id,
        text: payload.text,
      })),
    drop: async () => void (await send(url, { method: 'DELETE', path })),
  };
}

const pointOf = ({ row, vector, text, groups }: Row): object => ({ id: row, vector, payload: { text, ...groups } });
