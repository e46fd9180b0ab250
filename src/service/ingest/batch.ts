// Use case that ingests a batch in slices. A batch worker prepares each slice, its documents are embedded in groups,
// and the owners of the shards store them; each item has a result of its own, so an error fails only the items it
// concerns. Slices overlap in time, but their documents reach a shard in the order of the items, so the last of several
// items with the same id wins. Runs on the main thread.
import type { Collection } from '../../api/collections.js';
import { AppError, type Result, abandoned } from '../../api/errors.js';
import type { CollectionName, DocId, Tenant } from '../../api/ids.js';
import { spreadOf } from '../../api/placement.js';
import type {
  LineSlice,
  PrepareLinesRequest,
  PreparedGroup,
  PreparedItem,
  PreparedLines,
} from '../../extract/messages.js';
import { internalErrorOf } from '../../base/thread.js';
import { WorkerError } from '../../base/rpc.js';
import type { ShardAnswer } from '../../engine/write/commands.js';
import type { KeptAnswer } from '../../storage/kept-answers.js';
import type { KeyedItems, ToKeep } from '../documents/keyed-writes.js';
import { plannedCollection } from '../collections/collections.js';
import { type IngestContext, collectionFor, prepareSettings, tellIngested } from './document.js';
import { type EmbeddedGroup, type Failures, embedAnew, embedGroup, nothingOf } from './embed.js';
import { type KeyedGroup, type Stored, putGroup } from './put.js';

/** The result of one item. */
export type ItemResult =
  | { ok: true; docid: DocId; chunks: number; version?: number }
  | { ok: false; docid?: DocId; code: string; error: string };

/** Merges the preparation result of each item with the shards' results of each group. */
function resultsOf(
  items: readonly PreparedItem[],
  groups: readonly PreparedGroup[],
  stored: readonly (Stored | AppError)[],
): ItemResult[] {
  const results = items.map((item): ItemResult => {
    if ('isKept' in item) return refused(undefined, new AppError('ingest_failed').toWire());
    return 'error' in item ? refused(item.docid, item.error) : { ok: true, docid: item.docid, chunks: item.chunks };
  });
  groups.forEach(({ places, docids }, g) => {
    const answer = stored[g];
    places.forEach((place, i) => {
      const clientError = answer instanceof AppError ? answer.toWire() : clientErrorIn(answer?.[i]);
      if (clientError) results[place] = refused(docids[i], clientError);
      else setVersion(results[place], answer, i);
    });
  });
  return results;
}

/** The result that an item had when it was stored. */
function keptResult({ json }: KeptAnswer): ItemResult {
  const { docid, chunks, version } = JSON.parse(json) as ShardAnswer<'put'> & { docid: DocId };
  return { ok: true, docid, chunks, version };
}

function setVersion(item: ItemResult | undefined, stored: Stored | AppError | undefined, i: number): void {
  const result = stored instanceof AppError ? undefined : stored?.[i];
  if (item?.ok && result && 'value' in result) Object.assign(item, result.value);
}

function clientErrorIn(result: Result<unknown> | undefined): { code: string; message: string } | undefined {
  if (result && 'value' in result) return undefined;
  return result && 'error' in result ? result.error : new AppError('ingest_failed').toWire();
}

/** The result of an item that was not stored. */
const refused = (docid: DocId | undefined, { code, message }: { code: string; message: string }): ItemResult => ({
  ok: false,
  ...(docid === undefined ? {} : { docid }),
  code,
  error: message,
});

/**
 * Expands the results of the stored documents to all documents of the group, with `failures` (errors by index) for the
 * others.
 */
export function withFailures(stored: Stored, failures: Failures): Stored {
  const others = stored.values();
  return Array.from({ length: stored.length + failures.size }, (_, document) => {
    const error = failures.get(document);
    return error ? { error } : (others.next().value as Stored[number]);
  });
}

interface PreparedSlice extends Omit<PreparedLines, 'internalErrors'> {
  planned: Omit<Collection, 'id'>;
  /** The number of the first item in the batch, from 1 on. */
  from: number;
  /** The answers of the items that have been stored before, by number. */
  kept: ReadonlyMap<number, KeptAnswer>;
}

const NONE: ReadonlyMap<number, KeptAnswer> = new Map();

/** The right to send to the shards, which passes from slice to slice. */
interface Turn {
  readonly before: Promise<void>;
  done(): void;
}

export class BatchIngest {
  private last: Promise<void> = Promise.resolve();
  private next = 1;

  constructor(
    private readonly context: IngestContext,
    private readonly tenant: Tenant,
    private readonly name: CollectionName,
    /** Aborted when the client has disconnected: documents that no shard has received yet are not stored. */
    private readonly signal?: AbortSignal,
    /** The items, if the batch has an idempotency key. */
    private readonly keyed?: KeyedItems,
  ) {}

  /** Gives numbers to the next items, and returns the first one. */
  number(items: number): number {
    const from = this.next;
    this.next += items;
    return from;
  }

  /** Takes the next turn; the caller must call its `done`. */
  takeTurn(): Turn {
    const before = this.last;
    let done = (): void => {};
    this.last = new Promise((resolve) => (done = resolve));
    return { before, done };
  }

  /** Prepares and stores a slice of `lines` items. Never rejects. Slices are stored in the order of the calls. */
  async ingest(lines: number, slice: LineSlice | Promise<LineSlice>): Promise<ItemResult[]> {
    const turn = this.takeTurn();
    const from = this.number(lines);
    try {
      return await this.store(await this.prepare(await slice, from, 'item'), turn);
    } catch (error) {
      turn.done();
      const { code, message } = this.clientErrorOf(error);
      return Array.from({ length: lines }, () => refused(undefined, { code, message }));
    }
  }

  /**
   * Prepares a slice, whose first item has number `from`. Rejects with `invalid_json`, and if nothing at all can be prepared; any other failure becomes the
   * result of the slice's items.
   */
  async prepare(
    { bytes, lines, isMsgpack }: LineSlice,
    from: number,
    malformed: PrepareLinesRequest['malformed'],
  ): Promise<PreparedSlice> {
    const { context, tenant } = this;
    const planned =
      context.catalog.find(tenant, this.name) ?? plannedCollection(context.collections, tenant, this.name, {});
    try {
      const kept = (await this.keyed?.kept(from, lines)) ?? NONE;
      const { items, groups, internalErrors } = await context.metrics.inPhase('prepare_ms', () =>
        context.batch.prepareLines(
          {
            bytes,
            isMsgpack,
            malformed,
            spread: spreadOf(planned, context.shards.size),
            ...prepareSettings(context, planned),
            ...(this.keyed && {
              kept: new Map(Array.from(kept, ([item, { fingerprint }]) => [item - from, fingerprint])),
            }),
          },
          tenant,
          this.signal,
        ),
      );
      for (const internalError of internalErrors)
        context.log.error({ error: internalError }, 'an item of a batch failed');
      return { planned, from, kept, items, groups };
    } catch (error) {
      if (error instanceof AppError && error.code === 'invalid_json') throw error;
      return {
        planned,
        from,
        kept: NONE,
        items: Array.from({ length: lines }, () => ({ error: this.clientErrorOf(error).toWire() })),
        groups: [],
      };
    }
  }

  /**
   * Resolves to a result for each item once every item is either stored on disk and searchable, or rejected. Ends the
   * turn.
   */
  async store(slice: PreparedSlice, turn: Turn): Promise<ItemResult[]> {
    const { items, from, kept } = slice;
    const results = await this.storeNew(slice, turn);
    items.forEach((item, place) => {
      const answer = 'isKept' in item && kept.get(from + place);
      if (answer) results[place] = keptResult(answer);
    });
    return results;
  }

  /** Stores what has not been stored before. Ends the turn. */
  private async storeNew(slice: PreparedSlice, turn: Turn): Promise<ItemResult[]> {
    const { planned, items, groups } = slice;
    try {
      const embedded = await Promise.all(groups.map((group) => this.embed(group, planned)));
      await turn.before;
      if (this.signal?.aborted) throw abandoned();
      const stored = await this.putAll(embedded, slice);
      turn.done();
      return this.counted(resultsOf(items, groups, await Promise.all(stored)));
    } catch (error) {
      const clientError = this.clientErrorOf(error);
      return resultsOf(
        items,
        groups,
        groups.map(() => clientError),
      );
    } finally {
      turn.done();
    }
  }

  /** How the answer of each document of a group is kept. */
  private keepOf({ places, docids }: PreparedGroup, { items, from }: PreparedSlice): ToKeep[] | undefined {
    const { keyed } = this;
    if (!keyed) return undefined;
    return places.map((place, i) => {
      const item = items[place];
      const fingerprint = (item && 'fingerprint' in item ? item.fingerprint : undefined) ?? '';
      return { ...keyed.keep(from + place, fingerprint), more: { docid: docids[i] } };
    });
  }

  private counted(results: ItemResult[]): ItemResult[] {
    const chunks = results.flatMap((result) => (result.ok ? result.chunks : []));
    tellIngested(
      this.context,
      this.tenant,
      this.name,
      results.flatMap((result) => (result.ok ? result : [])),
    );
    this.context.metrics.indexed(
      chunks.length,
      chunks.reduce((sum, count) => sum + count, 0),
    );
    return results;
  }

  private async embed(group: PreparedGroup, planned: Omit<Collection, 'id'>): Promise<EmbeddedGroup> {
    try {
      return await embedGroup(this.context, planned, group, this.signal);
    } catch (error) {
      return nothingOf(group, this.clientErrorOf(error).toWire());
    }
  }

  /**
   * Sends the groups to the shards and returns a promise of the results of each group. Creates the collection only if
   * there are documents to store.
   */
  private async putAll(groups: readonly EmbeddedGroup[], slice: PreparedSlice): Promise<Promise<Stored | AppError>[]> {
    const isAny = groups.some(({ group }) => group.docids.length > 0);
    const collection = isAny ? await collectionFor(this.context, slice.planned) : undefined;
    return groups.map((embedded) =>
      collection && embedded.group.docids.length > 0
        ? this.put(embedded, collection, this.keepOf(embedded.group, slice))
        : Promise.resolve(withFailures([], embedded.failures)),
    );
  }

  /**
   * Sends a group to its shard synchronously, before the first await. If the collection is deleted meanwhile, it is
   * created again, once; if it was switched to another vector space, the group is embedded for that and sent again.
   */
  private async put(
    { group: embedded, failures }: EmbeddedGroup,
    collection: Collection,
    keep: ToKeep[] | undefined,
  ): Promise<Stored | AppError> {
    const group: KeyedGroup = { ...embedded, keep };
    try {
      const results = await putGroup(this.context, collection, group).catch((error: unknown) =>
        this.putChanged(group, collection, error),
      );
      const [first] = results;
      const isDeleted = first && 'error' in first && first.error.code === 'collection_not_found';
      return withFailures(
        isDeleted ? await putGroup(this.context, await collectionFor(this.context, collection), group) : results,
        failures,
      );
    } catch (error) {
      return this.clientErrorOf(error);
    }
  }

  /** Tries the same rows with the current collection, and embeds them again only if they do not fit it. */
  private async putChanged(group: KeyedGroup, collection: Collection, error: unknown): Promise<Stored> {
    if (!isChange(error)) throw error;
    const changed = await collectionFor(this.context, collection);
    return putGroup(this.context, changed, group).catch(async (again: unknown) => {
      if (!isChange(again)) throw again;
      const anew = await embedAnew(this.context, changed, group, this.signal);
      return putGroup(this.context, changed, { ...anew, keep: group.keep });
    });
  }

  /** The error that an item reports. The internal error of a worker has been logged already. */
  private clientErrorOf(error: unknown): AppError {
    if (error instanceof AppError) return error;
    if (!(error instanceof WorkerError))
      this.context.log.error({ error: internalErrorOf(error) }, 'a slice of a batch failed');
    return new AppError('ingest_failed');
  }
}

const isChange = (error: unknown): boolean => error instanceof AppError && error.code === 'collection_changed';

interface BatchBody {
  readonly bytes: Uint8Array;
  readonly isMsgpack: boolean;
}

/** The number of slices of one batch that are processed at a time. */
export const SLICES_UNDERWAY_MAX = 4;

/**
 * Ingests a batch, `{"documents":[…]}` in JSON or MessagePack. All items are prepared before the first is stored, so a body that is not
 * valid JSON is rejected as a whole. Returns the results in the order of the items, by slice. Throws AppError if the
 * body is not a batch. `signal`: as in `BatchIngest`. `key`: a digest of the idempotency key; items that have been stored
 * with it before are not stored again, and have the results that they had. Throws as `KeyedWrites.items` does.
 */
export async function ingestBatch(
  context: IngestContext,
  tenant: Tenant,
  name: CollectionName,
  body: BatchBody,
  signal?: AbortSignal,
  key?: string,
): Promise<ItemResult[][]> {
  const keyed = key === undefined ? undefined : await context.keyed.items(tenant, name, key);
  try {
    return await ingestItems(context, new BatchIngest(context, tenant, name, signal, keyed), tenant, body, signal);
  } finally {
    keyed?.release();
  }
}

async function ingestItems(
  context: IngestContext,
  ingest: BatchIngest,
  tenant: Tenant,
  { bytes, isMsgpack }: BatchBody,
  signal?: AbortSignal,
): Promise<ItemResult[][]> {
  const slices = await context.batch.splitBatch(
    { bytes, isMsgpack, itemsMax: context.limits.itemsMax },
    tenant,
    signal,
  );
  const numbered = slices.map((slice) => ({ slice, from: ingest.number(slice.lines) }));
  const prepared = await eachInTurn(numbered, ({ slice, from }) => ingest.prepare(slice, from, 'batch'));
  return eachInTurn(prepared, (slice) => ingest.store(slice, ingest.takeTurn()));
}

/** The results of `work` for each item, in order; at most `SLICES_UNDERWAY_MAX` run at a time. */
async function eachInTurn<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = new Array(items.length);
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const at = next++;
      results[at] = await work(items[at] as T);
    }
  };
  await Promise.all(Array.from({ length: Math.min(SLICES_UNDERWAY_MAX, items.length) }, worker));
  return results;
}
