// Dispatches the commands of a shard worker to the owner of its shard. Reads run one by one; adjacent document writes
// share a commit. The worker of shard 0 also handles the catalog.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Result } from '../../src/api/errors.js';
import { defined } from '../../src/base/assert.js';
import { CATALOG, SharedMeters, placeOfShard } from '../../src/base/meters.js';
import { ReadGate } from '../../src/base/read-gate.js';
import type { Note } from '../../src/engine/checkpoint/writer.js';
import {
  countsOf,
  listOrdinals,
  readDocuments,
  sampleVectors,
  textVectors,
  totals,
} from '../../src/engine/documents.js';
import { resultOf } from '../../src/engine/errors.js';
import { Arenas, Kernel } from '../../src/engine/memory/arena.js';
import { ShardOwner } from '../../src/engine/owner.js';
import { indexing, prepare } from '../../src/engine/segments/indexes.js';
import { memoryUse, searchEfOf } from '../../src/engine/segments/segment.js';
import type { Shard } from '../../src/engine/shard.js';
import { refsOf, resultsOf, singleWrites, writeAll } from '../../src/engine/write/batch.js';
import {
  type SegmentCommand,
  type ShardAnswer,
  type ShardCommand,
  type ShardCommands,
  type ShardOp,
  type ShardRequest,
  type ShardWorkerStart,
  type WriteCommand,
  collectionIn,
  traitsOf,
} from '../../src/engine/write/commands.js';
import { type LogBatch } from '../../src/engine/write/log-message.js';
import { type LogApplier, type LogResults, applyLogged, loggedCommands } from '../../src/engine/write/logged.js';
import { deleteDocuments, findDocuments, findExpired, patchDocuments } from '../../src/engine/write/bulk.js';
import { copyShadow, exportDocuments, findTextless, listMissing } from '../../src/engine/write/shadow-collection.js';
import { catalogHandlers } from '../../src/storage/catalog-handlers.js';
import { CatalogStore } from '../../src/storage/catalog.js';
import { CheckpointFiles } from '../../src/storage/checkpoint-files.js';
import { CATALOG as CATALOG_FOLDER, checkpointPath, shardPath } from '../../src/storage/data-directory.js';
import { ShardStore } from '../../src/storage/shard-store.js';

/** `takeOver` is true if another thread of this process has owned the shard before. */
function openOwner(
  {
    shard: number,
    kernel,
    memories,
    arenaPagesMax,
    directory,
    meters,
    readGates,
    checkpointMs,
    journalBytesMax,
    isOfNode,
    idleSeconds,
    placement,
  }: ShardWorkerStart,
  takeOver: boolean,
  { collections, isWhole }: ShardRequest<'open'>,
  note: Note,
): ShardOwner {
  const arenas = defined(memories[number], 'arenas of the shard');
  const place = placeOfShard(number);
  const [meter, gate] = [SharedMeters.over(meters).store(place), ReadGate.at(readGates, place)];
  return ShardOwner.open({
    number,
    arenas: new Arenas(arenas.map((memory) => new Kernel(kernel, memory, arenaPagesMax))),
    openStore: () =>
      ShardStore.open(shardPath(directory, number), takeOver, {
        meter,
        gate,
        journal: { bytesMax: journalBytesMax, isOfNode },
      }),
    collections,
    isWhole,
    files: new CheckpointFiles(checkpointPath(directory, number)),
    checkpointMs,
    isSuccessor: takeOver,
    idleSeconds,
    placement,
    note,
  });
}

/** Opens the catalog; only for the owner of shard 0. */
function openCatalog(
  { directory, meters, journalBytesMax, isOfNode }: ShardWorkerStart,
  takeOver: boolean,
): CatalogStore {
  const meter = SharedMeters.over(meters).store(CATALOG);
  return CatalogStore.open(join(directory, CATALOG_FOLDER), takeOver, {
    meter,
    journal: { bytesMax: journalBytesMax, isOfNode },
  });
}

type Answer = ShardAnswer<ShardOp>;
type Handlers = {
  [O in Exclude<ShardOp, WriteCommand['op']>]: (request: ShardRequest<O>) => ShardCommands[O]['answer'];
};

/** Kept answers that one commit forgets, which takes some milliseconds. */
const ANSWERS_PER_COMMIT = 1024;

const changesMemory = ({ op }: ShardCommand): boolean => traitsOf(op).changesMemory === true;
const isWrite = (command: ShardCommand | undefined): command is WriteCommand =>
  command !== undefined && traitsOf(command.op).writesDocuments === true;
const needsSegment = (command: ShardCommand): command is SegmentCommand => traitsOf(command.op).needsSegments === true;

export class Commands {
  private owner: ShardOwner | undefined;
  private catalog: CatalogStore | undefined;

  constructor(
    private readonly start: ShardWorkerStart,
    private readonly takeOver: boolean,
    private readonly note: Note,
  ) {}

  /** Runs a batch once the segments it needs are loaded and it may change memory; other batches can run meanwhile. */
  async run(commands: readonly ShardCommand[]): Promise<Result<Answer>[]> {
    await this.owner?.whenReady(refsOf(commands.filter(needsSegment)), commands.some(changesMemory));
    return this.runNow(commands);
  }

  /** Applies messages of a cluster's command log, once the segments they need are loaded. */
  async apply(batch: LogBatch): Promise<LogResults> {
    const commands = loggedCommands(batch);
    const all = commands.flat().map(({ command }) => command);
    await this.owner?.whenReady(refsOf(all.filter(needsSegment)), all.some(changesMemory));
    const results = applyLogged(this.applierOf(batch), batch, commands);
    this.owner?.wake();
    return results;
  }

  /**
   * Copies the environments of this worker below `directory`, each as of a moment of its own; the catalog, which the owner
   * of shard 0 has, comes first.
   */
  async copyTo(directory: string): Promise<void> {
    const { shard: number } = this.start;
    if (number === 0) await this.openedCatalog().copyTo(madeFolder(join(directory, CATALOG_FOLDER)));
    await this.shard.store.copyTo(madeFolder(shardPath(directory, number)));
  }

  private applierOf({ target }: LogBatch): LogApplier {
    const run = (command: ShardCommand): Result<Answer> => this.attempt(command as Exclude<ShardCommand, WriteCommand>);
    if (target === 'catalog') {
      const catalog = this.openedCatalog();
      return { journal: catalog.journal, shard: undefined, run, advance: (position) => catalog.advance(position) };
    }
    const { shard } = this;
    const { store } = shard;
    return { journal: store.journal, shard, run, advance: (position) => store.advance(position) };
  }

  private appliedLogs(): ShardCommands['appliedLog']['answer'] {
    return {
      shard: this.shard.store.appliedLog(),
      catalog: this.start.shard === 0 ? this.openedCatalog().appliedLog() : null,
    };
  }

  private runNow(commands: readonly ShardCommand[]): Result<Answer>[] {
    const results: Result<Answer>[] = [];
    for (let at = 0; at < commands.length; ) {
      const end = endOfWrites(commands, at);
      if (end > at) {
        results.push(...this.write(commands.slice(at, end).filter(isWrite)));
        at = end;
      } else {
        results.push(this.attempt(commands[at++] as Exclude<ShardCommand, WriteCommand>));
      }
    }
    this.owner?.wake();
    return results;
  }

  /** Writes a checkpoint of what has changed, and closes the environments. */
  async close(): Promise<void> {
    await this.owner?.close();
    this.catalog?.close();
  }

  private write(commands: readonly WriteCommand[]): Result<Answer>[] {
    return resultsOf(commands, writeAll(this.shard, singleWrites(commands)));
  }

  private attempt(command: Exclude<ShardCommand, WriteCommand>): Result<Answer> {
    try {
      const handler = this.handlers[command.op] as (request: typeof command) => Answer;
      return { value: handler(command) };
    } catch (error) {
      return resultOf(error, collectionIn(command));
    }
  }

  private readonly handlers: Handlers = {
    open: (request) => ((this.owner = openOwner(this.start, this.takeOver, request, this.note)), null),
    prepare: (request) => prepare(this.shard, request),
    copyShadow: (request) => copyShadow(this.shard, request),
    findTextless: (request) => findTextless(this.shard, request),
    listMissing: (request) => listMissing(this.shard, request),
    findDocuments: (request) => findDocuments(this.shard, request),
    patchDocuments: (request) => patchDocuments(this.shard, request),
    deleteDocuments: (request) => deleteDocuments(this.shard, request),
    exportDocuments: (request) => exportDocuments(this.shard, request),
    findExpired: (request) => findExpired(this.shard, request),
    keptAnswers: (request) => this.shard.store.read((txn) => txn.keptAnswers(request)),
    keepAnswer: ({ keep, answer }) => (this.shard.store.write((txn) => txn.keepAnswer(keep, answer)), null),
    forgetAnswers: ({ sinceS }) => this.shard.store.write((txn) => txn.forgetAnswers(sinceS, ANSWERS_PER_COMMIT)),
    dropCollection: ({ collection }) => (this.shard.drop(collection), null),
    appliedLog: () => this.appliedLogs(),
    setFollower: ({ collection, follower, of }) => (this.shard.setFollower(collection, follower, of), null),
    placeMemory: ({ placement, keep }) => this.shard.place(placement, keep),
    counts: ({ collections }) => countsOf(this.shard, collections),
    searchEf: ({ collection, k, chunks }) => searchEfOf(this.shard.segments.of(collection), k, chunks),
    indexing: (request) => indexing(this.shard, request),
    memory: ({ collection }) => memoryUse(this.shard.segments.of(collection)),
    totals: ({ without }) => totals(this.shard, without),
    listDocuments: (request) => readDocuments(this.shard, 'listDocuments', request),
    getDocument: (request) => readDocuments(this.shard, 'getDocument', request),
    listChunks: (request) => readDocuments(this.shard, 'listChunks', request),
    getChunk: (request) => readDocuments(this.shard, 'getChunk', request),
    listOrdinals: (request) => listOrdinals(this.shard, request),
    textVectors: (request) => textVectors(this.shard, request),
    sampleVectors: (request) => sampleVectors(this.shard, request),
    getContent: (request) => readDocuments(this.shard, 'getContent', request),
    ...catalogHandlers(() => this.openedCatalog()),
  };

  private get shard(): Shard {
    return defined(this.owner, 'an opened shard').shard;
  }

  private openedCatalog(): CatalogStore {
    return (this.catalog ??= openCatalog(this.start, this.takeOver));
  }
}

function madeFolder(path: string): string {
  mkdirSync(path, { recursive: true });
  return path;
}

/** The end of the adjacent document writes that start at `from`; `from` itself if there are none. */
function endOfWrites(commands: readonly ShardCommand[], from: number): number {
  let end = from;
  while (isWrite(commands[end])) end++;
  return end;
}
