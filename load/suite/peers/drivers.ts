// What a vector database must support to be compared: storing rows, and searches over HTTP. Drivers for each database.
import type { CannonRequest } from '../../kit/closed-loop.js';

/** Metadata for filtered searches: one row in ten, or one in a hundred, has the value that a filter asks for. */
interface Groups {
  readonly tenth: string;
  readonly hundredth: string;
}

export interface Row {
  /** The row number, from 0, from which its id in the database is derived. */
  readonly row: number;
  readonly vector: readonly number[];
  readonly text: string;
  readonly groups: Groups;
}

export interface Filter {
  readonly field: keyof Groups;
  readonly value: string;
}

export interface Hit {
  readonly row: number;
  readonly text: string;
}

/** One database at one address. Every call throws with the answer if it is not as documented. */
export interface Driver {
  readonly name: string;
  /** The version that the server reports. */
  version(): Promise<string>;
  /** Creates a collection for vectors of this dimension by cosine, with all other defaults. */
  create(dim: number): Promise<void>;
  /**
   * Stores a batch, durably by the database's own standard. Rows that are not `fresh` replace those with the same
   * number.
   */
  put(rows: readonly Row[], fresh: boolean): Promise<void>;
  /** Whether all stored rows are indexed, as far as the database reports it. */
  isIndexed(): Promise<boolean>;
  /** A request for the nearest `k` rows with text and metadata. */
  byVector(vector: readonly number[], k: number, filter?: Filter): CannonRequest;
  /** The hits of an answer, best first. */
  hits(answer: string): Hit[];
  /** Present if the database embeds texts itself. */
  readonly texts?: TextDriver;
  /** Deletes what `create` made. */
  drop(): Promise<void>;
}

interface TextDriver {
  create(): Promise<void>;
  /** Stores texts, numbered from `from`. */
  put(texts: readonly string[], from: number): Promise<void>;
  /** `exact` scores every vector, if the database supports it. */
  byText(text: string, k: number, exact?: boolean): CannonRequest;
  hits(answer: string): Hit[];
}

/** A POST of JSON. */
export function post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): CannonRequest {
  return {
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  };
}

/** Resolves to the body. Throws if the status is not 2xx. */
export async function send(url: string, { method, path, headers, body }: CannonRequest): Promise<string> {
  const response = await fetch(`${url}${path}`, {
    method,
    ...(headers && { headers }),
    ...(body !== undefined && { body }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 500)}`);
  return text;
}

const VECTORS = '/v1/collections/load/peers-vectors';
const TEXTS = '/v1/collections/load/peers-texts';

interface Match {
  text?: string;
  meta: { docid: string; passage?: string };
}

interface PaveInterface {
  readonly name: string;
  readonly url: string;
  /** The key, if the server has keys. */
  readonly key?: string;
  /** Whether its default embedder is the model that all databases share. */
  readonly embeds: boolean;
}

/**
 * The common interface of Sheaf and PaveDB. Rows are given vectors with the text in the metadata, because a document is
 * either a text or a vector; texts go to the default embedder.
 */
export function paveInterface({ name, url, key, embeds }: PaveInterface): Driver {
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const ask = (path: string, body: unknown): CannonRequest => post(path, body, headers);
  const batch = async (path: string, documents: readonly object[]): Promise<void> => {
    const answer = await send(url, ask(`${path}/documents:batch`, { documents }));
    const { failed } = JSON.parse(answer) as { failed: number };
    if (failed > 0) throw new Error(`${name} refused ${failed} documents: ${answer.slice(0, 300)}`);
  };
  return {
    name,
    version: async () =>
      (JSON.parse(await send(url, { method: 'GET', path: '/health', headers })) as { version: string }).version,
    create: async (dim) =>
      void (await send(url, ask(VECTORS, { embedder_type: 'identity', embedder_config: { dim } }))),
    put: (rows) => batch(VECTORS, rows.map(documentOf)),
    isIndexed: async () => true,
    byVector: (v, k, filter?: Filter) =>
      ask(`${VECTORS}/search`, { v, k, ...(filter && { filters: { [filter.field]: filter.value } }) }),
    hits,
    ...(embeds && { texts: textsBy(url, ask, batch) }),
    drop: async () => {
      for (const path of [VECTORS, ...(embeds ? [TEXTS] : [])]) await send(url, { method: 'DELETE', path, headers });
    },
  };
}

function textsBy(
  url: string,
  ask: (path: string, body: unknown) => CannonRequest,
  batch: (path: string, documents: readonly object[]) => Promise<void>,
): TextDriver {
  return {
    create: async () => void (await send(url, ask(TEXTS, {}))),
    put: (texts, from) =>
      batch(
        TEXTS,
        texts.map((text, i) => ({ docid: `T${from + i}`, text })),
      ),
    byText: (q, k, exact) => ask(`${TEXTS}/search`, { q, k, mode: 'vector', ...(exact && { exact }) }),
    hits,
  };
}

const documentOf = ({ row, vector, text, groups }: Row): object => ({
  docid: `V${row}`,
  vector,
  metadata: { passage: text, ...groups },
});

const hits = (answer: string): Hit[] =>
  (JSON.parse(answer) as { matches: Match[] }).matches.map(({ text, meta }) => ({
    row: Number(meta.docid.slice(1)),
    text: text ?? meta.passage ?? '',
  }));

const COLLECTIONS = '/api/v2/tenants/default_tenant/databases/default_database/collections';

/** The ids and fields of hits, one list per query of a request. */
interface Answer {
  ids: string[][];
  documents: (string | null)[][];
  metadatas: (Groups | null)[][];
}

/**
 * Chroma's server by version 2 of its HTTP API, in its default tenant and database. Its clients embed texts, not the
 * server.
 */
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
    hits: chromaHits,
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

function chromaHits(answer: string): Hit[] {
  const { ids, documents } = JSON.parse(answer) as Answer;
  return ids[0]!.map((id, i) => ({ row: Number(id), text: documents[0]![i] ?? '' }));
}
