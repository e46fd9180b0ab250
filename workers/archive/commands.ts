// The commands of an archive process: write an archive of one collection or of everything, or the documents of a
// collection as lines, to standard output; or verify an archive and hand it over to the server. Before an archive is
// written, every record is read once from the same snapshots, so damaged collections are known before the first byte is
// written and cannot fail the archive later. Runs in archive
// processes only.
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate as turn } from 'node:timers/promises';
import type { LeftOut, LinesWish } from '../../src/api/archives.js';
import { AppError } from '../../src/api/errors.js';
import type { CollectionId, DocId } from '../../src/api/ids.js';
import { slotOf } from '../../src/api/placement.js';
import { refOf } from '../../src/storage/catalog-commands.js';
import { documentLines } from '../../src/archive/document-lines.js';
import { EntryStream } from '../../src/archive/entry-stream.js';
import { DatasetSnapshot, type QueriesElsewhere, storedDocuments, writeCollection } from '../../src/archive/export.js';
import {
  type CollectionManifest,
  type DatasetManifest,
  MANIFEST,
  TENANTS,
  folderOf,
  headingAt,
  isDocumentsEntry,
} from '../../src/archive/format.js';
import type {
  ArchiveNote,
  ArchiveOrder,
  ArchiveTask,
  ArchivedMoment,
  ArchivedSource,
  QueryBatch,
  ReadTask,
  WriteTask,
} from '../../src/archive/messages.js';
import type { ArchiveReader } from '../../src/archive/reader.js';
import {
  type ArchivedDocument,
  SEGMENT_BYTES_MAX,
  unpackDocuments,
  unpackQueries,
  vectorsOf,
} from '../../src/archive/records.js';
import { rulesOf } from '../../src/archive/verify.js';
import { ArchiveWriter, type EntryWriter, addJson } from '../../src/archive/writer.js';
import { assert, defined } from '../../src/base/assert.js';
import { compileFilter } from '../../src/engine/filter/match.js';
import { DamagedRecord } from '../../src/storage/damage.js';
import type { FoundQuery } from '../../src/storage/query-log-commands.js';
import { type DocumentBatch, joinDocuments, packDocument } from '../../src/text/prepared-document.js';

// The channel to the server that started this process: notes are sent, orders are received. If the server ends, the
// channel closes and this process ends too, because its snapshots would keep pages of the stores from being reused. The
// other end is src/pool/archive-pool.ts.

/** Sends a note; resolves when it has left this process. */
export function tell(note: ArchiveNote): Promise<void> {
  return new Promise((resolve) => {
    if (!process.connected) return resolve();
    process.send?.(note, undefined, {}, () => resolve());
  });
}

export async function nextOrder(): Promise<ArchiveOrder> {
  const [order] = (await once(process, 'message')) as [ArchiveOrder];
  return order;
}

export async function theTask(): Promise<ArchiveTask> {
  const [task] = (await once(process, 'message')) as [ArchiveTask];
  return task;
}

/**
 * Lowers the priority of this process below that of the server. Called only when the server no longer blocks writes for
 * it.
 */
export function yieldCpu(): void {
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
}

/** Sends a batch and waits until the server requests the next one. */
async function hand(note: Extract<ArchiveNote, { event: 'documents' | 'queries' }>): Promise<void> {
  const taken = nextOrder();
  await tell(note);
  await taken;
}

const DOCUMENTS_PER_TURN = 1024;

export async function writeArchive(task: WriteTask): Promise<void> {
  const take = await DatasetSnapshot.prepare(task, whenHeld);
  const ordered = nextOrder();
  await tell({ event: 'ready' });
  const order = await ordered;
  assert(order.order === 'snap', 'the order to take the snapshots');
  await write({ snapshot: take(), elsewhere: task.hasOthersLogs ? elsewhere : none }, order.moment);
}

async function* none(): AsyncGenerator<never> {}

/** The logged searches of other nodes, for which it asks the server page by page. */
async function* elsewhere(logId: CollectionId): AsyncGenerator<FoundQuery> {
  for (let after: { after?: string } = {}; ; ) {
    const ordered = nextOrder();
    await tell({ event: 'elsewhere', logId, ...after });
    const order = await ordered;
    assert(order.order === 'queries', 'logged searches of other nodes');
    yield* order.queries;
    const last = order.queries.at(-1);
    if (!last) return;
    after = { after: last.id };
  }
}

/** Opens a store while the server prevents its owner from committing. */
async function whenHeld<T>(place: number, open: () => T): Promise<T> {
  const ordered = nextOrder();
  await tell({ event: 'opens', place });
  const { order } = await ordered;
  assert(order === 'open', 'the order to open a store');
  const opened = open();
  await tell({ event: 'open' });
  return opened;
}

/** What an archive is written of. */
interface Source {
  snapshot: DatasetSnapshot;
  elsewhere: QueriesElsewhere;
}

async function write(source: Source, moment: ArchivedMoment): Promise<void> {
  const { snapshot } = source;
  // Snapshots are ended on every exit, because an open one keeps its pages until the server stops.
  process.once('exit', () => snapshot.end());
  await tell({ event: 'opened' });
  yieldCpu();
  if (moment.lines) return writeLines(snapshot, moment, moment.lines);
  const { sound, damaged } = await checked(snapshot, moment.sources);
  if (!moment.dataset && damaged[0])
    throw new AppError('archive_failed', `The collection is damaged: ${damaged[0].reason}`);
  const leftOut = [...(moment.dataset?.leftOut ?? []), ...damaged];
  await tell({ event: 'begun', leftOut });
  const writer = moment.asEntries ? new EntryStream() : new ArchiveWriter(new Date(moment.createdAtMs));
  const writing = async (): Promise<void> => {
    if (moment.dataset) await writeDataset(writer, source, moment, sound, leftOut);
    else for (const each of sound) await writeCollection(writer, source, each, '', createdAt(moment));
    writer.end();
  };
  await Promise.all([writing(), drained(writer.output)]);
}

/** Lines travel in pieces of this many characters. */
const PIECE_CHARACTERS = 256 * 1024;

async function writeLines(snapshot: DatasetSnapshot, moment: ArchivedMoment, wish: LinesWish): Promise<void> {
  const { collection } = defined(moment.sources[0], 'the collection to export');
  await tell({ event: 'begun', leftOut: [] });
  const fits = wish.filter && compileFilter(wish.filter);
  const lines = documentLines(snapshot.shards, collection, wish, fits, Math.floor(moment.createdAtMs / 1000));
  await drained(Readable.from(piecesOf(lines), { objectMode: false }));
}

function* piecesOf(lines: Iterable<string>): Generator<Buffer> {
  let piece = '';
  for (const line of lines) {
    piece += line;
    if (piece.length < PIECE_CHARACTERS) continue;
    yield Buffer.from(piece);
    piece = '';
  }
  if (piece !== '') yield Buffer.from(piece);
}

const createdAt = ({ createdAtMs }: ArchivedMoment): string => new Date(createdAtMs).toISOString();

async function writeDataset(
  writer: EntryWriter,
  source: Source,
  moment: ArchivedMoment,
  sound: readonly ArchivedSource[],
  leftOut: LeftOut[],
): Promise<void> {
  const collections: DatasetManifest['collections'] = [];
  for (const [place, each] of sound.entries()) {
    const { tenant, name } = each.collection;
    const folder = folderOf(place);
    collections.push({
      tenant,
      name,
      folder,
      manifest: await writeCollection(writer, source, each, folder, createdAt(moment)),
    });
  }
  const tenants = await addJson(writer, TENANTS, moment.dataset?.tenants);
  const manifest: DatasetManifest = {
    format: 'sheaf-dataset',
    ...headingAt(createdAt(moment)),
    collections,
    left_out: leftOut,
    tenants,
    aliases: moment.dataset?.aliases ?? [],
  };
  await addJson(writer, MANIFEST, manifest);
}

/** Resolves when standard output has taken all bytes. */
async function drained(output: Readable): Promise<void> {
  await pipeline(output, process.stdout, { end: false });
  await new Promise<void>((resolve, reject) =>
    process.stdout.write('', (error) => (error ? reject(error) : resolve())),
  );
}

async function checked(
  snapshot: DatasetSnapshot,
  sources: readonly ArchivedSource[],
): Promise<{ sound: ArchivedSource[]; damaged: LeftOut[] }> {
  const sound: ArchivedSource[] = [];
  const damaged: LeftOut[] = [];
  for (const source of sources) {
    const reason = await damageOf(snapshot, source);
    if (reason === undefined) sound.push(source);
    else damaged.push({ tenant: source.collection.tenant, name: source.collection.name, reason });
  }
  return { sound, damaged };
}

async function damageOf(snapshot: DatasetSnapshot, { collection }: ArchivedSource): Promise<string | undefined> {
  let read = 0;
  try {
    for (const txn of snapshot.shards) {
      for (const _ of storedDocuments(txn, refOf(collection))) if (++read % DOCUMENTS_PER_TURN === 0) await turn();
    }
    return undefined;
  } catch (error) {
    if (error instanceof DamagedRecord) return error.message;
    throw error;
  }
}

/** Maximum number of chunks in a batch, unless a single document has more: the size of one commit of a shard. */
const BATCH_CHUNKS = 512;

/**
 * Hands a verified collection over to the server: its documents in batches by shard, or its logged searches. Waits
 * after each batch until the server requests the next, so neither side buffers more than a few.
 */
export async function handOver(
  reader: ArchiveReader,
  { collection, entries }: CollectionManifest,
  order: Extract<ArchiveOrder, { order: 'hand' }>,
  task: ReadTask,
): Promise<void> {
  const rules = rulesOf(collection, task);
  for (const entry of entries) {
    if (isDocumentsEntry(entry.name) !== (order.what === 'documents')) continue;
    const segment = await reader.checked(entry, SEGMENT_BYTES_MAX);
    if (order.what === 'documents')
      for (const batch of batchesOf(unpackDocuments(segment, rules), order.spread))
        await hand({ event: 'documents', batch });
    else await hand({ event: 'queries', batch: queriesOf(segment) });
  }
  await tell({ event: 'handed' });
}

/** Groups the documents of a segment by shard, in their order. */
function* batchesOf(documents: readonly ArchivedDocument[], spread: number): Generator<DocumentBatch> {
  const groups = Array.from({ length: spread }, (): ArchivedDocument[] => []);
  const sizes = groups.map(() => 0);
  for (const document of documents) {
    const slot = slotOf(document.docid, spread);
    const group = groups[slot] as ArchivedDocument[];
    if (group.length > 0 && (sizes[slot] as number) + document.chunks.length > BATCH_CHUNKS) {
      yield batchOf(slot, group.splice(0));
      sizes[slot] = 0;
    }
    group.push(document);
    sizes[slot] = (sizes[slot] as number) + document.chunks.length;
  }
  for (const [slot, group] of groups.entries()) if (group.length > 0) yield batchOf(slot, group);
}

function batchOf(slot: number, documents: readonly ArchivedDocument[]): DocumentBatch {
  const packed = documents.map(({ docid, ingested_at_ms, metadata, priority, expires_at_s, chunks }) =>
    packDocument({
      docid: docid as DocId,
      ingestedAtMs: ingested_at_ms,
      metadataJson: metadata,
      priority,
      ...(expires_at_s !== undefined && { expiresAtS: expires_at_s }),
      chunks: chunks.map(({ path, meta, text }) => ({ path, metaJson: meta, ...(text !== undefined && { text }) })),
    }),
  );
  return {
    slot,
    ...joinDocuments(packed),
    chunks: documents.map(({ chunks }) => chunks.length),
    vectors: vectorsOf(Buffer.concat(documents.map(({ vectors }) => vectors))),
    versions: documents.map(({ version }) => version),
  };
}

function queriesOf(segment: Buffer): QueryBatch {
  const queries = unpackQueries(segment);
  return {
    ids: Buffer.concat(queries.map(({ id }) => id)),
    lengths: Uint32Array.from(queries, ({ record }) => record.length),
    records: Buffer.concat(queries.map(({ record }) => record)),
  };
}
