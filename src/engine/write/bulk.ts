// Documents by list, by metadata filter or by their expiry: which ones match, and their deletion or the change of their
// metadata, a bounded number of chunks in a commit. A filter is compared with the metadata of documents, and not with those of single
// chunks. What is changed is compared again in the same turn, so nothing is changed that no longer matches. Owner only.
import { type Filter, isAlwaysTrue } from '../../api/filter.js';
import type { CollectionId, DocId } from '../../api/ids.js';
import type { DocumentRecord } from '../../storage/records.js';
import { isExpired } from '../../storage/expiries.js';
import type { ShardTxn } from '../../storage/shard-reader.js';
import { compileFilter } from '../filter/match.js';
import type { Shard } from '../shard.js';
import { PAGE_BYTES } from '../stored-documents.js';
import type { ShardAnswer, ShardRequest } from './commands.js';
import { applyWrites, assertStored } from './write.js';

/** Documents that one page looks at, which takes some milliseconds. */
const DOCUMENTS_MAX = 512;
/** Chunks of a page at which it ends, so that its deletion takes some ten milliseconds. */
const CHUNKS_MAX = 512;

/** Which documents a command means, beside their ids. */
type Condition = Pick<ShardRequest<'deleteDocuments'>, 'filter' | 'nowS' | 'expiredBy'>;

/** Compiles a condition into a test of documents. */
function documentTest({ filter, nowS = 0, expiredBy }: Condition): (record: DocumentRecord) => boolean {
  const fits = filterTest(filter);
  return (record) =>
    (expiredBy === undefined ? !isExpired(record, nowS) : isExpired(record, expiredBy)) && fits(record);
}

function filterTest(filter: Filter): (record: DocumentRecord) => boolean {
  if (isAlwaysTrue(filter)) return () => true;
  const fits = compileFilter(filter);
  return ({ metadataJson }) => fits([JSON.parse(metadataJson) as Record<string, unknown>]);
}

/** Implements `findDocuments`. */
export function findDocuments(
  shard: Shard,
  { collection, docids, after, ...condition }: ShardRequest<'findDocuments'> & Pick<Condition, 'expiredBy'>,
): ShardAnswer<'findDocuments'> {
  if (shard.isDropped(collection)) return { docids: [], chunks: 0, looked: docids?.length ?? 0, after: null };
  return shard.store.read((txn) =>
    select(docids ? listed(txn, collection, docids) : txn.documents(collection, after), condition),
  );
}

function* listed(txn: ShardTxn, id: CollectionId, docids: readonly DocId[]): Generator<DocumentRecord | undefined> {
  for (const docid of docids) yield txn.document(id, docid);
}

function select(records: Iterable<DocumentRecord | undefined>, condition: Condition): ShardAnswer<'findDocuments'> {
  const fits = documentTest(condition);
  const found: ShardAnswer<'findDocuments'> = { docids: [], chunks: 0, looked: 0, after: null };
  let bytes = 0;
  for (const record of records) {
    found.looked++;
    if (!record) continue;
    bytes += record.metadataJson.length;
    if (fits(record)) {
      found.docids.push(record.docid);
      found.chunks += record.chunkCount;
    }
    if (found.looked >= DOCUMENTS_MAX || bytes >= PAGE_BYTES || found.chunks >= CHUNKS_MAX)
      return { ...found, after: record.docid };
  }
  return found;
}

/** Implements `deleteDocuments`, in one commit. Throws AppError if a document could not be deleted. */
export const deleteDocuments = (
  shard: Shard,
  request: ShardRequest<'deleteDocuments'>,
): ShardAnswer<'deleteDocuments'> => changeEach(shard, request, { op: 'deleteDocument' });

/** Implements `patchDocuments`, in one commit. Throws AppError if a document could not be changed. */
export const patchDocuments = (shard: Shard, request: ShardRequest<'patchDocuments'>): ShardAnswer<'patchDocuments'> =>
  changeEach(shard, request, { op: 'patchDocument', change: request.change });

function changeEach(
  shard: Shard,
  { collection, docids, filter, nowS, expiredBy, dualWrites }: Omit<ShardRequest<'deleteDocuments'>, 'op'>,
  write: { op: 'deleteDocument' } | Pick<ShardRequest<'patchDocument'>, 'op' | 'change'>,
): ShardAnswer<'deleteDocuments'> {
  const request = {
    op: 'findDocuments',
    collection: collection.id,
    filter,
    docids,
    ...(nowS !== undefined && { nowS }),
    ...(expiredBy !== undefined && { expiredBy }),
  } as const;
  const { docids: found, chunks, looked } = findDocuments(shard, request);
  const aim = { collection, ...(dualWrites && { dualWrites }) };
  if (found.length > 0)
    assertStored(
      applyWrites(
        shard,
        found.map((docid) => ({ ...write, ...aim, docid })),
      ),
    );
  return { docids: found, chunks, looked };
}

/** Collections that one page of expired documents looks at, which takes some milliseconds. */
const COLLECTIONS_MAX = 256;

/**
 * Implements `findExpired`. Where nothing of a segment has expired, it corrects the bound by which searches know that,
 * because documents may have gone before their time.
 */
export function findExpired(shard: Shard, { nowS, after }: ShardRequest<'findExpired'>): ShardAnswer<'findExpired'> {
  const { expiryRound: round } = shard;
  if (after === null && !round.isDue(nowS)) return { found: [], after: null };
  if (after === null) round.begin();
  return shard.store.read((txn) => {
    if (after === null) correctFirsts(shard, txn, nowS);
    const found: ShardAnswer<'findExpired'>['found'] = [];
    let looked = 0;
    for (const { id, first } of txn.collectionsExpiring(after ?? undefined)) {
      if (!shard.isDropped(id)) {
        round.note(first);
        if (first <= nowS) found.push({ collection: id, docids: expiredIn(txn, id, nowS) });
      }
      if (++looked === COLLECTIONS_MAX) return { found, after: id };
    }
    round.end();
    return { found, after: null };
  });
}

function expiredIn(txn: ShardTxn, id: CollectionId, nowS: number): DocId[] {
  const docids: DocId[] = [];
  for (const { docid, second } of txn.documentsExpiring(id)) {
    if (second > nowS || docids.length === DOCUMENTS_MAX) break;
    docids.push(docid);
  }
  return docids;
}

function correctFirsts(shard: Shard, txn: ShardTxn, nowS: number): void {
  for (const { ref, expiries } of shard.segments.all()) {
    if (expiries.first > nowS) continue;
    const first = txn.firstExpiry(ref.id);
    if (first === 0 || first > nowS) expiries.setFirst(first);
  }
}
