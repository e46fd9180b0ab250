// Chroma's server, by version 2 of its HTTP interface, in the tenant and database that it starts with. It embeds no
// texts: its clients do. Used by load/suite/peers/participants.ts.
import { post, send, type Driver, type Filter, type Groups, type Hit, type Row } from './peer.js';

const COLLECTIONS = '/api/v2/tenants/default_tenant/databases/default_database/collections';

/** A list for each query of a request. */
interface Answer {
  ids: string[][];
  documents: (string | null)[][];
  metadatas: (Groups | null)[][];
}

export function chroma(url: string, collection: string): Driver {
  let path = '';
  return {
    name: 'Chroma',
    version: async () => JSON.parse(await send(url, { method: 'GET', path: '/api/v2/version' })) as string,
    create: async () => {
      const made = JSON.parse(
        await send(url, post(COLLECTIONS, { name: collection, configuration: { hnsw: { space: 'cosine' } } })),
      ) as { id: string };
      path = `${COLLECTIONS}/${made.id}`;
    },
    put: async (rows, fresh) => void (await send(url, post(`${path}/${fresh ? 'add' : 'upsert'}`, recordsOf(rows)))),
    isIndexed: async () => true,
    byVector: (vector, k, filter?: Filter) =>
      post(`${path}/query`, {
        query_embeddings: [vector],
        n_results: k,
        include: ['documents', 'metadatas', 'distances'],
        ...(filter && { where: { [filter.field]: filter.value } }),
      }),
    hits,
    drop: async () => void (await send(url, { method: 'DELETE', path: `${COLLECTIONS}/${collection}` })),
  };
}

function recordsOf(rows: readonly Row[]): object {
  return {
    ids: rows.map(({ row }) => String(row)),
    embeddings: rows.map(({ vector }) => vector),
    documents: rows.map(({ text }) => text),
    metadatas: rows.map(({ groups }) => groups),
  };
}

function hits(answer: string): Hit[] {
  const { ids, documents } = JSON.parse(answer) as Answer;
  return ids[0]!.map((id, i) => ({ row: Number(id), text: documents[0]![i] ?? '' }));
}
