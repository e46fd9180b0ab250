// Dispatches the commands of a shard worker: reads run one by one, document writes next to each other share a commit.
// Between batches it does background work in short slices. Shard worker only.
import { join } from 'node:path';
import { defined } from '../../src/base/assert.js';
import type { Outcome, ShardAnswer, ShardCommand, ShardCommands, ShardOp, ShardRequest, ShardWorkerStart } from '../../src/contract/messages.js';
import { CatalogStore } from '../../src/store/catalog-store.js';
import { Background } from './background.js';
import type { Claim } from './claim.js';
import { IdleParts } from './idle-parts.js';
import { getChunk, getContent, getDocument, listChunks, listDocuments } from './listings.js';
import { memoryUse } from './memory-use.js';
import { openShard } from './open-shard.js';
import { prepare } from './prepare.js';
import { outcomesOf, refsOf, singleWrites, type WriteCommand } from './put-many.js';
import { outcomeOf } from './refusal.js';
import { sampleVectors } from './sample-vectors.js';
import type { Shard } from './shard.js';
import { listOrdinals, textVectors } from './text-vectors.js';
import { countsOf, totals } from './totals.js';
import { applyWrites } from './write.js';

type Answer = ShardAnswer<ShardOp>;
type Handlers = { [O in Exclude<ShardOp, WriteCommand['op']>]: (request: ShardRequest<O>) => ShardCommands[O]['answer'] };

const DOCUMENT_WRITES: ReadonlySet<string | undefined> = new Set<WriteCommand['op']>(['put', 'putMany', 'deleteDocument']);
const isWrite = (command: ShardCommand | undefined): command is WriteCommand => DOCUMENT_WRITES.has(command?.op);

export class Commands {
  private shard: Shard | undefined;
  private catalog: CatalogStore | undefined;
  private readonly background = new Background();
  private idle: IdleParts | undefined;

  constructor(
    private readonly start: ShardWorkerStart,
    private readonly claim: Claim,
  ) {}

  /** Writes wait until the parts they go to are in memory; what comes in other batches is answered meanwhile. */
  async run(commands: readonly ShardCommand[]): Promise<Outcome<Answer>[]> {
    const underWay = this.shard?.loads.bringAll(refsOf(commands.filter(isWrite)));
    this.wakeBackground();
    if (underWay) await underWay;
    return this.runNow(commands);
  }

  private runNow(commands: readonly ShardCommand[]): Outcome<Answer>[] {
    const outcomes: Outcome<Answer>[] = [];
    for (let at = 0; at < commands.length; ) {
      const end = endOfWrites(commands, at);
      if (end > at) {
        outcomes.push(...this.write(commands.slice(at, end).filter(isWrite)));
        at = end;
      } else {
        outcomes.push(this.attempt(commands[at++] as Exclude<ShardCommand, WriteCommand>));
      }
    }
    this.wakeBackground();
    return outcomes;
  }

  private wakeBackground(): void {
    if (this.shard) this.background.wake(this.shard);
  }

  close(): void {
    this.background.stop();
    this.idle?.stop();
    this.shard?.close();
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
    prepare: (request) => prepare(this.opened(), request),
    dropCollection: ({ collection }) => (this.opened().drop(collection), null),
    counts: ({ collections }) => countsOf(this.opened(), collections),
    breadth: ({ collection, k }) => Math.max(0, ...this.opened().parts.of(collection).map(({ index }) => index.breadthFor(k))),
    memory: ({ collection }) => memoryUse(this.opened().parts.of(collection)),
    totals: () => totals(this.opened()),
    listDocuments: (request) => listDocuments(this.opened(), request),
    getDocument: (request) => getDocument(this.opened(), request),
    listChunks: (request) => listChunks(this.opened(), request),
    getChunk: (request) => getChunk(this.opened(), request),
    listOrdinals: (request) => listOrdinals(this.opened(), request),
    textVectors: (request) => textVectors(this.opened(), request),
    sampleVectors: (request) => sampleVectors(this.opened(), request),
    getContent: (request) => getContent(this.opened(), request),
    loadCatalog: () => this.openedCatalog().packed(),
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
    this.shard = openShard(this.start, this.claim, collections);
    this.idle = new IdleParts(this.shard.parts, this.start.idleSeconds, () => this.wakeBackground());
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
  while (isWrite(commands[end])) end++;
  return end;
}
