// Fills a shadow collection with what it lacks of the one it stands beside, page by page, all along the shards, and waits
// for its graph. What is written meanwhile goes to both (ingest/put.ts), so a page is looked at again only in the next
// pass. Front thread, where it only asks workers.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Collection } from '../../api/collections.js';
import { refOf } from '../../storage/catalog-commands.js';
import { AppError, abandoned } from '../../api/errors.js';
import { assertStored } from '../../pool/worker-pool.js';
import { type ReindexContext, retrying } from './jobs.js';

/** Pages under way: the embedder has the next one while a shard writes. */
const SHARDS_AT_A_TIME = 2;

export interface Copy extends Pick<ReindexContext, 'store' | 'embedders'> {
  source: Collection;
  twin: Collection;
  signal: AbortSignal;
  /** Called before each page; throws where the copy is to stop. */
  check: () => void;
}

export interface Page {
  /** The last document that was looked at; null at the end. */
  after: string | null;
  /** Chunks that were looked at. */
  walked: number;
  /** Documents that were not there. */
  missing: number;
}

interface Pass {
  /** Where each shard begins: '' at its first document, null for nowhere. */
  from?: readonly (string | null)[];
  /** Awaited before the shard goes on. */
  copied?: (shard: number, page: Page) => Promise<void>;
}

/** Answers how many documents were not there. */
export async function copyMissing(copy: Copy, { from, copied }: Pass = {}): Promise<number> {
  const shards = Array.from({ length: copy.store.shards.size }, (_, shard) => shard).values();
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
  // All have ended before anybody hears of a failure: nothing is copied behind the back of whoever goes on.
  const ended = await Promise.allSettled(Array.from({ length: SHARDS_AT_A_TIME }, next));
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
  return missing;
}

/**
 * Resolves when every write that was asked for before has been done, one that an archive holds at the gate too: from
 * then on all that comes knows of the twin.
 */
export async function writesBefore({ store: { shards }, source, twin, signal }: Copy): Promise<void> {
  const nothing = {
    collection: refOf(twin),
    versions: [],
    documents: new Uint8Array(),
    ends: [],
    chunks: [],
    vectors: new Float32Array(),
  };
  await Promise.all(
    Array.from({ length: shards.size }, (_, shard) =>
      retrying(() => shards.gate.shared(source.id, () => shards.ask(shard, 'putStaged', nothing)), signal),
    ),
  );
}

async function copyPage(copy: Copy, shard: number, after: string | undefined): Promise<Page> {
  const {
    store: { shards },
    source,
    twin,
    signal,
  } = copy;
  if (source.vector_space_key !== twin.vector_space_key) return embedPage(copy, shard, after);
  return retrying(
    () => shards.ask(shard, 'copyStaged', { collection: refOf(twin), source: refOf(source), after }),
    signal,
  );
}

async function embedPage(
  { store: { shards }, embedders, source, twin, signal }: Copy,
  shard: number,
  after: string | undefined,
): Promise<Page> {
  return retrying(async () => {
    const {
      documents,
      ends,
      chunks,
      versions,
      walked,
      after: next,
      hasTextless,
    } = await shards.ask(shard, 'listMissing', { collection: source.id, twin: twin.id, after });
    const page = { after: next, walked, missing: ends.length };
    if (ends.length === 0) return page;
    if (hasTextless) throw new AppError('reindex_invalid', 'The collection has chunks without a text.');
    const embedding = embedders.embedDocuments(twin, { documents, ends }, twin.tenant, signal);
    const { failures, ...embedded } = await unlessAborted(embedding, signal);
    if (failures?.[0]) throw AppError.fromWire(failures[0].error);
    assertStored(
      await shards.ask(shard, 'putStaged', {
        collection: refOf(twin),
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

/** Rejects as soon as the signal is aborted: an endpoint may need its whole timeout for what nobody wants any more. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(abandoned());
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}

/** Of the rows: about what a search scans beside its walk without being slower for it. */
const UNLINKED_SHARE_MAX = 0.01;
const RECHECK_MS = 200;
/** Where no row is linked in so long, memory has no room for links; the space is as good as it gets. */
const STANDSTILL_MS = 300_000;

type Filled = Pick<Copy, 'store' | 'twin' | 'signal' | 'check'>;

/**
 * Waits until the graph of a space that has been filled is there, but for what is written meanwhile: before that, searches
 * of it scan. `told`: how many rows wait, where any do, each time that it is another number. Throws what `check` throws.
 */
export async function untilLinked(copy: Filled, told: (unlinked: number) => void): Promise<void> {
  let last = 0;
  let changedAtMs = performance.now();
  for (;;) {
    copy.check();
    const { unlinked, isDone } = await stateOf(copy);
    if (unlinked !== last) {
      told(unlinked);
      [last, changedAtMs] = [unlinked, performance.now()];
    }
    if (isDone) return;
    if (performance.now() - changedAtMs > STANDSTILL_MS)
      return copy.store.log.warn(
        { collection: copy.twin.id, unlinked },
        'the graph of a new space does not grow: it is searched as it is',
      );
    await sleep(RECHECK_MS, undefined, { signal: copy.signal }).catch(() => undefined);
  }
}

/** Of all shards together. */
async function stateOf({ store: { shards }, twin, signal }: Filled): Promise<{ unlinked: number; isDone: boolean }> {
  const states = await retrying(() => Promise.all(shards.askAll('linking', { collection: refOf(twin) })), signal);
  const sum = (of: 'rows' | 'unlinked'): number => states.reduce((total, state) => total + (state?.[of] ?? 0), 0);
  const unlinked = sum('unlinked');
  const isQuiet = states.every((state) => state !== null && !state.isTended);
  return { unlinked, isDone: isQuiet && unlinked <= UNLINKED_SHARE_MAX * sum('rows') };
}
