// Reads a collection archive of PaveDB 0.9.7: a zip with `manifest.json`, `collection.json`, the SQLite database
// `meta.db`, and a flat FAISS index of vectors with an id map of its chunks. It converts documents and logged searches
// to the records of Sheaf archives; vectors and texts stay unchanged. Throws `ArchiveError`.
import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import sqlite from 'node-sqlite3-wasm';
import typia from 'typia';
import type { SearchMode } from '../api/choices.js';
import { parseChunkId } from '../api/ids.js';
import { withLongNumbersQuoted } from '../base/json.js';
import { priorityOf } from '../ranking/scores.js';
import type { LoggedQuery, LoggedRest } from '../storage/query-log-commands.js';
import { encodeQuery, queryIdBytes, queryIdOf } from '../storage/query-log-records.js';
import { ArchiveError, WHOLE_ENTRY_BYTES_MAX, parsedJson } from './format.js';
import { ArchiveReader } from './reader.js';
import { type ArchivedDocument, type ArchivedQuery, problemOfQuery } from './records.js';

/**
 * Offset of the two version bytes of an SQLite header, one for writing and one for reading: 1 without a write-ahead
 * log, 2 with one.
 */
const VERSIONS_AT = 18;
const LEGACY_VERSIONS = Buffer.from([1, 1]);

type Row = Record<string, unknown>;

interface PaveChunk {
  rid: string;
  meta: string;
  text: string | null;
}

interface PaveDocument {
  docid: string;
  version: number;
  ingestedAtMs: number;
  metadata: Record<string, unknown>;
  chunks: PaveChunk[];
}

/** A row of the table. JSON columns are texts. */
interface PaveQuery {
  query_id: string;
  actor: string;
  query_text: string;
  k: number;
  filters_json: string | null;
  include_common: number;
  common_tenant: string | null;
  common_collection: string | null;
  result_ids_json: string | null;
  latency_ms: number | null;
  timing_json: string | null;
  request_id: string | null;
  replay_of: string | null;
  executed_at: string;
  content_filter_json: string | null;
  mode: string;
  /** The time of the search that this one replays. */
  replayed_at: string | null;
}

/**
 * The SQLite database, read from its file. The library is SQLite compiled to WebAssembly with access to files, so
 * nothing is compiled at installation and the database is not read whole.
 */
class MetaDatabase {
  private constructor(private readonly database: InstanceType<typeof sqlite.Database>) {}

  /** `path` must be a copy, because opening changes the file. */
  static open(path: string): MetaDatabase {
    leaveWal(path);
    return new MetaDatabase(guarded(() => new sqlite.Database(path, { readOnly: true, fileMustExist: true })));
  }

  counts(): { documents: number; chunks: number } {
    const [row] = this.all(
      'SELECT (SELECT count(*) FROM documents) AS documents, (SELECT count(*) FROM chunks) AS chunks',
    );
    return row as unknown as { documents: number; chunks: number };
  }

  settings(): Map<string, unknown> {
    return new Map(
      this.all('SELECT key, value_json FROM settings').map(({ key, value_json: json }) => [
        String(key),
        JSON.parse(String(json)),
      ]),
    );
  }

  /** The documents in the order of their ids, with their chunks in the order of insertion. */
  *documents(): Generator<PaveDocument> {
    const chunks = guarded(() =>
      this.database.prepare('SELECT rid, meta_json AS meta, text FROM chunks WHERE docid = ? ORDER BY rowid'),
    );
    try {
      for (const row of this.each('SELECT docid, version, ingested_at, meta_json FROM documents ORDER BY docid')) {
        const docid = String(row.docid);
        yield {
          docid,
          version: Number(row.version),
          ingestedAtMs: timeOf(row.ingested_at),
          metadata:
            row.meta_json === null
              ? {}
              : (JSON.parse(withLongNumbersQuoted(String(row.meta_json))) as Record<string, unknown>),
          chunks: chunks.all([docid]) as unknown as PaveChunk[],
        };
      }
    } finally {
      chunks.finalize();
    }
  }

  /** The logged searches, oldest first. */
  *queries(): Generator<PaveQuery> {
    yield* this.each(
      'SELECT q.*, r.executed_at AS replayed_at FROM query_log q LEFT JOIN query_log r ON r.query_id = q.replay_of ORDER BY q.executed_at',
    ) as Generator<Row> as Generator<unknown> as Generator<PaveQuery>;
  }

  close(): void {
    this.database.close();
  }

  private all(sql: string): Row[] {
    return guarded(() => this.database.all(sql) as Row[]);
  }

  private *each(sql: string): Generator<Row> {
    const statement = guarded(() => this.database.prepare(sql));
    try {
      yield* statement.iterate() as Iterable<Row>;
    } finally {
      statement.finalize();
    }
  }
}

/**
 * Clears the mark of a write-ahead log in the database header. The library does not open a database with this mark, and
 * an archive never has such a log.
 */
function leaveWal(path: string): void {
  const file = openSync(path, 'r+');
  try {
    writeSync(file, LEGACY_VERSIONS, 0, LEGACY_VERSIONS.length, VERSIONS_AT);
  } finally {
    closeSync(file);
  }
}

/** The milliseconds since 1970 of an ISO 8601 time with or without milliseconds. */
export function timeOf(time: unknown): number {
  const ms = Date.parse(String(time));
  if (Number.isNaN(ms)) throw new ArchiveError('document_invalid', `${String(time).slice(0, 40)} is not a time.`);
  return ms;
}

function guarded<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new ArchiveError(
      'document_invalid',
      `The database of the collection cannot be read: ${(error as Error).message}.`,
    );
  }
}

/**
 * The header of a FAISS index: a name of four letters, the dimension (4 bytes), the number of vectors (8), two unused
 * numbers (16), whether the index is trained (1), and the metric (4).
 */
const HEADER_BYTES = 37;
const AT = { dim: 4, vectors: 8, metric: 33 } as const;
const INNER_PRODUCT = 0;
const COUNT_BYTES = 8;

/**
 * A flat FAISS index with an id map (`IndexIDMap2` over `IndexFlatIP`): the vectors in the order of insertion, followed
 * by the id of each. Vectors are read from the file one at a time.
 */
class FlatIndex {
  private constructor(
    private readonly file: number,
    readonly dim: number,
    /** The offset in the file of the vector with each id. */
    private readonly places: ReadonlyMap<number, number>,
  ) {}

  static open(path: string): FlatIndex {
    const file = openSync(path, 'r');
    try {
      const { dim, vectors } = header(file, 0, 'IxM2');
      const flat = header(file, HEADER_BYTES, 'IxFI');
      const from = 2 * HEADER_BYTES + COUNT_BYTES;
      const idsAt = from + vectors * dim * 4 + COUNT_BYTES;
      const isWhole =
        flat.dim === dim &&
        flat.vectors === vectors &&
        count(file, from - COUNT_BYTES) === vectors * dim &&
        fstatSync(file).size === idsAt + vectors * 8 &&
        count(file, idsAt - COUNT_BYTES) === vectors;
      if (!isWhole) throw new ArchiveError('document_invalid', 'The vector index is not complete.');
      const ids = new BigInt64Array(new Uint8Array(bytesAt(file, idsAt, vectors * 8)).buffer);
      return new FlatIndex(file, dim, new Map(Array.from(ids, (id, place) => [Number(id), from + place * dim * 4])));
    } catch (error) {
      closeSync(file);
      throw error;
    }
  }

  get size(): number {
    return this.places.size;
  }

  /** The bytes of a vector: float32, little-endian. */
  vector(id: number): Buffer {
    const place = this.places.get(id);
    if (place === undefined)
      throw new ArchiveError('document_invalid', `The vector index has no vector with the id ${id}.`);
    return bytesAt(this.file, place, this.dim * 4);
  }

  close(): void {
    closeSync(this.file);
  }
}

function header(file: number, at: number, name: string): { dim: number; vectors: number } {
  const bytes = bytesAt(file, at, HEADER_BYTES);
  if (bytes.toString('latin1', 0, 4) !== name || bytes.readInt32LE(AT.metric) !== INNER_PRODUCT)
    throw new ArchiveError('format_unknown', 'The vector index is not a flat index of inner products with an id map.');
  return { dim: bytes.readInt32LE(AT.dim), vectors: Number(bytes.readBigInt64LE(AT.vectors)) };
}

const count = (file: number, at: number): number => Number(bytesAt(file, at, COUNT_BYTES).readBigUInt64LE(0));

function bytesAt(file: number, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  if (readSync(file, bytes, 0, length, at) !== length)
    throw new ArchiveError('document_invalid', 'The vector index is cut off.');
  return bytes;
}

const PAVEDB_VERSION = '0.9.7';

interface PaveManifest {
  archive_format: 'pavedb.collection';
  archive_version: 1;
  pavedb_version: string;
  source: { tenant: string; collection: string };
  collection: { display_name?: string | null; created_at?: string | null };
  embedder_spec: { embedder_type: string; embed_model: string; embedder_config: Record<string, unknown> };
}

const isManifest = typia.createIs<PaveManifest>();
const isIdMap = typia.createIs<{ rid_to_id: Record<string, number> }>();
const INDEX = 'index/faiss.index';
const ID_MAP = 'index/id_map.json';

/** An open PaveDB archive. It must be closed. */
export class PaveArchive {
  private constructor(
    readonly manifest: PaveManifest,
    private readonly database: MetaDatabase,
    /** Undefined if the collection is empty and never had a vector. */
    private readonly index: FlatIndex | undefined,
    private readonly ids: ReadonlyMap<string, number>,
  ) {}

  /** Opens an archive. The files that need random access are unpacked into `folder`, which must be empty. */
  static async open(path: string, folder: string): Promise<PaveArchive> {
    const reader = await ArchiveReader.open(path, Number.MAX_SAFE_INTEGER);
    try {
      const manifest = parsedJson(await reader.whole('manifest.json', WHOLE_ENTRY_BYTES_MAX));
      if (!isManifest(manifest))
        throw new ArchiveError('manifest_invalid', 'This is not a collection archive of PaveDB.');
      if (manifest.pavedb_version !== PAVEDB_VERSION)
        throw new ArchiveError(
          'service_version',
          `The archive is of PaveDB ${manifest.pavedb_version}; only archives of PaveDB ${PAVEDB_VERSION} can be read.`,
        );
      await reader.extract('meta.db', join(folder, 'meta.db'));
      const hasIndex = reader.names().includes(INDEX);
      if (hasIndex) await reader.extract(INDEX, join(folder, 'faiss.index'));
      const ids = hasIndex ? await readIds(reader) : new Map<string, number>();
      return new PaveArchive(
        manifest,
        MetaDatabase.open(join(folder, 'meta.db')),
        hasIndex ? FlatIndex.open(join(folder, 'faiss.index')) : undefined,
        ids,
      ).checked();
    } finally {
      reader.close();
    }
  }

  /** The dimension of the vectors; undefined if there are none. */
  get dim(): number | undefined {
    return this.index?.dim;
  }

  get settings(): Map<string, unknown> {
    return this.database.settings();
  }

  /**
   * The documents in the order of their ids. Those without chunks, which an interrupted PaveDB may leave behind, are
   * skipped.
   */
  *documents(priorityKey: string): Generator<ArchivedDocument> {
    for (const document of this.database.documents())
      if (document.chunks.length > 0) yield this.archived(document, priorityKey);
  }

  /** The logged searches, oldest first; undefined for one that a Sheaf archive cannot contain. */
  *queries(): Generator<ArchivedQuery | undefined> {
    for (const query of this.database.queries()) yield archivedQuery(query);
  }

  private archived(
    { docid, version, ingestedAtMs, metadata, chunks }: PaveDocument,
    priorityKey: string,
  ): ArchivedDocument {
    return {
      docid,
      version,
      ingested_at_ms: ingestedAtMs,
      metadata: JSON.stringify(metadata),
      priority: priorityOf(metadata, priorityKey),
      chunks: chunks.map(({ rid, meta, text }) => ({
        path: parseChunkId(rid)?.chunkPath ?? rid,
        meta: JSON.stringify(JSON.parse(withLongNumbersQuoted(meta))),
        ...(text !== null && { text }),
      })),
      vectors: Buffer.concat(chunks.map(({ rid }) => this.vector(rid))),
    };
  }

  private vector(rid: string): Buffer {
    const id = this.ids.get(rid);
    if (id === undefined || !this.index) throw new ArchiveError('document_invalid', `Chunk ${rid} has no vector.`);
    return this.index.vector(id);
  }

  close(): void {
    this.database.close();
    this.index?.close();
  }

  private checked(): this {
    const { chunks } = this.database.counts();
    if (chunks !== this.ids.size || chunks !== (this.index?.size ?? 0))
      throw new ArchiveError(
        'count_mismatch',
        `The archive has ${chunks} chunks and ${this.index?.size ?? 0} vectors.`,
      );
    return this;
  }
}

async function readIds(reader: ArchiveReader): Promise<Map<string, number>> {
  const map = parsedJson(await reader.whole(ID_MAP, Number.MAX_SAFE_INTEGER));
  if (!isIdMap(map)) throw new ArchiveError('document_invalid', 'The id map of the index has a wrong shape.');
  return new Map(Object.entries(map.rid_to_id));
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Converts a logged search. Sheaf finds a search by the time in its id, so the new id combines the time of the search
 * with its old id.
 */
function archivedQuery(query: PaveQuery): ArchivedQuery | undefined {
  const executedAtMs = timeOf(query.executed_at);
  const id = timedId(query.query_id, executedAtMs);
  const replayOf =
    query.replay_of && query.replayed_at ? timedId(query.replay_of, timeOf(query.replayed_at)) : undefined;
  if (!id) return undefined;
  const logged: LoggedQuery = {
    text: query.query_text,
    k: query.k,
    executedAtMs,
    latencyMs: query.latency_ms ?? 0,
    replayOf: replayOf ? queryIdOf(replayOf) : '',
    requestId: query.request_id ?? '',
    actor: query.actor,
    mode: query.mode as SearchMode,
    resultIds: JSON.parse(query.result_ids_json ?? '[]') as string[],
    rest: restOf(query),
  };
  return problemOfQuery(logged) === undefined ? { id, record: encodeQuery(logged) } : undefined;
}

function restOf(query: PaveQuery): LoggedRest {
  const parsed = (json: string | null): object | undefined =>
    json === null ? undefined : (JSON.parse(withLongNumbersQuoted(json)) as object);
  const timing = { embed_ms: 0, filter_ms: 0, hydrate_ms: 0, search_ms: 0, ...parsed(query.timing_json) };
  const [filters, contentFilter] = [parsed(query.filters_json), parsed(query.content_filter_json)];
  return {
    ...(filters !== undefined && { filters: filters as Record<string, unknown> }),
    ...(contentFilter !== undefined && { content_filter: contentFilter as NonNullable<LoggedRest['content_filter']> }),
    ...(query.include_common === 1 && { include_common: true }),
    ...(query.common_tenant !== null && { common_tenant: query.common_tenant }),
    ...(query.common_collection !== null && { common_collection: query.common_collection }),
    timing,
  };
}

/** A UUIDv7 of this time, with the random part of another UUID. Undefined if that is not a UUID. */
function timedId(uuid: string, ms: number): Buffer | undefined {
  if (!UUID.test(uuid)) return undefined;
  const id = queryIdBytes(uuid);
  id.writeUIntBE(ms, 0, 6);
  id[6] = 0x70 | ((id[6] as number) & 0x0f);
  id[8] = 0x80 | ((id[8] as number) & 0x3f);
  return id;
}
