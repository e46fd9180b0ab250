// What PaveDB has of documents and logged searches, as a Sheaf archive has it. Vectors and texts stay as they are.
// Pure; used by import.ts.
import { withLongNumbersQuoted } from '../base/exact-numbers.js';
import type { PaveArchive } from '../archive/pavedb/pavedb-archive.js';
import { timeOf, type PaveDocument, type PaveQuery } from '../archive/pavedb/meta-database.js';
import type { ArchivedDocument, ArchivedQuery } from '../archive/archived-records.js';
import { faultOfQuery } from '../archive/query-fault.js';
import { parseChunkId } from '../contract/ids.js';
import type { LoggedQuery, LoggedRest } from '../contract/query-log.js';
import type { SearchMode } from '../contract/resources.js';
import { priorityOf } from '../rank/priority.js';
import { encodeQuery, queryIdBytes, queryIdOf } from '../store/query-records.js';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function archivedDocument(
  archive: PaveArchive,
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
    vectors: Buffer.concat(chunks.map(({ rid }) => archive.vector(rid))),
  };
}

/**
 * Undefined for one that cannot be told here. A search of Sheaf is found by the time in its id, so its id is made of
 * its time and of the id it had.
 */
export function archivedQuery(query: PaveQuery): ArchivedQuery | undefined {
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
  return faultOfQuery(logged) === undefined ? { id, record: encodeQuery(logged) } : undefined;
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

/** A UUIDv7 of this time, with the random part of another UUID. */
function timedId(uuid: string, ms: number): Buffer | undefined {
  if (!UUID.test(uuid)) return undefined;
  const id = queryIdBytes(uuid);
  id.writeUIntBE(ms, 0, 6);
  id[6] = 0x70 | ((id[6] as number) & 0x0f);
  id[8] = 0x80 | ((id[8] as number) & 0x3f);
  return id;
}
