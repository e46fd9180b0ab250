// Dispatches the commands of a shard worker: reads run one by one, document writes next to each other share a commit.
// Between batches it does background work in short slices. Shard worker only.
import { join } from 'node:path';
import { AssertionFailed, defined } from '../../src/base/assert.js';
import type { Outcome, ShardAnswer, ShardCommand, ShardCommands, ShardOp, ShardRequest, ShardWorkerStart } from '../../src/contract/messages.js';
import { CatalogStore } from '../../src/store/catalog-store.js';
import { ShardStore } from '../../src/store/shard-store.js';
import { Background } from './background.js';
import type { Claim } from './claim.js';
import { hydrate } from './hydrate.js';
import { Kernel } from './kernel.js';
import { getChunk, getContent, getDocument, listChunks, listDocuments } from './listings.js';
import { countTerms } from './part-words.js';
import { outcomesOf, singleWrites, type WriteCommand } from './put-many.js';
import { refusalOf } from './refusal.js';
import { search } from './search.js';
import { Shard } from './shard.js';
import { listOrdinals, textVectors } from './text-vectors.js';
import { locate } from './ties.js';
import { totals } from './totals.js';
import { applyWrites } from './write.js';

type Answer = ShardAnswer<ShardOp>;
type Handlers = { [O in Exclude<ShardOp, WriteCommand['op']>]: (request: ShardRequest<O>) => ShardCommands[O]['answer'] };

const DOCUMENT_WRITES: ReadonlySet<string | undefined> = new Set<WriteCommand['op']>(['put', 'putMany', 'deleteDocument']);

export class Commands {
  private shard: Shard | undefined;
  private catalog: CatalogStore | undefined;
  private readonly background = new Background();

  constructor(
    private readonly start: ShardWorkerStart,
    private readonly claim: Claim,
  ) {}

  run(commands: readonly ShardCommand[]): Outcome<Answer>[] {
    const outcomes: Outcome<Answer>[] = [];
    for (let at = 0; at < commands.length; ) {
      const end = endOfWrites(commands, at);
      if (end > at) {
        outcomes.push(...this.write(commands.slice(at, end) as WriteCommand[]));
        at = end;
      } else {
        outcomes.push(this.attempt(commands[at++] as Exclude<ShardCommand, WriteCommand>));
      }
    }
    if (this.shard) this.background.wake(this.shard);
    return outcomes;
  }

  close(): void {
    this.background.stop();
    this.shard?.store.close();
    this.catalog?.close();
  }

  private write(commands: readonly WriteCommand[]): Outcome<Answer>[] {
    const writes = singleWrites(commands);
    try {
      return outcomesOf(commands, applyWrites(this.opened(), writes));
    } catch (error) {
      const outcome = outcomeOf(error);
      return outcomesOf(commands, writes.map(() => outcome));
    }
  }

  private attempt(command: Exclude<ShardCommand, WriteCommand>): Outcome<Answer> {
    try {
      const handler = this.handlers[command.op] as (request: typeof command) => Answer;
      return { value: handler(command) };
    } catch (error) {
      return outcomeOf(error);
    }
  }

  private readonly handlers: Handlers = {
    open: ({ collections }) => (this.open(collections), null),
    search: (request) => search(this.opened(), request),
    countTerms: (request) => countTerms(this.opened(), request),
    locate: (request) => locate(this.opened(), request),
    hydrate: (request) => hydrate(this.opened(), request),
    dropCollection: ({ collection }) => (this.opened().drop(collection), null),
    counts: ({ collections }) => collections.map((id) => ({ ...(this.opened().part(id)?.counts ?? { documents: 0, chunks: 0 }) })),
    totals: () => totals(this.opened()),
    listDocuments: (request) => listDocuments(this.opened(), request),
    getDocument: (request) => getDocument(this.opened(), request),
    listChunks: (request) => listChunks(this.opened(), request),
    getChunk: (request) => getChunk(this.opened(), request),
    listOrdinals: (request) => listOrdinals(this.opened(), request),
    textVectors: (request) => textVectors(this.opened(), request),
    getContent: (request) => getContent(this.opened(), request),
    loadCatalog: () => this.openedCatalog().all(),
    createCollection: ({ collection, collectionsMax }) => this.openedCatalog().create(collection, collectionsMax),
    updateCollection: ({ collection, change }) => this.openedCatalog().update(collection, change),
    deleteCollection: ({ collection }) => (this.openedCatalog().delete(collection), null),
    loadTenants: () => this.openedCatalog().tenants.all(),
    createTenant: ({ tenant, key }) => (this.openedCatalog().tenants.create(tenant, key), null),
    updateTenant: ({ tenant, change }) => this.openedCatalog().tenants.update(tenant, change),
    deleteTenant: ({ tenant, force }) => this.openedCatalog().tenants.delete(tenant, force),
    createKey: ({ tenant, key }) => this.openedCatalog().tenants.createKey(tenant, key),
    revokeKey: ({ tenant, keyId, revokedAt }) => this.openedCatalog().tenants.revokeKey(tenant, keyId, revokedAt),
  };

  private open(collections: ShardRequest<'open'>['collections']): void {
    const { shard, takeOver } = this.claim;
    const store = ShardStore.open(join(this.start.directory, `shard-${shard}`), takeOver);
    const kernel = new Kernel(this.start.kernel, defined(this.start.memories[shard], 'memory of the shard'));
    const opened = new Shard(store, kernel);
    opened.load(collections);
    this.shard = opened;
  }

  private opened(): Shard {
    return defined(this.shard, 'an opened shard');
  }

  private openedCatalog(): CatalogStore {
    return (this.catalog ??= CatalogStore.open(join(this.start.directory, 'catalog'), this.claim.takeOver));
  }
}

/** The end of the run of document writes that starts at `from`; `from` itself when there is none. */
function endOfWrites(commands: readonly ShardCommand[], from: number): number {
  let end = from;
  while (DOCUMENT_WRITES.has(commands[end]?.op)) end++;
  return end;
}

/** A refusal travels as data; a broken assertion ends the worker; anything else fails this command and is told as a fault. */
function outcomeOf(error: unknown): Outcome<never> {
  const refusal = refusalOf(error);
  if (refusal) return { error: refusal.toWire() };
  if (error instanceof AssertionFailed) throw error;
  return { fault: error instanceof Error ? (error.stack ?? error.message) : String(error) };
}
