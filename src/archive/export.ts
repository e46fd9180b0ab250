// Writes a collection into an archive from one snapshot of the data directory: its documents, shard by shard, its
// logged searches, and its manifest. Archive process only.
import { join } from 'node:path';
import type { CollectionRef } from '../api/collections.js';
import { refOf } from '../storage/catalog-commands.js';
import type { CollectionId, Ordinal } from '../api/ids.js';
import { placeOfLog, placeOfShard } from '../base/meters.js';
import { DamagedRecord } from '../storage/damage.js';
import { logName, shardNames } from '../storage/data-directory.js';
import { collectionPrefix } from '../storage/keys.js';
import { Environment } from '../storage/lmdb.js';
import type { FoundQuery } from '../storage/query-log-commands.js';
import { encodeQuery, idOfQueryKey, queryIdBytes } from '../storage/query-log-records.js';
import { LOG_TABLES } from '../storage/query-log.js';
import { type DocumentRecord, encodeVector } from '../storage/records.js';
import { isExpired } from '../storage/expiries.js';
import { SHARD_TABLES, ShardTxn } from '../storage/shard-reader.js';
import type { Tables } from '../storage/table.js';
import { type CollectionManifest, type EntryRecord, MANIFEST, headingAt, settingsOf } from './format.js';
import type { ArchivedSource, WriteTask } from './messages.js';
import { type ArchivedChunk, type ArchivedDocument, type ArchivedQuery, problemOfRecord } from './records.js';
import { type EntryWriter, addJson, writeRecords } from './writer.js';

interface LoggedEntry {
  key: Buffer;
  value: Buffer | undefined;
}

/** The id of a logged search, and its record; undefined for a damaged one. */
interface StoredQuery {
  id: Buffer;
  record: Buffer | undefined;
}

const keyOf = ({ head }: { head: IteratorResult<LoggedEntry> }): Buffer => (head.value as LoggedEntry).key;

/**
 * A snapshot of a whole data directory in a process other than the server, which LMDB allows whatever happens to the
 * server meanwhile. It must be ended; until then LMDB cannot reuse the pages that it sees.
 */
export class DatasetSnapshot {
  private constructor(
    readonly shards: readonly ShardTxn[],
    private readonly logs: readonly Tables<(typeof LOG_TABLES)[number]>[],
    private readonly ends: readonly (() => void)[],
  ) {}

  /**
   * Opens the stores, each within `held`, which runs its function while nothing is committed to the store at that
   * place. Returns a function that takes the snapshot; the caller must make sure that nothing is written meanwhile.
   */
  static async prepare(
    { directory, shards, logStores }: Pick<WriteTask, 'directory' | 'shards' | 'logStores'>,
    held: <T>(place: number, open: () => T) => Promise<T>,
  ): Promise<() => DatasetSnapshot> {
    const environments: Environment<(typeof SHARD_TABLES)[number]>[] = [];
    for (const [shard, name] of shardNames(shards).entries())
      environments.push(
        await held(placeOfShard(shard), () => Environment.openToRead(join(directory, name), SHARD_TABLES)),
      );
    const logs: Environment<(typeof LOG_TABLES)[number]>[] = [];
    for (let store = 0; store < logStores; store++)
      logs.push(
        await held(placeOfLog(store), () => Environment.openToRead(join(directory, logName(store)), LOG_TABLES)),
      );
    return () => {
      const opened = environments.map((environment) => environment.snapshot());
      const logged = logs.map((log) => log.snapshot());
      return new DatasetSnapshot(
        opened.map(({ tables }) => new ShardTxn(tables)),
        logged.map(({ tables }) => tables),
        [...opened, ...logged].map(({ end }) => end),
      );
    };
  }

  /**
   * The logged searches of a collection, oldest first: ids of 16 bytes and records as stored, undefined for damaged
   * records.
   */
  *queries(logId: CollectionId): Generator<StoredQuery> {
    // The stores are merged; each has its entries in order, and an id is in one of them.
    const heads = this.logs
      .map(({ queries }) => queries.inspect(collectionPrefix(logId)))
      .map((entries) => ({ entries, head: entries.next() }));
    try {
      for (;;) {
        const oldest = heads
          .filter(({ head }) => !head.done)
          .reduce<(typeof heads)[number] | undefined>(
            (least, one) => (least && Buffer.compare(keyOf(least), keyOf(one)) < 0 ? least : one),
            undefined,
          );
        if (!oldest) return;
        const { key, value } = oldest.head.value as LoggedEntry;
        yield { id: Buffer.from(idOfQueryKey(key)), record: value };
        oldest.head = oldest.entries.next();
      }
    } finally {
      for (const { entries } of heads) entries.return(undefined);
    }
  }

  end(): void {
    for (const end of this.ends) end();
  }
}

/**
 * The documents of a collection in the form for archives, from the snapshot of one shard. Throws `DamagedRecord` for a
 * record that does not decode, or that is missing though another one refers to it. Documents that have expired in second
 * `nowS` are left out.
 */
export function* storedDocuments(txn: ShardTxn, ref: CollectionRef, nowS = 0): Generator<ArchivedDocument> {
  let [documents, chunks] = [0, 0];
  for (const record of txn.documents(ref.id)) {
    if (!isExpired(record, nowS)) yield archived(txn, ref, record);
    documents++;
    chunks += record.chunkCount;
  }
  const counted = txn.counts(ref.id);
  if (counted.documents !== documents || counted.chunks !== chunks)
    throw new DamagedRecord(
      `collection ${ref.id} has ${documents} documents and ${chunks} chunks in a shard that counts ${counted.documents} and ${counted.chunks}`,
    );
}

function archived(txn: ShardTxn, ref: CollectionRef, record: DocumentRecord): ArchivedDocument {
  const { docid, version, ingestedAtMs, metadataJson, priority, chunkCount, expiresAtS } = record;
  const { ordinals, paths } = txn.members(ref.id, docid);
  if (ordinals.length !== chunkCount || paths.length !== chunkCount)
    throw new DamagedRecord(`document ${docid} has ${ordinals.length} of ${chunkCount} chunks`);
  const vectors = Buffer.allocUnsafe(chunkCount * ref.dim * 4);
  const chunks = ordinals.map((ordinal, place): ArchivedChunk => {
    const { path, metaJson } = txn.chunk(ref.id, ordinal as Ordinal);
    const vector = txn.vector(ref, ordinal as Ordinal);
    if (!vector) throw new DamagedRecord(`chunk ${ref.id}/${ordinal} has no vector`);
    encodeVector(vector).copy(vectors, place * ref.dim * 4);
    const text = txn.text(ref.id, ordinal as Ordinal)?.toString();
    return { path, meta: metaJson, ...(text !== undefined && { text }) };
  });
  return {
    docid,
    version,
    ingested_at_ms: ingestedAtMs,
    metadata: metadataJson,
    priority,
    ...(expiresAtS !== 0 && { expires_at_s: expiresAtS }),
    chunks,
    vectors,
  };
}

/** The logged searches of other nodes, oldest first. */
export type QueriesElsewhere = (logId: CollectionId) => AsyncIterable<FoundQuery>;

/** Writes a collection into `folder` and returns the entry of its manifest. */
export async function writeCollection(
  writer: EntryWriter,
  { snapshot, elsewhere }: { snapshot: DatasetSnapshot; elsewhere: QueriesElsewhere },
  { collection, logId, judgementSets }: ArchivedSource,
  folder: string,
  createdAt: string,
): Promise<EntryRecord> {
  const { counts, entries, leftOut } = await writeRecords(
    writer,
    folder,
    documentsIn(snapshot, refOf(collection), Math.floor(Date.parse(createdAt) / 1000)),
    merged(soundQueries(snapshot, logId), elsewhere(logId)),
  );
  const manifest: CollectionManifest = {
    format: 'sheaf-collection',
    ...headingAt(createdAt),
    collection: settingsOf(collection),
    counts,
    entries,
    ...(leftOut > 0 && { queries_left_out: leftOut }),
    ...(judgementSets.length > 0 && { judgement_sets: judgementSets }),
  };
  return addJson(writer, `${folder}${MANIFEST}`, manifest);
}

function* documentsIn({ shards }: DatasetSnapshot, ref: CollectionRef, nowS: number): Generator<ArchivedDocument> {
  for (const txn of shards) yield* storedDocuments(txn, ref, nowS);
}

/** The logged searches, without a record for each damaged one. */
function* soundQueries(snapshot: DatasetSnapshot, logId: CollectionId): Generator<StoredQuery> {
  for (const { id, record } of snapshot.queries(logId)) yield { id, record: record && sound(record) };
}

const sound = (record: Buffer): Buffer | undefined => (problemOfRecord(record) === undefined ? record : undefined);

/** All logged searches by their ids, each one once, with undefined for each damaged one. */
async function* merged(
  own: Iterable<StoredQuery>,
  elsewhere: AsyncIterable<FoundQuery>,
): AsyncGenerator<ArchivedQuery | undefined> {
  const others = elsewhere[Symbol.asyncIterator]();
  try {
    let other = await nextOf(others);
    for (const query of own) {
      for (; other && Buffer.compare(other.id, query.id) < 0; other = await nextOf(others)) yield whole(other);
      if (other?.id.equals(query.id)) other = await nextOf(others);
      yield whole(query);
    }
    for (; other; other = await nextOf(others)) yield whole(other);
  } finally {
    await others.return?.();
  }
}

const whole = ({ id, record }: StoredQuery): ArchivedQuery | undefined => record && { id, record };

async function nextOf(queries: AsyncIterator<FoundQuery>): Promise<StoredQuery | undefined> {
  const { done, value } = await queries.next();
  return done ? undefined : { id: queryIdBytes(value.id), record: sound(encodeQuery(value)) };
}
