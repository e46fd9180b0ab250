// The SQLite database of a collection of PaveDB 0.9.7, read where it lies: documents with their chunks, settings, and
// the query log. The library is SQLite compiled to WebAssembly, with access to files: nothing is built when it is
// installed, and no database is read whole. Used by pavedb-archive.ts; throws ArchiveFault.
import { closeSync, openSync, writeSync } from 'node:fs';
import sqlite from 'node-sqlite3-wasm';
import { withLongNumbersQuoted } from '../../base/exact-numbers.js';
import { ArchiveFault } from '../archive-fault.js';

/** Of the file format, for who writes and who reads: 1 without a write-ahead log, 2 with it. */
const VERSIONS_AT = 18;
const LEGACY_VERSIONS = Buffer.from([1, 1]);

type Row = Record<string, unknown>;

interface PaveChunk {
  rid: string;
  meta: string;
  text: string | null;
}

export interface PaveDocument {
  docid: string;
  version: number;
  ingestedAtMs: number;
  metadata: Record<string, unknown>;
  chunks: PaveChunk[];
}

/** As the table has it; JSON columns are texts. */
export interface PaveQuery {
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
  /** Of the search that this one replays. */
  replayed_at: string | null;
}

export class MetaDatabase {
  private constructor(private readonly database: InstanceType<typeof sqlite.Database>) {}

  /** Of a copy: it is changed. */
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

  /** In the order of their ids; chunks in the order they came. */
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

  /** The oldest first. */
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
 * In its header a database says that it has a write-ahead log, which an archive never has: all is in it. The library
 * opens none that says so.
 */
function leaveWal(path: string): void {
  const file = openSync(path, 'r+');
  try {
    writeSync(file, LEGACY_VERSIONS, 0, LEGACY_VERSIONS.length, VERSIONS_AT);
  } finally {
    closeSync(file);
  }
}

/** ISO 8601, with or without milliseconds. */
export function timeOf(time: unknown): number {
  const ms = Date.parse(String(time));
  if (Number.isNaN(ms)) throw new ArchiveFault('document_invalid', `${String(time).slice(0, 40)} is no time.`);
  return ms;
}

function guarded<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new ArchiveFault(
      'document_invalid',
      `The database of the collection cannot be read: ${(error as Error).message}.`,
    );
  }
}
