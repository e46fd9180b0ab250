// Readers for other databases over their HTTP APIs, page by page. They write nothing there and hold one page at a time.
import { setTimeout as sleep } from 'node:timers/promises';
import { withLongNumbersQuoted } from '../base/json.js';
import { causeOf, retryWaitMs } from '../client/transport.js';
import { LocalFailure, UsageError } from './errors.js';

/** A record of the source: a point of Qdrant, or a record of Chroma. */
export interface SourceRecord {
  readonly id: string;
  readonly text?: string | undefined;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly vector?: readonly number[] | undefined;
}

export interface SourceCollection {
  /** Dimensions of the vectors; undefined if there are none yet. */
  readonly dim: number | undefined;
  readonly records: number;
  /** The metric as the database names it: `Cosine`, `l2`. */
  readonly metric: string;
  /** Yields each record once, provided that nobody writes meanwhile. */
  each(signal: AbortSignal): AsyncGenerator<SourceRecord, void>;
}

export interface SourceAddress {
  /** Address of the server. */
  readonly url: string;
  readonly collection: string;
  readonly key: string | undefined;
}

const RECORDS_A_PAGE = 256;
const RETRIES_MAX = 4;
const TIMEOUT_MS = 60_000;
const REASON_CHARACTERS_MAX = 200;

type Json = Record<string, unknown>;

/** JSON requests to a server. Failures that may be temporary are retried, because requests only read. */
class JsonServer {
  private readonly base: string;

  constructor(
    url: string,
    private readonly headers: Readonly<Record<string, string>>,
  ) {
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
      throw new UsageError(`${url} is not an address. Give the address of the server as http://HOST:PORT.`);
    this.base = url.replace(/\/+$/, '');
  }

  /** Undefined for 404. Throws LocalFailure with the server's message. */
  async ask(path: string, body?: object, signal?: AbortSignal): Promise<Json | undefined> {
    for (let attempt = 0; ; attempt++) {
      const { status, text, retryAfter } = await this.exchange(path, body, signal).catch((error: unknown) => {
        signal?.throwIfAborted();
        if (attempt >= RETRIES_MAX)
          throw new LocalFailure(
            `No server answers at ${this.base} (${causeOf(error)}). Start it, or give another address.`,
          );
        return { status: 503, text: '', retryAfter: null };
      });
      if (status === 404) return undefined;
      if (status === 200) return parsed(text, this.base);
      const mayPass = status === 429 || status >= 500;
      if (!mayPass || attempt >= RETRIES_MAX) throw refused(status, text, this.base);
      await sleep(retryWaitMs(attempt, retryAfter, Date.now(), Math.random()), undefined, { signal });
    }
  }

  private async exchange(
    path: string,
    body: object | undefined,
    signal: AbortSignal | undefined,
  ): Promise<{ status: number; text: string; retryAfter: string | null }> {
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(this.base + path, {
      method: body ? 'POST' : 'GET',
      headers: { ...this.headers, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
    const retryAfter = response.headers.get('retry-after');
    return { status: response.status, text: await response.text(), retryAfter };
  }
}

/**
 * Parses JSON. Numbers that a 64-bit float cannot represent become strings of their digits, as in the metadata of
 * Sheaf.
 */
function parsed(text: string, base: string): Json {
  try {
    return JSON.parse(withLongNumbersQuoted(text)) as Json;
  } catch {
    throw new LocalFailure(`${base} does not answer with JSON: it is a different kind of server.`);
  }
}

function refused(status: number, text: string, base: string): LocalFailure {
  const remedy = status === 401 || status === 403 ? ' Give its key with --from-key.' : '';
  return new LocalFailure(`${base} answers with HTTP ${status}: ${text.slice(0, REASON_CHARACTERS_MAX)}.${remedy}`);
}

const DEFAULT_TENANT = 'default_tenant';
const DEFAULT_DATABASE = 'default_database';

/**
 * Opens a collection of Chroma 1.x (`/api/v2`). `database` is TENANT/DATABASE. Throws UsageError if it does not exist.
 */
export async function openChroma(
  { url, collection, key }: SourceAddress,
  database = `${DEFAULT_TENANT}/${DEFAULT_DATABASE}`,
): Promise<SourceCollection> {
  const server = new JsonServer(url, key === undefined ? {} : { 'x-chroma-token': key });
  const [tenant, name, ...more] = database.split('/').map(encodeURIComponent);
  if (!tenant || !name || more.length > 0)
    throw new UsageError(`Give --from-database as TENANT/DATABASE, such as ${DEFAULT_TENANT}/${DEFAULT_DATABASE}.`);
  const base = `/api/v2/tenants/${tenant}/databases/${name}/collections`;
  const found = await server.ask(`${base}/${encodeURIComponent(collection)}`);
  if (found === undefined) throw missing(collection, url);
  const own = `${base}/${String(found['id'])}`;
  return {
    dim: (found['dimension'] as number | null | undefined) ?? undefined,
    records: Number(await server.ask(`${own}/count`)),
    metric: metricOfChroma(found),
    each: (signal) => chromaRecords(server, `${own}/get`, signal),
  };
}

function metricOfChroma({ configuration_json: configuration }: Json): string {
  const { hnsw, spann } = (configuration ?? {}) as {
    hnsw?: { space?: string } | null;
    spann?: { space?: string } | null;
  };
  return hnsw?.space ?? spann?.space ?? 'l2';
}

interface ChromaPage {
  ids: string[];
  documents: (string | null)[];
  metadatas: (Json | null)[];
  embeddings: (number[] | null)[];
}

async function* chromaRecords(
  server: JsonServer,
  path: string,
  signal: AbortSignal,
): AsyncGenerator<SourceRecord, void> {
  const include = ['documents', 'metadatas', 'embeddings'];
  for (let offset = 0; ; offset += RECORDS_A_PAGE) {
    const page = (await server.ask(path, { limit: RECORDS_A_PAGE, offset, include }, signal)) as ChromaPage | undefined;
    const { ids, documents, metadatas, embeddings } = page ?? { ids: [], documents: [], metadatas: [], embeddings: [] };
    for (const [i, id] of ids.entries())
      yield {
        id,
        text: documents[i] ?? undefined,
        metadata: metadatas[i] ?? {},
        vector: embeddings[i] ?? undefined,
      };
    if (ids.length < RECORDS_A_PAGE) return;
  }
}

/** The fields in which frameworks store the text of a point, in order of preference. */
const TEXT_FIELDS = ['document', 'page_content', 'text', 'content'];

export interface QdrantOptions {
  /** The payload field with the text; undefined: the first of the usual fields that a point has. */
  readonly textField: string | undefined;
  /** For a collection with named vectors. */
  readonly vectorName: string | undefined;
}

interface VectorParams {
  size: number;
  distance: string;
}

/**
 * Opens a collection of Qdrant. Throws UsageError if it does not exist, or if the choice of its vector is ambiguous.
 */
export async function openQdrant(
  { url, collection, key }: SourceAddress,
  { textField, vectorName }: QdrantOptions,
): Promise<SourceCollection> {
  const server = new JsonServer(url, key === undefined ? {} : { 'api-key': key });
  const own = `/collections/${encodeURIComponent(collection)}`;
  const found = (await server.ask(own))?.['result'] as
    | { points_count?: number | null; config: { params: { vectors?: VectorParams | Record<string, VectorParams> } } }
    | undefined;
  if (found === undefined) throw missing(collection, url);
  const { name, params } = chosenVector(found.config.params.vectors ?? {}, vectorName);
  return {
    dim: params?.size,
    records: found.points_count ?? 0,
    metric: params?.distance ?? 'Cosine',
    each: (signal) => qdrantRecords(server, `${own}/points/scroll`, { textField, name }, signal),
  };
}

/** `name` is undefined if the collection has one unnamed vector; `params` is undefined if it has no vector. */
function chosenVector(
  vectors: VectorParams | Record<string, VectorParams>,
  wanted: string | undefined,
): { name: string | undefined; params: VectorParams | undefined } {
  if (typeof vectors['size'] === 'number') return { name: undefined, params: vectors as VectorParams };
  const named = vectors as Record<string, VectorParams>;
  const names = Object.keys(named);
  if (wanted === undefined && names.length > 1)
    throw new UsageError(`Its points have several vectors. Choose one with --vector: ${names.join(', ')}.`);
  const name = wanted ?? names[0];
  if (name !== undefined && named[name] === undefined)
    throw new UsageError(`Its points have no vector ${name}. They have: ${names.join(', ') || 'none'}.`);
  return { name, params: name === undefined ? undefined : named[name] };
}

interface QdrantPoint {
  id: string | number;
  payload?: Json | null;
  vector?: unknown;
}

async function* qdrantRecords(
  server: JsonServer,
  path: string,
  { textField, name }: { textField: string | undefined; name: string | undefined },
  signal: AbortSignal,
): AsyncGenerator<SourceRecord, void> {
  const wanted = { limit: RECORDS_A_PAGE, with_payload: true, with_vector: name === undefined ? true : [name] };
  for (let offset: unknown = undefined; offset !== null; ) {
    const answer = await server.ask(path, { ...wanted, ...(offset !== undefined && { offset }) }, signal);
    const page = answer?.['result'] as { points: QdrantPoint[]; next_page_offset?: unknown } | undefined;
    for (const { id, payload, vector } of page?.points ?? [])
      yield {
        id: String(id),
        ...contentOf(payload ?? {}, textField === undefined ? TEXT_FIELDS : [textField]),
        vector: vectorOf(vector, name),
      };
    offset = page?.next_page_offset ?? null;
  }
}

/** The text, and the rest of the payload. LangChain nests the metadata in a field, which is flattened. */
function contentOf(payload: Json, textFields: readonly string[]): Pick<SourceRecord, 'text' | 'metadata'> {
  const field = textFields.find((name) => typeof payload[name] === 'string');
  if (field === undefined) return { metadata: payload };
  const { [field]: text, ...rest } = payload;
  const { metadata: inner, ...beside } = rest;
  const isNested = typeof inner === 'object' && inner !== null && !Array.isArray(inner);
  return { text: text as string, metadata: isNested ? { ...(inner as Json), ...beside } : rest };
}

function vectorOf(vector: unknown, name: string | undefined): number[] | undefined {
  const own: unknown = name === undefined ? vector : (vector as Json | null | undefined)?.[name];
  if (own === undefined || own === null) return undefined;
  if (Array.isArray(own) && typeof own[0] === 'number') return own as number[];
  if (Array.isArray(own)) throw new UsageError('Its points have multi-vectors: Sheaf stores one vector per document.');
  return undefined; // Named vectors without a chosen one: they are sparse.
}

const missing = (collection: string, url: string): UsageError =>
  new UsageError(`There is no collection ${collection} at ${url}. Name another with --from-collection.`);
