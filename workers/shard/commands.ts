// Dispatches the commands of a shard worker: reads run one by one, document writes next to each other share a commit.
// Between batches it does background work in short slices. Shard worker only.
import { join } from 'node:path';
import type { Outcome } from '../../src/api/errors.js';
import { defined } from '../../src/base/assert.js';
import { CATALOG, SharedMeters, placeOfShard } from '../../src/base/meters.js';
import { Latch } from '../../src/base/read-gate.js';
import { discard, restore } from '../../src/engine/checkpoint/recovery.js';
import { Checkpoints, type Note } from '../../src/engine/checkpoint/writer.js';
import {
  countsOf,
  getChunk,
  getContent,
  getDocument,
  listChunks,
  listDocuments,
  listOrdinals,
  sampleVectors,
  textVectors,
  totals,
} from '../../src/engine/documents.js';
import { outcomeOf } from '../../src/engine/errors.js';
import { Background } from '../../src/engine/maintenance.js';
import { Kernel } from '../../src/engine/memory/arena.js';
import { IdleParts } from '../../src/engine/segments/eviction.js';
import { linking, prepare } from '../../src/engine/segments/indexes.js';
import { memoryUse, walksOf } from '../../src/engine/segments/segment.js';
import { Shard } from '../../src/engine/shard.js';
import {
  type PartCommand,
  type WriteCommand,
  outcomesOf,
  refsOf,
  singleWrites,
  writeAll,
} from '../../src/engine/write/batch.js';
import {
  type ShardAnswer,
  type ShardCommand,
  type ShardCommands,
  type ShardOp,
  type ShardRequest,
  type ShardWorkerStart,
  collectionIn,
} from '../../src/engine/write/commands.js';
import { copyStaged, findTextless, listMissing } from '../../src/engine/write/shadow-collection.js';
import type { CatalogCommands } from '../../src/storage/catalog-commands.js';
import { CatalogStore } from '../../src/storage/catalog.js';
import { CheckpointFiles } from '../../src/storage/checkpoint-files.js';
import { checkpointPath, shardPath } from '../../src/storage/data-directory.js';
import { ShardStore } from '../../src/storage/shard-store.js';

// The commands of the catalog, which the worker of shard 0 takes: each is one call of its store.
// Made by commands.ts. Shard worker only.

type CatalogHandlers = { [O in keyof CatalogCommands]: (request: ShardRequest<O>) => CatalogCommands[O]['answer'] };

/** `catalog`: opened when it is first asked for. */
const catalogHandlers = (catalog: () => CatalogStore): CatalogHandlers => ({
  loadCatalog: () => catalog().packed(),
  createCollection: ({ collection, collectionsMax }) => catalog().create(collection, collectionsMax),
  updateCollection: ({ collection, change }) => catalog().update(collection, change),
  deleteCollection: ({ collection }) => (catalog().delete(collection), null),
  loadStaged: () => catalog().staged.all(),
  stageCollection: ({ staged }) => catalog().staged.stage(staged),
  unstageCollection: ({ staged }) => (catalog().staged.unstage(staged), null),
  switchCollection: (request) => catalog().staged.switchTo(request),
  replaceDataset: ({ staged, tenants }) => catalog().dataset.replace(staged, tenants),
  loadJobs: () => catalog().jobs.all(),
  createJob: ({ staged, ...change }) => catalog().jobs.create(change, staged),
  saveJob: (change) => (catalog().jobs.save(change), null),
  loadTenants: () => catalog().tenants.all(),
  createTenant: ({ tenant, key }) => (catalog().tenants.create(tenant, key), null),
  updateTenant: ({ tenant, change }) => catalog().tenants.update(tenant, change),
  deleteTenant: ({ tenant, force }) => catalog().tenants.delete(tenant, force),
  createKey: ({ tenant, key }) => catalog().tenants.createKey(tenant, key),
  revokeKey: ({ tenant, keyId, revokedAt }) => catalog().tenants.revokeKey(tenant, keyId, revokedAt),
});

// Opens a shard: its store, and kernels on its arenas, which it empties, fills from the checkpoint, and says what is to
// be found in them. Called by commands.ts, in the shard worker's thread.

interface OpenedShard {
  shard: Shard;
  /** undefined where none are to be written. */
  checkpoints: Checkpoints | undefined;
}

/**
 * `takeOver`: another thread has had the shard. Then it begins without its checkpoint: what its owner died of may stand
 * in it.
 */
function openShard(
  {
    shard: number,
    kernel: module,
    kernelName,
    memories,
    arenaPagesMax,
    directory,
    meters,
    latches,
    checkpointMs,
  }: ShardWorkerStart,
  takeOver: boolean,
  { collections, isWhole }: ShardRequest<'open'>,
  note: Note,
): OpenedShard {
  const kernels = defined(memories[number], 'arenas of the shard').map(
    (memory) => new Kernel(module, memory, arenaPagesMax),
  );
  // Readers are out before the environment is closed that a dead owner had open.
  for (const kernel of kernels) kernel.close();
  const place = placeOfShard(number);
  const shard = new Shard(
    ShardStore.open(
      shardPath(directory, number),
      takeOver,
      SharedMeters.over(meters).store(place),
      Latch.at(latches, place),
    ),
    ...kernels,
  );
  const files = new CheckpointFiles(checkpointPath(directory, number));
  const identity = { shard: number, kernel: kernelName };
  const isOfUse = !takeOver && checkpointMs > 0;
  shard.load(collections, isWhole, (kinds) =>
    isOfUse ? restore(shard, files, identity, kinds, note) : discard(shard, files),
  );
  return {
    shard,
    checkpoints: checkpointMs > 0 ? new Checkpoints(shard, files, identity, checkpointMs, note) : undefined,
  };
}

/** For the owner of shard 0. */
function openCatalog({ directory, meters }: ShardWorkerStart, takeOver: boolean): CatalogStore {
  return CatalogStore.open(join(directory, 'catalog'), takeOver, SharedMeters.over(meters).store(CATALOG));
}

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
    private readonly takeOver: boolean,
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
    ({ shard: this.shard, checkpoints: this.checkpoints } = openShard(this.start, this.takeOver, request, this.note));
    this.background.begin(this.shard);
    this.idle = new IdleParts(this.shard.parts, this.start.idleSeconds, () => this.wakeBackground());
  }

  private opened(): Shard {
    return defined(this.shard, 'an opened shard');
  }

  private openedCatalog(): CatalogStore {
    return (this.catalog ??= openCatalog(this.start, this.takeOver));
  }
}

/** The end of the run of document writes that starts at `from`; `from` itself when there is none. */
function endOfWrites(commands: readonly ShardCommand[], from: number): number {
  let end = from;
  while (isWrite(commands[end])) end++;
  return end;
}
