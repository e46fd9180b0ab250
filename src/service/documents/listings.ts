// Use cases that list the documents of a collection, the chunks of a document and the collections of a tenant, in
// pages, so that a million records fill neither memory nor this thread. A listing continues after a place (a key), not
// after a count: concurrent writes may or may not show, but nothing is listed twice. Runs on front threads and on the
// main thread.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Collection, CollectionSummary } from '../../api/collections.js';
import type { CollectionName, Tenant } from '../../api/ids.js';
import { shardOf, shardsOf } from '../../api/placement.js';
import { compareDocumentKeys } from '../../storage/keys.js';
import { NOTHING_STORED } from '../../engine/stored-documents.js';
import { type RecordsContext, readCollection } from './documents.js';

/** Records as JSON texts, and the place of each: give it as `after` to continue after that record. */
export interface Page {
  readonly places: string[];
  readonly records: string[];
}

/** Where a listing begins and how many records are requested; the listing may return more. */
export interface Span {
  readonly after: string | undefined;
  readonly max: number;
}

/** Reading this many records takes about 2 ms in a shard. */
const SHARD_PAGE_RECORDS = 256;
/** Merging this many records of 16 shards takes about 1 ms on this thread. */
const MERGED_RECORDS = 128;
const CHUNK_PAGE_RECORDS = 1024;
const COLLECTION_PAGE_RECORDS = 256;

/** A page of one shard's documents, and how far it has been merged. */
interface ShardList extends Page {
  readonly shard: number;
  at: number;
  more: boolean;
  /** The last document of the shard that was looked at. */
  readonly looked?: string | undefined;
}

/**
 * Lists documents in the order of their ids; ids longer than 500 bytes sort by their first 440. Empty if the collection
 * is missing. `metadata`: with the metadata of each.
 */
export async function* listDocuments(
  context: RecordsContext,
  tenant: Tenant,
  name: CollectionName,
  span: Span,
  metadata = false,
): AsyncGenerator<Page> {
  const { catalog, shards } = context;
  let collection = catalog.find(tenant, name);
  if (!collection) return;
  const max = Math.min(span.max, SHARD_PAGE_RECORDS);
  let last = span.after;
  const listsOf = (now: Collection): ShardList[] =>
    shardsOf(now, shards.size).map((shard) => ({ shard, places: [], records: [], at: 0, more: true }));
  const refill = async ({ id }: Collection, { shard, looked: before }: ShardList): Promise<ShardList> => {
    const request = { collection: id, after: before ?? last, max, metadata };
    const { docids: places, records, more, after: looked } = await shards.request(shard, 'listDocuments', request);
    return { shard, places, records, more, at: 0, looked };
  };
  for (let lists = listsOf(collection); ; await nextTurn()) {
    if (lists.some(isUsedUp)) {
      const filled = await readCollection(context, collection, (now) => {
        // A collection that has taken the name over may be in other shards.
        if (now.id !== collection?.id) lists = listsOf(now);
        collection = now;
        return Promise.all(lists.map(async (list) => (isUsedUp(list) ? refill(now, list) : list)));
      });
      lists = filled ?? [];
      // A page may have only documents that have expired.
      if (lists.some(isUsedUp)) continue;
    }
    const page = mergedPage(lists);
    if (page.records.length === 0) return;
    last = page.places.at(-1);
    yield page;
  }
}

const isUsedUp = ({ at, places, more }: ShardList): boolean => more && at === places.length;

/** Merges the next documents of all lists. Stops when a list is used up whose shard has more documents. */
function mergedPage(lists: readonly ShardList[]): Page {
  const page: Page = { places: [], records: [] };
  while (page.records.length < MERGED_RECORDS && !lists.some(isUsedUp)) {
    const next = lists.reduce<ShardList | undefined>(
      (first, list) => (isBefore(list, first) ? list : first),
      undefined,
    );
    if (!next) break;
    page.places.push(next.places[next.at] as string);
    page.records.push(next.records[next.at] as string);
    next.at++;
  }
  return page;
}

function isBefore(list: ShardList, other: ShardList | undefined): boolean {
  const docid = list.places[list.at];
  if (docid === undefined) return false;
  return other === undefined || compareDocumentKeys(docid, other.places[other.at] as string) < 0;
}

/**
 * Lists chunks by position, which is the place. If the document is replaced meanwhile, the listing continues in the new
 * version. Empty if the document is missing.
 */
export async function* listChunks(
  context: RecordsContext,
  tenant: Tenant,
  name: CollectionName,
  docid: string,
  { after, max }: Span,
): AsyncGenerator<Page> {
  const { catalog, shards } = context;
  const collection = catalog.find(tenant, name);
  if (!collection) return;
  let from = after === undefined ? 0 : Number(after) + 1;
  for (let more = true; more; ) {
    const request = { docid, from, max: Math.min(max, CHUNK_PAGE_RECORDS) };
    const page = await readCollection(context, collection, (now) =>
      shards.request(shardOf(docid, now, shards.size), 'listChunks', { collection: now.id, ...request }),
    );
    const { records, more: isCut } = page ?? NOTHING_STORED.listChunks;
    const first = from;
    yield { places: records.map((_, i) => String(first + i)), records };
    from += records.length;
    more = isCut;
  }
}

/** Lists collections by name, restricted to those for which `isVisible` returns true. */
export async function* listCollections(
  { catalog, quarantine }: RecordsContext,
  tenant: Tenant,
  isVisible: (name: CollectionName) => boolean,
  span: Span,
): AsyncGenerator<Page> {
  for (let after = span.after ?? ''; ; await nextTurn()) {
    const collections = catalog.pageOfTenant(tenant, after, COLLECTION_PAGE_RECORDS);
    const last = collections.at(-1);
    if (!last) return;
    after = last.name;
    const visible = collections.filter(({ name }) => isVisible(name));
    yield {
      places: visible.map(({ name }) => name),
      records: visible.map((collection) =>
        JSON.stringify({ ...summaryOf(collection), ...(quarantine.has(collection.id) && { damaged: true }) }),
      ),
    };
  }
}

function summaryOf({
  name,
  display_name,
  embedder_type,
  embed_model,
  vector_space_key,
  language,
}: Collection): CollectionSummary {
  return { name, display_name, embedder_label: `${embedder_type}:${embed_model}`, vector_space_key, language };
}
