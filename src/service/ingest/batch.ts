// Use case: ingest a slice of a batch. Prepared by a batch worker, embedded in groups, stored by the owners of the
// shards, with an outcome for each item. What goes wrong fails the items it concerns and no others. Slices overlap in
// time, but their documents reach a shard in the order of the items, so the last of several with one id wins. Front
// thread.
import type { LineSlice, PreparedGroup, PreparedLines, PrepareLinesRequest } from '../contract/batch-messages.js';
import { AppError } from '../contract/errors.js';
import type { CollectionName, Tenant } from '../contract/ids.js';
import type { Collection } from '../contract/resources.js';
import { abandoned } from '../contract/errors.js';
import { WorkerFault } from '../pool/outcomes.js';
import type { Context } from './context.js';
import { ensureCollection, plannedCollection } from './create-collection.js';
import { embedAnew, embedGroup, nothingOf, withFailures, type EmbeddedGroup } from './embed-group.js';
import { isPreparedFor, prepareSettings, tellIngested } from './ingest-document.js';
import { inPhase } from './ingest-phases.js';
import { outcomesOf, refused, type ItemOutcome } from './item-outcomes.js';
import { putGroup, type SpaceGroup, type Stored } from './put-group.js';

export interface PreparedSlice extends Omit<PreparedLines, 'faults'> {
  planned: Omit<Collection, 'id'>;
}

/** The right to ask the shards, which goes from slice to slice. */
export interface Turn {
  readonly before: Promise<void>;
  done(): void;
}

export class BatchIngest {
  private last: Promise<void> = Promise.resolve();

  constructor(
    private readonly context: Context,
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
    const planned = context.catalog.find(tenant, this.name) ?? plannedCollection(context, tenant, this.name, {});
    try {
      const { items, groups, faults } = await inPhase(context, 'prepare_ms', () =>
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
    const collection = isAny ? await this.collectionFor(planned) : undefined;
    return groups.map((embedded) =>
      collection && embedded.group.docids.length > 0
        ? this.put(embedded, collection)
        : Promise.resolve(withFailures([], embedded.failures)),
    );
  }

  private async collectionFor(planned: Omit<Collection, 'id'>): Promise<Collection> {
    const collection = await ensureCollection(this.context, this.tenant, this.name);
    if (!isPreparedFor(planned, collection)) throw new AppError('collection_changed', undefined, { retryAfterS: 1 });
    return collection;
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
        isDeleted ? await putGroup(this.context, await this.collectionFor(collection), group) : outcomes,
        failures,
      );
    } catch (error) {
      return this.refusalOf(error);
    }
  }

  /** Where the same rows do not fit what has the name now, they are made anew. */
  private async putChanged(group: SpaceGroup, collection: Collection, error: unknown): Promise<Stored> {
    if (!isChange(error)) throw error;
    const changed = await this.collectionFor(collection);
    return putGroup(this.context, changed, group).catch(async (again: unknown) => {
      if (!isChange(again)) throw again;
      return putGroup(this.context, changed, await embedAnew(this.context, changed, group, this.signal));
    });
  }

  /** What an item is told of an error. A fault of a worker has been logged already. */
  private refusalOf(error: unknown): AppError {
    if (error instanceof AppError) return error;
    if (!(error instanceof WorkerFault))
      this.context.log.error(
        { fault: error instanceof Error ? error.stack : String(error) },
        'a slice of a batch failed',
      );
    return new AppError('ingest_failed');
  }
}

const isChange = (error: unknown): boolean => error instanceof AppError && error.code === 'collection_changed';
