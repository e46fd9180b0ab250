// Random messages of a command log, applied to several shards in batches of other sizes. Some shards end in the middle of
// a message, and get messages again that they have applied already, have disks without room for a while, and hold other
// collections in memory from time to time. In the end all have the same documents, chunks, vectors, counts, expiries, kept
// answers and rolling hash, and have told the same states on the way. One thread, without HTTP.
import { join } from 'node:path';
import { AppError, type Result } from '../../src/api/errors.js';
import type { CollectionId } from '../../src/api/ids.js';
import { createPrng, type Prng } from '../../src/base/prng.js';
import { maintainSome } from '../../src/engine/maintenance.js';
import { deleteDocuments, patchDocuments } from '../../src/engine/write/bulk.js';
import type { ShardAnswer, ShardCommand, ShardOp } from '../../src/engine/write/commands.js';
import { type LogBatch, packMessage } from '../../src/engine/write/log-message.js';
import { type LogApplier, applyLogged, loggedCommands } from '../../src/engine/write/logged.js';
import { copyShadow } from '../../src/engine/write/shadow-collection.js';
import { resultOf } from '../../src/engine/errors.js';
import { RandomCommands, Site, differencesOf } from './replay.js';

const STREAM = 'stream';
const COMMANDS_MAX = 6;
const BATCH_MAX = 80;
/** Messages that a shard gets again after its end. */
const AGAIN_MAX = 30;
/** Commits before a disk is full. */
const COMMITS_MAX = 4;

export interface CommandLogReport {
  readonly messages: number;
  readonly commands: number;
  readonly refused: number;
  /** How often a shard ended in the middle of a message. */
  readonly cuts: number;
  /** Batches that a disk had no room for. */
  readonly stalls: number;
  /** The number of shards that wrote to collections which were not in memory. */
  readonly placed: number;
  /** States that several shards have told. */
  readonly compared: number;
  /** The latest messages that every shard has kept at least. */
  readonly kept: number;
  /** What differs between the shards. */
  readonly differences: string[];
}

/** Applies `messages` random messages to three shards, in new folders inside `folder`. */
export function runCommandLog(folder: string, seed: number, messages: number): CommandLogReport {
  const prng = createPrng(seed);
  const made = new RandomCommands(prng);
  const log = Array.from({ length: messages }, () =>
    Array.from({ length: 1 + prng.int(COMMANDS_MAX) }, () => commandOf(made, prng)),
  );
  const payloads = log.map(packMessage);
  const replicas = ['a', 'b', 'c'].map(
    (name) =>
      new Replica(new Site(join(folder, name), { bytesMax: Infinity, isOfNode: true }, made.all), payloads, prng),
  );
  const differences: string[] = [];
  const [first, ...others] = replicas as [Replica, ...Replica[]];
  first.applyAll({ isCut: false });
  let compared = 0;
  for (const other of others) {
    other.applyAll({ isCut: true });
    for (const [sequence, hash] of other.heads)
      if (first.heads.has(sequence)) {
        compared++;
        if (first.heads.get(sequence) !== hash) differences.push(`the states after message ${sequence} differ`);
      }
    const [one, two] = [first, other].map(({ site }) => site.shard.store.journal?.head);
    if (one?.hash !== two?.hash || one?.sequence !== two?.sequence) differences.push('the journals differ');
    differences.push(...differencesOf(first.site.shard.store, other.site.shard.store, made.all));
  }
  const kept = replicas.map((replica) => replica.kept());
  if (kept.some((count) => count === undefined)) differences.push('the kept messages are not the latest ones');
  for (const { site } of replicas) site.shard.close();
  const cuts = replicas.reduce((sum, replica) => sum + replica.cuts, 0);
  const placed = replicas.filter((replica) => replica.placed).length;
  return {
    messages,
    commands: log.flat().length,
    refused: first.refused,
    cuts,
    stalls: replicas.reduce((sum, replica) => sum + replica.stalls, 0),
    placed,
    compared,
    kept: Math.min(...kept.map((count) => count ?? 0)),
    differences,
  };
}

function commandOf(made: RandomCommands, prng: Prng): ShardCommand {
  const step = prng.int(60);
  const ref = made.collection();
  if (step === 0) return { op: 'dropCollection', collection: made.replaced().id as CollectionId };
  if (step === 1) {
    const to = made.besides(ref);
    if (to) return { op: 'copyShadow', collection: to, source: ref, after: undefined };
  }
  const aim = { collection: ref, docids: made.docids(20), filter: made.filter(), nowS: made.nowS() };
  if (step === 4 || step === 5) {
    const other = made.besides(ref)?.id ?? null;
    const collection = ref.id as CollectionId;
    return step === 5 && other !== null
      ? { op: 'setFollower', collection, follower: null, of: other }
      : { op: 'setFollower', collection, follower: other };
  }
  if (step === 2) return { op: 'deleteDocuments', ...aim };
  if (step === 3) return { op: 'patchDocuments', ...aim, change: made.change() };
  return made.write() as ShardCommand;
}

/** One of the shards that apply the log. */
class Replica {
  readonly heads = new Map<number, string>();
  refused = 0;
  cuts = 0;
  /** Batches that the disk had no room for. */
  stalls = 0;
  /** Whether collections were written to that were not in memory. */
  placed = false;

  constructor(
    readonly site: Site,
    private readonly payloads: readonly Buffer[],
    private readonly prng: Prng,
  ) {}

  applyAll({ isCut }: { isCut: boolean }): void {
    const { prng, payloads } = this;
    for (let from = 0; from < payloads.length; ) {
      const end = Math.min(payloads.length, from + 1 + prng.int(BATCH_MAX));
      const batch = this.batchOf(from, end);
      const commands = loggedCommands(batch);
      if (isCut && prng.int(3) === 0) {
        // The process ends after some of the commands, and the messages come again.
        const cutAt = prng.int(commands.length);
        const last = commands[cutAt] as (typeof commands)[number];
        const begun = { ...batch, messages: batch.messages.slice(0, cutAt + 1) };
        applyLogged(this.applier, begun, [...commands.slice(0, cutAt), last.slice(0, prng.int(last.length + 1))]);
        this.site.reopen(() => this.prng.int(3) > 0);
        this.cuts++;
        from = Math.max(0, from + cutAt - prng.int(AGAIN_MAX));
        continue;
      }
      const full = isCut && prng.int(3) > 0 ? this.fillAfter(prng.int(COMMITS_MAX)) : undefined;
      const { results, heads, stalled } = applyLogged(this.applier, batch, commands);
      full?.end();
      this.stalls += Number(stalled !== undefined);
      for (const { sequence, hash } of heads) this.heads.set(sequence, hash);
      this.refused += results.flat().filter((result) => 'error' in result).length;
      if (prng.int(4) === 0) maintainSome(this.site.shard);
      if (isCut && prng.int(3) === 0) this.place();
      from = stalled ? from + results.length : end;
    }
  }

  /** Lets the disk take so many commits, and then none until `end`. */
  private fillAfter(commits: number): { end(): void } {
    const { store } = this.site.shard;
    const { write } = store;
    let left = commits;
    const limited: typeof write = (work) => {
      if (left-- > 0) return write.call(store, work) as ReturnType<typeof work>;
      throw new AppError('storage_full');
    };
    store.write = limited;
    return { end: () => void Reflect.deleteProperty(store, 'write') };
  }

  /** How many messages the shard has kept; undefined unless they are the latest ones that it has applied, without gaps. */
  kept(): number | undefined {
    const log = this.site.shard.store.appliedLog();
    const first = log?.messages[0]?.sequence ?? 0;
    const areLatest =
      log?.messages.at(-1)?.sequence === log?.position.sequence &&
      log?.messages.every(
        ({ sequence, payload }, i) =>
          sequence === first + i && (this.payloads[sequence - 1] as Buffer).equals(Buffer.from(payload)),
      );
    return areLatest ? log?.messages.length : undefined;
  }

  /** Lets other nodes hold some of the collections. */
  private place(): void {
    const members = ['a', 'b', 'c'].filter((node) => node === 'a' || this.prng.int(2) === 0);
    this.site.shard.place({ members, own: 'a', copies: 1 }, []);
    this.placed ||= this.site.shard.segments.onDisk().length > 0;
  }

  private batchOf(from: number, end: number): LogBatch {
    const messages = this.payloads
      .slice(from, end)
      .map((payload, i) => ({ sequence: from + i + 1, payload, id: '', isAwaited: true }));
    return { target: 0, stream: STREAM, messages, through: end };
  }

  private get applier(): LogApplier {
    const { shard } = this.site;
    const { store } = shard;
    return { journal: store.journal, shard, run: (command) => this.run(command), advance: (at) => store.advance(at) };
  }

  private run(command: ShardCommand): Result<ShardAnswer<ShardOp>> {
    const { shard } = this.site;
    try {
      if (command.op === 'setFollower')
        return { value: (shard.setFollower(command.collection, command.follower, command.of), null) };
      if (command.op === 'dropCollection') return { value: (shard.drop(command.collection), null) };
      if (command.op === 'copyShadow') return { value: copyShadow(shard, command) };
      if (command.op === 'deleteDocuments') return { value: deleteDocuments(shard, command) };
      if (command.op === 'patchDocuments') return { value: patchDocuments(shard, command) };
      throw new Error(`${command.op} is not among the random commands`);
    } catch (error) {
      return resultOf(error);
    }
  }
}
