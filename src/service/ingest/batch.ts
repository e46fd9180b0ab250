// Use case: ingest a batch, in slices. Each slice is prepared by a batch worker, embedded in groups, and stored by the
// owners of the shards, with an outcome for each item. What goes wrong fails the items it concerns and no others.
// Slices overlap in time, but their documents reach a shard in the order of the items, so the last of several with one
// id wins. Front thread.
import type { Collection } from '../../api/collections.js';
import { AppError, type Outcome, abandoned } from '../../api/errors.js';
import type { CollectionName, DocId, Tenant } from '../../api/ids.js';
import type {
  LineSlice,
  PrepareLinesRequest,
  PreparedGroup,
  PreparedItem,
  PreparedLines,
} from '../../extract/messages.js';
import { faultOf } from '../../base/thread.js';
import { WorkerFault } from '../../pool/worker-pool.js';
import { plannedCollection } from '../collections/collections.js';
import { type IngestContext, collectionFor, prepareSettings, tellIngested } from './document.js';
import { type EmbeddedGroup, type Failures, type SpaceGroup, embedAnew, embedGroup, nothingOf } from './embed.js';
import { type Stored, putGroup } from './put.js';

/** What became of an item. */
export type ItemOutcome =
  | { ok: true; docid: DocId; chunks: number }
  | { ok: false; docid?: DocId; code: string; error: string };

/** Joins what preparing said of each item with what the shards said of each group. */
function outcomesOf(
  items: readonly PreparedItem[],
  groups: readonly PreparedGroup[],
  stored: readonly (Stored | AppError)[],
): ItemOutcome[] {
  const outcomes = items.map(
    (item): ItemOutcome => ('error' in item ? refused(item.docid, item.error) : { ok: true, ...item }),
  );
  groups.forEach(({ places, docids }, g) => {
    const answer = stored[g];
    places.forEach((place, i) => {
      const refusal = answer instanceof AppError ? answer.toWire() : refusalIn(answer?.[i]);
      if (refusal) outcomes[place] = refused(docids[i], refusal);
    });
  });
  return outcomes;
}

function refusalIn(outcome: Outcome<unknown> | undefined): { code: string; message: string } | undefined {
  if (outcome && 'value' in outcome) return undefined;
  return outcome && 'error' in outcome ? outcome.error : new AppError('ingest_failed').toWire();
}

/** The outcome of an item that was not stored. */
const refused = (docid: DocId | undefined, { code, message }: { code: string; message: string }): ItemOutcome => ({
  ok: false,
  ...(docid === undefined ? {} : { docid }),
  code,
  error: message,
});

/** What became of each document of a whole group, from what became of those that were stored. */
export function withFailures(stored: Stored, failures: Failures): Stored {
  const others = stored.values();
  return Array.from({ length: stored.length + failures.size }, (_, document) => {
    const error = failures.get(document);
    return error ? { error } : (others.next().value as Stored[number]);
  });
}

interface PreparedSlice extends Omit<PreparedLines, 'faults'> {
  planned: Omit<Collection, 'id'>;
}

/** The right to ask the shards, which goes from slice to slice. */
interface Turn {
  readonly before: Promise<void>;
  done(): void;
}

export class BatchIngest {
  private last: Promise<void> = Promise.resolve();

  constructor(
    private readonly context: IngestContext,
    private readonly tenant: Tenant,
    private readonly name: CollectionName,
    /** Aborted when the client has gone: what no shard has been asked to store yet is given up. */
    private readonly signal?: AbortSignal,
  ) {}

  /** The next turn; whoever takes it has to end it. */
  takeTurn(): Turn {
    const before = this.last;
    let done = (): void => {};
    this.last = new Promise((resolve) => (done = resolve));
    return { before, done };
  }

  /**
   * Both steps of a slice of so many lines that are items each for themselves. Never rejects; slices are stored in the
   * order of the calls.
   */
  async ingest(lines: number, slice: LineSlice | Promise<LineSlice>): Promise<ItemOutcome[]> {
    const turn = this.takeTurn();
    try {
      return await this.store(await this.prepare(await slice, 'item'), turn);
    } catch (error) {
      turn.done();
      const { code, message } = this.refusalOf(error);
      return Array.from({ length: lines }, () => refused(undefined, { code, message }));
    }
  }

  /**
   * Rejects where nothing can be prepared at all, and with `invalid_json`; any other failure is that of the slice's
   * items.
   */
  async prepare({ bytes, lines }: LineSlice, malformed: PrepareLinesRequest['malformed']): Promise<PreparedSlice> {
    const { context, tenant } = this;
    const planned =
      context.catalog.find(tenant, this.name) ?? plannedCollection(context.collections, tenant, this.name, {});
    try {
      const { items, groups, faults } = await context.metrics.inPhase('prepare_ms', () =>
        context.batch.prepareLines(
          { bytes, malformed, shards: context.shards.size, ...prepareSettings(context, planned) },
          tenant,
          this.signal,
        ),
      );
      for (const fault of faults) context.log.error({ fault }, 'an item of a batch failed');
      return { planned, items, groups };
    } catch (error) {
      if (error instanceof AppError && error.code === 'invalid_json') throw error;
      return {
        planned,
        items: Array.from({ length: lines }, () => ({ error: this.refusalOf(error).toWire() })),
        groups: [],
      };
    }
  }

  /** An outcome for each item, when all of them are on disk and searchable or refused. Ends the turn. */
  async store({ planned, items, groups }: PreparedSlice, turn: Turn): Promise<ItemOutcome[]> {
    try {
      const embedded = await Promise.all(groups.map((group) => this.embed(group, planned)));
      await turn.before;
      if (this.signal?.aborted) throw abandoned();
      const stored = await this.putAll(embedded, planned);
      turn.done();
      return this.counted(outcomesOf(items, groups, await Promise.all(stored)));
    } catch (error) {
      const refusal = this.refusalOf(error);
      return outcomesOf(
        items,
        groups,
        groups.map(() => refusal),
      );
    } finally {
      turn.done();
    }
  }

  private counted(outcomes: ItemOutcome[]): ItemOutcome[] {
    const chunks = outcomes.flatMap((outcome) => (outcome.ok ? outcome.chunks : []));
    tellIngested(
      this.context,
      this.tenant,
      this.name,
      outcomes.flatMap((outcome) => (outcome.ok ? outcome : [])),
    );
    this.context.metrics.indexed(
      chunks.length,
      chunks.reduce((sum, count) => sum + count, 0),
    );
    return outcomes;
  }

  private async embed(group: PreparedGroup, planned: Omit<Collection, 'id'>): Promise<EmbeddedGroup> {
    try {
      return await embedGroup(this.context, planned, group, this.signal);
    } catch (error) {
      return nothingOf(group, this.refusalOf(error).toWire());
    }
  }

  /**
   * What the shards, which have been asked then, answer for each group. A collection is made only for documents to
   * store.
   */
  private async putAll(
    groups: readonly EmbeddedGroup[],
    planned: Omit<Collection, 'id'>,
  ): Promise<Promise<Stored | AppError>[]> {
    const isAny = groups.some(({ group }) => group.docids.length > 0);
    const collection = isAny ? await collectionFor(this.context, planned) : undefined;
    return groups.map((embedded) =>
      collection && embedded.group.docids.length > 0
        ? this.put(embedded, collection)
        : Promise.resolve(withFailures([], embedded.failures)),
    );
  }

  /**
   * Asks the shard before it first waits. A collection that is deleted meanwhile is made anew, once; where another
   * space of it has taken over, it is embedded and asked again.
   */
  private async put({ group, failures }: EmbeddedGroup, collection: Collection): Promise<Stored | AppError> {
    try {
      const outcomes = await putGroup(this.context, collection, group).catch((error: unknown) =>
        this.putChanged(group, collection, error),
      );
      const [first] = outcomes;
      const isDeleted = first && 'error' in first && first.error.code === 'collection_not_found';
      return withFailures(
        isDeleted ? await putGroup(this.context, await collectionFor(this.context, collection), group) : outcomes,
        failures,
      );
    } catch (error) {
      return this.refusalOf(error);
    }
  }

  /** Where the same rows do not fit what has the name now, they are made anew. */
  private async putChanged(group: SpaceGroup, collection: Collection, error: unknown): Promise<Stored> {
    if (!isChange(error)) throw error;
    const changed = await collectionFor(this.context, collection);
    return putGroup(this.context, changed, group).catch(async (again: unknown) => {
      if (!isChange(again)) throw again;
      return putGroup(this.context, changed, await embedAnew(this.context, changed, group, this.signal));
    });
  }

  /** What an item is told of an error. A fault of a worker has been logged already. */
  private refusalOf(error: unknown): AppError {
    if (error instanceof AppError) return error;
    if (!(error instanceof WorkerFault)) this.context.log.error({ fault: faultOf(error) }, 'a slice of a batch failed');
    return new AppError('ingest_failed');
  }
}

const isChange = (error: unknown): boolean => error instanceof AppError && error.code === 'collection_changed';

/** Slices of one batch that are worked on at a time. */
export const SLICES_UNDERWAY_MAX = 4;

/**
 * Ingests a JSON batch, `{"documents":[…]}`. All items are prepared before the first is stored: a body that is no JSON
 * is refused whole, and nothing of it is done. The outcomes of the items come in order, as the slices have them. Throws
 * AppError where the body is no batch. `signal`: as in BatchIngest.
 */
export async function ingestJsonBatch(
  context: IngestContext,
  tenant: Tenant,
  name: CollectionName,
  bytes: Uint8Array,
  signal?: AbortSignal,
): Promise<ItemOutcome[][]> {
  const ingest = new BatchIngest(context, tenant, name, signal);
  const slices = await context.batch.splitBatch({ bytes, itemsMax: context.limits.itemsMax }, tenant, signal);
  const prepared = await eachInTurn(slices, (slice) => ingest.prepare(slice, 'batch'));
  return eachInTurn(prepared, (slice) => ingest.store(slice, ingest.takeTurn()));
}

/** What `work` answers for each item; started in order, a few at a time. */
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
