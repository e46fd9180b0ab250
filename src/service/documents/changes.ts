// Use cases that delete stored documents or change their metadata: one, those of a list, those that match metadata
// filters, or those that have expired. For many, every shard walks its documents page by page, and each page is one
// commit, so other writes and reads wait for a page at most. Runs on the main thread.
import type { ChangedDocuments, DOCUMENT_ROUTES, DeleteDocumentsBody, PatchDocumentBody } from '../../api/documents.js';
import { setTimeout as pause } from 'node:timers/promises';
import { AppError, abandoned, invalidField } from '../../api/errors.js';
import { type Filter, isAlwaysTrue, parseFilter } from '../../api/filter.js';
import { type CollectionId, type CollectionName, type DocId, type Tenant, asDocId } from '../../api/ids.js';
import { DOCIDS_MAX, DOCIDS_SHOWN_MAX } from '../../api/limits.js';
import { expirySecond } from '../../api/numbers.js';
import { shardOf, shardsOf } from '../../api/placement.js';
import type { Collection, CollectionRef } from '../../api/collections.js';
import type { Log } from '../../base/log.js';
import type { MetadataChange, ShardAnswer } from '../../engine/write/commands.js';
import { logIdOf, refOf } from '../../storage/catalog-commands.js';
import type { Metrics } from '../../observability/metrics.js';
import type { ShardPool } from '../../pool/shard-pool.js';
import type { Catalog } from '../collections/catalog.js';
import { asOfNow, collectionChanged } from '../collections/catalog-changes.js';
import type { WrittenDocuments } from '../reindex/written-documents.js';
import type { ShadowCollections } from '../collections/shadow-collections.js';
import type { EventHub } from '../events/event-hub.js';
import type { Caller, UseCases } from '../use-case.js';
import type { RecordsContext } from './documents.js';
import { type KeyedRequest, type KeyedWrites, type ToKeep, keptIn, keyedRequest } from './keyed-writes.js';

export interface DocumentsContext extends RecordsContext {
  readonly catalog: Pick<Catalog, 'find' | 'get' | 'findById' | 'findByLog' | 'pageOfTenant'>;
  readonly shadows: Pick<ShadowCollections, 'find' | 'beside' | 'dualWriteTargets'>;
  readonly shards: Pick<ShardPool, 'request' | 'size'>;
  readonly written: Pick<WrittenDocuments, 'note'>;
  readonly metrics: Pick<Metrics, 'count'>;
  readonly events: Pick<EventHub, 'publish'>;
  readonly keyed: KeyedWrites;
  readonly log: Pick<Log, 'warn'>;
  readonly nowMs: () => number;
  /** How often the shards are asked for documents that have expired. */
  readonly expiryLookMs: number;
  /** How often answers of keyed requests are forgotten that are too old. */
  readonly answersLookMs: number;
  /** Whether strings in filters may be operators, as in searches. */
  readonly stringOperators: boolean;
  readonly metadataBytesMax: number;
}

export const documentUseCases = (context: DocumentsContext): UseCases<typeof DOCUMENT_ROUTES> => ({
  deleteDocument: async ({ tenant, collection, docid, query }, caller) => {
    const keyed = keyedRequest(caller, 'DELETE', docid, query);
    const { chunks } = await deleteDocument(context, tenant, collection, docid, query.if_version, keyed);
    return { tenant, collection, docid, chunks_deleted: chunks };
  },
  patchDocument: async ({ tenant, collection, docid, body }, caller) => {
    const keyed = keyedRequest(caller, 'PATCH', docid, body);
    return { tenant, collection, docid, ...(await patchDocument(context, tenant, collection, docid, body, keyed)) };
  },
  deleteDocuments: ({ tenant, collection, body }, caller) =>
    changeDocuments(context, tenant, collection, body, caller, 'DELETE', (shard, docids, filter, now) =>
      deletePage(context, shard, docids, filter, now),
    ),
  patchDocuments: async ({ tenant, collection, body }, caller) => {
    const { metadata, replace, expires_at } = body;
    assertChange({ metadata, replace, expires_at });
    return changeDocuments(context, tenant, collection, body, caller, 'PATCH', (shard, docids, filter, now) =>
      patchPage(context, shard, docids, filter, now, changeOf(context, now, { metadata, replace, expires_at })),
    );
  },
});

/** Returns the number of deleted chunks; 0 if there was no such document. */
async function deleteDocument(
  context: DocumentsContext,
  tenant: Tenant,
  name: CollectionName,
  docid: string,
  ifVersion: number | undefined,
  keyed: KeyedRequest | undefined,
): Promise<{ chunks: number }> {
  const { catalog, shards, written } = context;
  const collection = catalog.find(tenant, name);
  if (!collection && ifVersion) throw new AppError('version_conflict', undefined, { details: { version: 0 } });
  if (!collection) return { chunks: 0 };
  const id = asDocId(docid);
  return context.keyed.once(tenant, name, keyed, async (keep) => {
    const { chunks } = await asOfNow(context, collection, (now) =>
      shards.request(
        shardOf(id, now, shards.size),
        'deleteDocument',
        {
          collection: refOf(now),
          docid: id,
          ...(ifVersion !== undefined && { ifVersion }),
          nowS: nowIn(context),
          ...dualWritesOf(context, now),
          ...keptIn(keep, now),
        },
        { ended: () => written.note(now.id, [id]) },
      ),
    );
    if (chunks > 0) tellDeleted(context, logIdOf(collection), { docids: [docid], chunks });
    return { chunks };
  });
}

/** Throws 404 `document_not_found`, and the errors of a change that the document cannot take. */
async function patchDocument(
  context: DocumentsContext,
  tenant: Tenant,
  name: CollectionName,
  docid: string,
  body: PatchDocumentBody,
  keyed: KeyedRequest | undefined,
): Promise<{ version: number; chunks: number }> {
  const { catalog, shards, events, written } = context;
  assertChange(body);
  const collection = catalog.get(tenant, name);
  const id = asDocId(docid);
  return context.keyed.once(tenant, name, keyed, async (keep) => {
    const { version, chunks } = await asOfNow(context, collection, (now) =>
      shards.request(
        shardOf(id, now, shards.size),
        'patchDocument',
        {
          collection: refOf(now),
          docid: id,
          change: changeOf(context, now, body),
          ...(body.if_version != null && { ifVersion: body.if_version }),
          nowS: nowIn(context),
          ...dualWritesOf(context, now),
          ...keptIn(keep, now),
        },
        { ended: () => written.note(now.id, [id]) },
      ),
    );
    if (version === 0) throw new AppError('document_not_found');
    events.publish(logIdOf(collection), 'ingest', { documents: 1, chunks, docids: [docid] });
    return { version, chunks };
  });
}

/** The metadata travels as JSON text, because it may be nested deeper than structured cloning permits. */
const changeOf = (
  { metadataBytesMax: bytesMax }: DocumentsContext,
  { priority_key: priorityKey }: Collection,
  { metadata, replace, expires_at: expiresAt }: PatchDocumentBody,
): MetadataChange => ({
  ...(metadata !== undefined && { patchJson: JSON.stringify(metadata) }),
  replaces: replace === true,
  priorityKey,
  bytesMax,
  ...(expiresAt != null && { expiresAtS: expirySecond(expiresAt) }),
});

/** Throws a 422 for a body that changes nothing, or whose time is none. */
function assertChange({ metadata, replace, expires_at: expiresAt }: PatchDocumentBody): void {
  if (metadata === undefined && expiresAt == null)
    throw invalidField(['body'], 'Provide `metadata`, `expires_at` or both.', 'value_error');
  if (metadata === undefined && replace != null)
    throw invalidField(['body', 'replace'], '`replace` goes with `metadata`.', 'value_error');
  if (expiresAt != null) expirySecond(expiresAt);
}

/** The second in which a command is made: what has expired by then is as if it were not stored. */
const nowIn = ({ nowMs }: Pick<DocumentsContext, 'nowMs'>): number => Math.floor(nowMs() / 1000);

/** The shadow collections in which a document of the collection is deleted or changed as well. */
function dualWritesOf(
  { shadows, nowMs }: Pick<DocumentsContext, 'shadows' | 'nowMs'>,
  { id }: Collection,
): { dualWrites?: CollectionRef[] } {
  const targets = shadows.dualWriteTargets(id, nowMs()).map((shadow) => refOf(shadow.collection));
  return targets.length > 0 ? { dualWrites: targets } : {};
}

/** Counts deleted documents, and publishes their event to the readers of the collection's events. */
function tellDeleted(
  { metrics, events }: Pick<DocumentsContext, 'metrics' | 'events'>,
  logId: CollectionId,
  { docids, chunks }: { readonly docids: readonly string[]; readonly chunks: number },
): void {
  if (docids.length === 0) return;
  metrics.count('documentsDeleted', docids.length);
  const [docid] = docids;
  const shown = docids.slice(0, DOCIDS_SHOWN_MAX);
  events.publish(logId, 'delete', {
    documents: docids.length,
    chunks,
    docids: shown,
    ...(docids.length === 1 && { docid }),
  });
}

/** Documents of a collection: those listed, or all, as far as they match the filter. */
interface Wanted {
  readonly docids: readonly DocId[] | undefined;
  readonly filter: Filter;
}

const EVERYTHING: Filter = { all: [] };

/** Throws a 422 unless there is either a list or a filter, and for a filter that selects everything without `all`. */
function wantedOf(
  { docids, filters, all }: Pick<DeleteDocumentsBody, 'docids' | 'filters' | 'all'>,
  stringOperators: boolean,
): Wanted {
  if ((docids == null) === (filters == null))
    throw invalidField(['body'], 'Provide exactly one of `docids` and `filters`.', 'value_error');
  if (docids != null) {
    if (all)
      throw invalidField(['body', 'all'], '`all` goes with `filters`; leave it out beside `docids`.', 'value_error');
    if (docids.length < 1 || docids.length > DOCIDS_MAX)
      throw invalidField(['body', 'docids'], `Should have 1 to ${DOCIDS_MAX} ids.`, 'out_of_range');
    return { docids: [...new Set(docids.map(asDocId))], filter: EVERYTHING };
  }
  const filter = parseFilter(filters ?? {}, { stringOperators });
  if (isAlwaysTrue(filter) && !all)
    throw invalidField(
      ['body', 'filters'],
      'The filters match every document. Send `"all": true` beside them if all documents are meant.',
      'value_error',
    );
  return { docids: undefined, filter };
}

/** Changes a page of documents as far as they match the filter. Returns those that were changed. */
type ChangePage = (shard: number, docids: readonly DocId[], filter: Filter, now: Collection) => Promise<Page>;

/** Changes the wanted documents by `change`, or counts them. */
async function changeDocuments(
  context: DocumentsContext,
  tenant: Tenant,
  name: CollectionName,
  body: DeleteDocumentsBody,
  caller: Caller,
  method: 'PATCH' | 'DELETE',
  change: ChangePage,
): Promise<ChangedDocuments> {
  const { dry_run: isDryRun } = body;
  const wanted = wantedOf(body, context.stringOperators);
  const collection = context.catalog.find(tenant, name);
  const keyed = isDryRun ? undefined : keyedRequest(caller, method, body);
  const total = await context.keyed.once(tenant, name, keyed, async (keep) => {
    const changed: Changed = { documents: 0, chunks: 0 };
    if (!collection) return changed;
    await eachPage(context, collection, wanted, caller.signal, async (shard, page, now) => {
      const done = isDryRun ? page : await change(shard, page.docids, wanted.filter, now);
      changed.documents += done.docids.length;
      changed.chunks += done.chunks;
    });
    if (keep) await keepAnswer(context, collection, keep, changed);
    return changed;
  });
  return { tenant, collection: name, ...total, dry_run: isDryRun === true };
}

type Changed = Pick<ChangedDocuments, 'documents' | 'chunks'>;

/** Keeps the answer of a change that was several commits, once all of them are made. */
async function keepAnswer(
  { catalog, shards }: DocumentsContext,
  collection: Collection,
  keep: ToKeep,
  answer: Changed,
): Promise<void> {
  const now = catalog.findByLog(logIdOf(collection));
  const [shard] = now ? shardsOf(now, shards.size) : [];
  if (now && shard !== undefined)
    await shards.request(shard, 'keepAnswer', { keep: { ...keep, log: logIdOf(now) }, answer });
}

type Page = Pick<ShardAnswer<'findDocuments'>, 'docids' | 'chunks'>;

/**
 * Calls `act` with each page of the wanted documents, page by page in each shard, and all shards at a time. A
 * collection that is switched to another vector space meanwhile is continued in that one; one that is deleted has no
 * more documents. All shards are awaited before an error is thrown. Throws 503 `collection_changed` if the collection is
 * spread over other shards now, and if the caller has disconnected.
 */
async function eachPage(
  context: DocumentsContext,
  collection: Collection,
  { docids, filter }: Wanted,
  signal: AbortSignal,
  act: (shard: number, page: Page, now: Collection) => Promise<void>,
): Promise<void> {
  const { catalog, shards } = context;
  const places = shardsOf(collection, shards.size);
  const walk = async (shard: number, listed: DocId[] | undefined): Promise<void> => {
    let rest = listed;
    for (let after: string | null | undefined; after !== null && rest?.length !== 0; ) {
      const now = catalog.findByLog(logIdOf(collection));
      if (!now) return;
      if (`${shardsOf(now, shards.size)}` !== `${places}`) throw collectionChanged();
      if (signal.aborted) throw abandoned();
      const request = {
        collection: now.id,
        filter,
        nowS: nowIn(context),
        ...(rest && { docids: rest }),
        ...(after !== undefined && { after }),
      };
      const page = await shards.request(shard, 'findDocuments', request);
      if (page.docids.length > 0) await act(shard, page, now);
      rest = rest?.slice(page.looked);
      ({ after } = page);
    }
  };
  const walks = places.map((shard) =>
    walk(
      shard,
      docids?.filter((docid) => shardOf(docid, collection, shards.size) === shard),
    ),
  );
  for (const walked of await Promise.allSettled(walks)) if (walked.status === 'rejected') throw walked.reason;
}

async function deletePage(
  context: DocumentsContext,
  shard: number,
  docids: readonly DocId[],
  filter: Filter,
  collection: Collection,
  expiredBy?: number,
): Promise<Page> {
  const condition = expiredBy === undefined ? { nowS: nowIn(context) } : { expiredBy };
  const deleted = await inCommits(docids, (rest) =>
    context.shards.request(
      shard,
      'deleteDocuments',
      { collection: refOf(collection), filter, docids: rest, ...condition, ...dualWritesOf(context, collection) },
      { ended: () => context.written.note(collection.id, rest) },
    ),
  );
  tellDeleted(context, logIdOf(collection), deleted);
  return deleted;
}

async function patchPage(
  context: DocumentsContext,
  shard: number,
  docids: readonly DocId[],
  filter: Filter,
  collection: Collection,
  change: MetadataChange,
): Promise<Page> {
  const patched = await inCommits(docids, (rest) =>
    context.shards.request(
      shard,
      'patchDocuments',
      {
        collection: refOf(collection),
        filter,
        docids: rest,
        change,
        nowS: nowIn(context),
        ...dualWritesOf(context, collection),
      },
      { ended: () => context.written.note(collection.id, rest) },
    ),
  );
  const { docids: changed, chunks } = patched;
  if (changed.length > 0)
    context.events.publish(logIdOf(collection), 'ingest', {
      documents: changed.length,
      chunks,
      docids: changed.slice(0, DOCIDS_SHOWN_MAX),
    });
  return patched;
}

/** A document may have grown since the page was read, so its commit may look at fewer documents than the page has. */
async function inCommits(
  docids: readonly DocId[],
  commit: (rest: DocId[]) => Promise<ShardAnswer<'deleteDocuments'>>,
): Promise<Page> {
  const done: Page = { docids: [], chunks: 0 };
  for (let rest = [...docids]; rest.length > 0; ) {
    const { docids: changed, chunks, looked } = await commit(rest);
    done.docids.push(...changed);
    done.chunks += chunks;
    rest = rest.slice(looked);
  }
  return done;
}

/**
 * Starts to delete documents that have expired. Searches and reads do not show them, so this only frees what they take.
 * Call it when all shards are open. `every` calls a function periodically.
 */
export function watchExpiries(context: DocumentsContext, every: (ms: number, work: () => void) => void): void {
  const busy = new Set<number>();
  const failing = new Set<CollectionId>();
  every(context.expiryLookMs, () => {
    for (let shard = 0; shard < context.shards.size; shard++) {
      if (busy.has(shard)) continue;
      busy.add(shard);
      deleteExpired(context, shard, failing)
        .catch((error: unknown) => {
          // A shard that has no owner at the moment is asked again.
          if (!(error instanceof AppError))
            context.log.warn({ shard, reason: String(error) }, 'expired documents could not be looked for');
        })
        .finally(() => busy.delete(shard));
    }
  });
}

/**
 * Deletes the documents of a shard that have expired, until none is left: some of each collection in a commit, with a
 * pause after each that is as long as the commit, so that writes of clients come in between. Those of shadow collections
 * go with the documents of their source. `failing`: collections in which it fails.
 */
async function deleteExpired(context: DocumentsContext, shard: number, failing: Set<CollectionId>): Promise<void> {
  const { shards, catalog } = context;
  let deleted = 0;
  let after: CollectionId | null = null;
  do {
    if (after === null) deleted = 0;
    const nowS = nowIn(context);
    const page: ShardAnswer<'findExpired'> = await shards.request(shard, 'findExpired', { nowS, after });
    for (const { collection: id, docids } of page.found) {
      const collection = catalog.findById(id);
      if (!collection) continue;
      const startedAtMs = performance.now();
      deleted += await deleteExpiredOf(context, shard, collection, { docids, nowS }, failing);
      await pause(performance.now() - startedAtMs);
    }
    ({ after } = page);
  } while (after !== null || deleted > 0);
}

/** A collection whose documents cannot be deleted, because it is damaged for example, does not hold up the others. */
async function deleteExpiredOf(
  context: DocumentsContext,
  shard: number,
  collection: Collection,
  { docids, nowS }: { docids: readonly DocId[]; nowS: number },
  failing: Set<CollectionId>,
): Promise<number> {
  try {
    const { docids: deleted } = await deletePage(context, shard, docids, EVERYTHING, collection, nowS);
    failing.delete(collection.id);
    context.metrics.count('documentsExpired', deleted.length);
    return deleted.length;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { tenant, name } = collection;
    if (!failing.has(collection.id))
      context.log.warn({ tenant, collection: name, reason: error.message }, 'expired documents could not be deleted');
    failing.add(collection.id);
    return 0;
  }
}
