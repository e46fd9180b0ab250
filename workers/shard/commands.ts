// Dispatches the commands of a shard worker: reads run one by one, document writes next to each other share a commit.
// Between batches it does background work in short slices. Shard worker only.
import { defined } from '../../src/base/assert.js';
import { collectionIn } from '../../src/contract/collection-in.js';
import type {
  ShardAnswer,
  ShardCommand,
  ShardCommands,
  ShardOp,
  ShardRequest,
  ShardWorkerStart,
} from '../../src/contract/messages.js';
import type { Outcome } from '../../src/contract/errors.js';
import type { CatalogStore } from '../../src/store/catalog-store.js';
import { Background } from './background.js';
import { catalogHandlers } from './catalog-handlers.js';
import type { Checkpoints, Note } from './checkpoint/checkpoints.js';
import type { Claim } from './claim.js';
import { IdleParts } from './idle-parts.js';
import { linking } from './linking.js';
import { getChunk, getContent, getDocument, listChunks, listDocuments } from './listings.js';
import { copyStaged, findTextless, listMissing } from './missing.js';
import { openCatalog, openShard } from './open-shard.js';
import { memoryUse, walksOf } from './part-state.js';
import { prepare } from './prepare.js';
import { outcomesOf, refsOf, singleWrites, type PartCommand, type WriteCommand } from './put-many.js';
import { outcomeOf } from './refusal.js';
import { sampleVectors } from './sample-vectors.js';
import type { Shard } from './shard.js';
import { listOrdinals, textVectors } from './text-vectors.js';
import { countsOf, totals } from './totals.js';
import { writeAll } from './write-all.js';

type Answer = ShardAnswer<ShardOp>;
type Handlers = {
  [O in Exclude<ShardOp, WriteCommand['op']>]: (request: ShardRequest<O>) => ShardCommands[O]['answer'];
};

const DOCUMENT_WRITES: ReadonlySet<string | undefined> = new Set<WriteCommand['op']>([
  'put',
  'putMany',
  'putStaged',
  'deleteDocument',
]);
const changesMemory = (command: ShardCommand): boolean =>
  isWrite(command) ||
  command.op === 'prepare' ||
  command.op === 'linking' ||
  command.op === 'copyStaged' ||
  command.op === 'dropCollection';
const isWrite = (command: ShardCommand | undefined): command is WriteCommand => DOCUMENT_WRITES.has(command?.op);
const wantsPart = (command: ShardCommand): command is PartCommand => isWrite(command) || command.op === 'copyStaged';

export class Commands {
  private shard: Shard | undefined;
  private catalog: CatalogStore | undefined;
  private readonly background = new Background();
  private idle: IdleParts | undefined;
  private checkpoints: Checkpoints | undefined;

  constructor(
    private readonly start: ShardWorkerStart,
    private readonly claim: Claim,
    private readonly note: Note,
  ) {}

  /**
   * Writes wait until the parts they go to are in memory, and for the end of a checkpoint's last pass; what comes in
   * other batches is answered meanwhile.
   */
  async run(commands: readonly ShardCommand[]): Promise<Outcome<Answer>[]> {
    await this.untilChangesMayGoOn(commands);
    const underWay = this.shard?.loads.bringAll(refsOf(commands.filter(wantsPart)));
    this.wakeBackground();
    if (underWay) await underWay;
    await this.untilChangesMayGoOn(commands);
    return this.runNow(commands);
  }

  private async untilChangesMayGoOn(commands: readonly ShardCommand[]): Promise<void> {
    while (this.shard?.stillness.whenOver && commands.some(changesMemory)) await this.shard.stillness.whenOver;
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

  /** Writes a checkpoint of what has changed, and closes the environments. */
  async close(): Promise<void> {
    this.background.stop();
    this.idle?.stop();
    await this.checkpoints?.finish();
    this.shard?.close();
    this.catalog?.close();
  }

  private write(commands: readonly WriteCommand[]): Outcome<Answer>[] {
    return outcomesOf(commands, writeAll(this.opened(), singleWrites(commands)));
  }

  private attempt(command: Exclude<ShardCommand, WriteCommand>): Outcome<Answer> {
    try {
      const handler = this.handlers[command.op] as (request: typeof command) => Answer;
      return { value: handler(command) };
    } catch (error) {
      return outcomeOf(error, collectionIn(command));
    }
  }

  private readonly handlers: Handlers = {
    open: (request) => (this.open(request), null),
    prepare: (request) => prepare(this.opened(), request),
    copyStaged: (request) => copyStaged(this.opened(), request),
    findTextless: (request) => findTextless(this.opened(), request),
    listMissing: (request) => listMissing(this.opened(), request),
    dropCollection: ({ collection }) => (this.opened().drop(collection), null),
    counts: ({ collections }) => countsOf(this.opened(), collections),
    walks: ({ collection, k, chunks }) => walksOf(this.opened().parts.of(collection), k, chunks),
    linking: (request) => linking(this.opened(), request),
    memory: ({ collection }) => memoryUse(this.opened().parts.of(collection)),
    totals: ({ without }) => totals(this.opened(), without),
    listDocuments: (request) => listDocuments(this.opened(), request),
    getDocument: (request) => getDocument(this.opened(), request),
    listChunks: (request) => listChunks(this.opened(), request),
    getChunk: (request) => getChunk(this.opened(), request),
    listOrdinals: (request) => listOrdinals(this.opened(), request),
    textVectors: (request) => textVectors(this.opened(), request),
    sampleVectors: (request) => sampleVectors(this.opened(), request),
    getContent: (request) => getContent(this.opened(), request),
    ...catalogHandlers(() => this.openedCatalog()),
  };

  private open(request: ShardRequest<'open'>): void {
    ({ shard: this.shard, checkpoints: this.checkpoints } = openShard(this.start, this.claim, request, this.note));
    this.background.begin(this.shard);
    this.idle = new IdleParts(this.shard.parts, this.start.idleSeconds, () => this.wakeBackground());
  }

  private opened(): Shard {
    return defined(this.shard, 'an opened shard');
  }

  private openedCatalog(): CatalogStore {
    return (this.catalog ??= openCatalog(this.start, this.claim));
  }
}

/** The end of the run of document writes that starts at `from`; `from` itself when there is none. */
function endOfWrites(commands: readonly ShardCommand[], from: number): number {
  let end = from;
  while (isWrite(commands[end])) end++;
  return end;
}
