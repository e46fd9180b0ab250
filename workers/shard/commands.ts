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
import { refusalOf } from './refusal.js';
import { locate, search } from './search.js';
import { Shard } from './shard.js';
import { applyWrites, type DocumentWrite } from './write.js';

type Answer = ShardAnswer<ShardOp>;
type Handlers = { [O in Exclude<ShardOp, DocumentWrite['op']>]: (request: ShardRequest<O>) => ShardCommands[O]['answer'] };

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
        outcomes.push(...this.write(commands.slice(at, end) as DocumentWrite[]));
        at = end;
      } else {
        outcomes.push(this.attempt(commands[at++] as Exclude<ShardCommand, DocumentWrite>));
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

  private write(writes: readonly DocumentWrite[]): Outcome<Answer>[] {
    try {
      return applyWrites(this.opened(), writes);
    } catch (error) {
      const outcome = outcomeOf(error);
      return writes.map(() => outcome);
    }
  }

  private attempt(command: Exclude<ShardCommand, DocumentWrite>): Outcome<Answer> {
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
    locate: (request) => locate(this.opened(), request),
    hydrate: (request) => hydrate(this.opened(), request),
    dropCollection: ({ collection }) => (this.opened().drop(collection), null),
    counts: ({ collections }) => collections.map((id) => ({ ...(this.opened().part(id)?.counts ?? { documents: 0, chunks: 0 }) })),
    listDocuments: (request) => listDocuments(this.opened(), request),
    getDocument: (request) => getDocument(this.opened(), request),
    listChunks: (request) => listChunks(this.opened(), request),
    getChunk: (request) => getChunk(this.opened(), request),
    getContent: (request) => getContent(this.opened(), request),
    loadCatalog: () => this.openedCatalog().all(),
    createCollection: ({ collection }) => this.openedCatalog().create(collection),
    updateCollection: ({ collection, change }) => this.openedCatalog().update(collection, change),
    deleteCollection: ({ collection }) => (this.openedCatalog().delete(collection), null),
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
  while (commands[end]?.op === 'put' || commands[end]?.op === 'deleteDocument') end++;
  return end;
}

/** A refusal travels as data; a broken assertion ends the worker; anything else fails this command and is told as a fault. */
function outcomeOf(error: unknown): Outcome<never> {
  const refusal = refusalOf(error);
  if (refusal) return { error: refusal.toWire() };
  if (error instanceof AssertionFailed) throw error;
  return { fault: error instanceof Error ? (error.stack ?? error.message) : String(error) };
}
