// Copies the missing documents from a collection to its shadow collection, page by page through the shards, and waits
// for its graph. Concurrent writes go to both collections, so a page need not be read again before the next pass. Runs
// on the main thread, which only sends requests to workers.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Collection } from '../../api/collections.js';
import { shardsOf } from '../../api/placement.js';
import { refOf } from '../../storage/catalog-commands.js';
import { AppError, abandoned } from '../../api/errors.js';
import { assertStored } from '../../pool/worker-pool.js';
import { type ReindexContext, retrying } from './jobs.js';

export interface Copy extends Pick<ReindexContext, 'store' | 'embedders' | 'shardsCopied'> {
  source: Collection;
  shadow: Collection;
  signal: AbortSignal;
  /** Called before each page; throws to stop the copy. */
  check: () => void;
}

export interface Page {
  /** The id of the last document that was checked; null at the end of the shard. */
  after: string | null;
  /** The number of chunks that were checked. */
  scanned: number;
  /** The number of documents that the shadow collection lacked. */
  missing: number;
}

interface Pass {
  /** The document id after which each shard starts: '' for its first document, null if the shard is done. */
  from?: readonly (string | null)[];
  /** Called after each page and awaited before the shard continues. */
  copied?: (shard: number, page: Page) => Promise<void>;
}

/** Returns the number of documents that were missing. */
export async function copyMissing(copy: Copy, { from, copied }: Pass = {}): Promise<number> {
  const shards = shardsOf(copy.source, copy.store.shards.size).values();
  let missing = 0;
  const next = async (): Promise<void> => {
    for (const shard of shards) {
      for (let after = from ? (from[shard] ?? null) : ''; after !== null; ) {
        copy.check();
        const page = await copyPage(copy, shard, after === '' ? undefined : after);
        missing += page.missing;
        ({ after } = page);
        await copied?.(shard, page);
      }
    }
  };
  // All shards are awaited before a failure is reported, so that no copy continues after the caller was told.
  const ended = await Promise.allSettled(Array.from({ length: copy.shardsCopied }, next));
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
  return missing;
}

/**
 * Resolves when all earlier writes have completed, including those that an archive blocks at the gate. Later writes
 * include the shadow collection.
 */
export async function writesBefore({ store: { shards }, source, shadow, signal }: Copy): Promise<void> {
  const nothing = {
    collection: refOf(shadow),
    versions: [],
    documents: new Uint8Array(),
    ends: [],
    chunks: [],
    vectors: new Float32Array(),
  };
  await Promise.all(
    shardsOf(source, shards.size).map((shard) =>
      retrying(() => shards.gate.shared(source.id, () => shards.request(shard, 'putShadow', nothing)), signal),
    ),
  );
}

async function copyPage(copy: Copy, shard: number, after: string | undefined): Promise<Page> {
  const {
    store: { shards },
    source,
    shadow,
    signal,
  } = copy;
  if (source.vector_space_key !== shadow.vector_space_key) return embedPage(copy, shard, after);
  return retrying(
    () => shards.request(shard, 'copyShadow', { collection: refOf(shadow), source: refOf(source), after }),
    signal,
  );
}

async function embedPage(
  { store: { shards }, embedders, source, shadow, signal }: Copy,
  shard: number,
  after: string | undefined,
): Promise<Page> {
  return retrying(async () => {
    const {
      documents,
      ends,
      chunks,
      versions,
      scanned,
      after: next,
      hasTextless,
    } = await shards.request(shard, 'listMissing', { collection: source.id, shadow: shadow.id, after });
    const page = { after: next, scanned, missing: ends.length };
    if (ends.length === 0) return page;
    if (hasTextless)
      throw new AppError('reindex_invalid', 'The collection has chunks without a text, which cannot be embedded.');
    const embedding = embedders.embedDocuments(shadow, { documents, ends }, shadow.tenant, signal);
    const { failures, ...embedded } = await unlessAborted(embedding, signal);
    if (failures?.[0]) throw AppError.fromWire(failures[0].error);
    assertStored(
      await shards.request(shard, 'putShadow', {
        collection: refOf(shadow),
        source: source.id,
        versions,
        chunks,
        documents: embedded.documents,
        ends: embedded.ends,
        vectors: embedded.vectors,
      }),
    );
    return page;
  }, signal);
}

/** Rejects as soon as the signal is aborted, because an endpoint may take its whole timeout. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(abandoned());
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}

/** Share of unindexed rows that a search can scan beside its graph search without being noticeably slower. */
const UNINDEXED_SHARE_MAX = 0.01;
const RECHECK_MS = 200;
/** If no row is indexed for this long, there is no memory for more edges, and the wait ends. */
const STANDSTILL_MS = 300_000;

type Filled = Pick<Copy, 'store' | 'shadow' | 'signal' | 'check'>;

/**
 * Waits until the graph of a filled collection is built, except for concurrent writes; before that, searches scan its
 * rows. `told` is called with the number of unindexed rows whenever it changes. Throws what `check` throws.
 */
export async function untilIndexedAll(copy: Filled, told: (unindexed: number) => void): Promise<void> {
  let last = 0;
  let changedAtMs = performance.now();
  for (;;) {
    copy.check();
    const { unindexed, isDone } = await stateOf(copy);
    if (unindexed !== last) {
      told(unindexed);
      [last, changedAtMs] = [unindexed, performance.now()];
    }
    if (isDone) return;
    if (performance.now() - changedAtMs > STANDSTILL_MS)
      return copy.store.log.warn(
        { collection: copy.shadow.id, unlinked: unindexed },
        'the graph of a new vector space does not grow; it is searched as it is',
      );
    await sleep(RECHECK_MS, undefined, { signal: copy.signal }).catch(() => undefined);
  }
}

/** The sum over the shards of the collection. */
async function stateOf({ store: { shards }, shadow, signal }: Filled): Promise<{ unindexed: number; isDone: boolean }> {
  const states = await retrying(
    () => Promise.all(shards.requestOf(shadow, 'indexing', { collection: refOf(shadow) })),
    signal,
  );
  const sum = (of: 'rows' | 'unindexed'): number => states.reduce((total, state) => total + (state?.[of] ?? 0), 0);
  const unindexed = sum('unindexed');
  const isQuiet = states.every((state) => state !== null && !state.isTuning);
  return { unindexed, isDone: isQuiet && unindexed <= UNINDEXED_SHARE_MAX * sum('rows') };
}
