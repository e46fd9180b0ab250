// Use cases: list the documents of a collection, the chunks of a document, the collections of a tenant, in pages, so that
// neither memory nor this thread is filled by a million of them. A listing begins behind a place and goes on by places,
// not by counting: what is written meanwhile shows or not, but nothing shows twice. Front thread.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Collection, CollectionSummary } from '../../api/collections.js';
import { type CollectionName, type Tenant, shardOf } from '../../api/ids.js';
import { compareDocumentKeys } from '../../storage/keys.js';
import type { DocumentsContext } from './documents.js';

/** Records as JSON texts, and the place of each: what to give as `after` to go on behind it. */
export interface Page {
  readonly places: string[];
  readonly records: string[];
}

/** Where a listing begins and how many records are wanted of it; it may give more. */
export interface Span {
  readonly after: string | undefined;
  readonly max: number;
}

/** About 2 ms in a shard. */
const SHARD_PAGE_RECORDS = 256;
/** With 16 shards about 1 ms of merging on this thread. */
const MERGED_RECORDS = 128;
const CHUNK_PAGE_RECORDS = 1024;
const COLLECTION_PAGE_RECORDS = 256;

/** What a shard has sent of its documents and has not been merged yet. */
interface ShardList extends Page {
  readonly shard: number;
  at: number;
  more: boolean;
}

/**
 * In the order of their ids; those of more than 500 bytes stand by their first 440. Empty where there is no collection.
 */
export async function* listDocuments(
  { catalog, shards }: DocumentsContext,
  tenant: Tenant,
  name: CollectionName,
  span: Span,
): AsyncGenerator<Page> {
  const collection = catalog.find(tenant, name);
  if (!collection) return;
  const max = Math.min(span.max, SHARD_PAGE_RECORDS);
  const refill = async (list: ShardList): Promise<ShardList> => {
    const {
      docids: places,
      records,
      more,
    } = await shards.ask(list.shard, 'listDocuments', {
      collection: collection.id,
      after: list.places.at(-1) ?? span.after,
      max,
    });
    return { shard: list.shard, places, records, more, at: 0 };
  };
  let lists = Array.from(
    { length: shards.size },
    (_, shard): ShardList => ({ shard, places: [], records: [], at: 0, more: true }),
  );
  for (;;) {
    lists = lists.some(isUsedUp)
      ? await Promise.all(lists.map(async (list) => (isUsedUp(list) ? refill(list) : list)))
      : await nextTurn(lists);
    const page = mergedPage(lists);
    if (page.records.length === 0) return;
    yield page;
  }
}

const isUsedUp = ({ at, places, more }: ShardList): boolean => more && at === places.length;

/** The next documents of all lists, as far as every list that has more behind it is known. */
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
 * By position, which is the place; a document that is replaced meanwhile goes on in its new revision. Empty where there
 * is no document.
 */
export async function* listChunks(
  { catalog, shards }: DocumentsContext,
  tenant: Tenant,
  name: CollectionName,
  docid: string,
  { after, max }: Span,
): AsyncGenerator<Page> {
  const collection = catalog.find(tenant, name);
  if (!collection) return;
  let from = after === undefined ? 0 : Number(after) + 1;
  for (let more = true; more; ) {
    const request = { collection: collection.id, docid, from, max: Math.min(max, CHUNK_PAGE_RECORDS) };
    const { records, more: isCut } = await shards.ask(shardOf(docid, shards.size), 'listChunks', request);
    const first = from;
    yield { places: records.map((_, i) => String(first + i)), records };
    from += records.length;
    more = isCut;
  }
}

/** By name; only those that `isVisible` to the caller. */
export async function* listCollections(
  { catalog, quarantine }: DocumentsContext,
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
