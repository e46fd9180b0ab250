// Applies messages of a cluster's command log to a shard or to the catalog. Every node applies the same messages in the
// same order and gets the same results: a command is refused for what the log says, never for what this machine lacks.
// The position of a command is committed with what it changes, so after a crash nothing is applied twice and nothing is
// left out. Owner only.
import { AppError, type Result, type WireError, shardUnavailable } from '../../api/errors.js';
import { isAppliedAt, type Journal, type LogPosition } from '../../storage/journal.js';
import { DamagedRecord } from '../../storage/damage.js';
import { clientErrorOf, isOfMachine } from '../errors.js';
import type { Shard } from '../shard.js';
import { resultsOf, singleWrites } from './batch.js';
import { type ShardAnswer, type ShardCommand, type ShardOp, type WriteCommand, traitsOf } from './commands.js';
import { type LogBatch, type LoggedCommand, unpackMessage } from './log-message.js';
import { applyWrites } from './write.js';

type Answer = ShardAnswer<ShardOp>;

/** The state after a message: machines that have applied it have the same hash. */
export interface LogHead {
  readonly sequence: number;
  /** The rolling hash of the journal. */
  readonly hash: string;
}

export interface LogResults {
  /** States at which all machines end a commit, in order. */
  readonly heads: LogHead[];
  /** The results of each message that was applied, in order; empty for those that nobody waits for. */
  readonly results: Result<Answer>[][];
  /** Why the next message cannot be applied on this machine; it is tried again later. */
  readonly stalled?: WireError;
}

/** Where commands are applied. */
export interface LogApplier {
  readonly journal: Journal | undefined;
  /** The shard, for commands that write documents. */
  readonly shard: Shard | undefined;
  /** Runs any other command. */
  run(command: ShardCommand): Result<Answer>;
  /** Writes the position alone. */
  advance(position: LogPosition): void;
}

/** Documents of one commit, which keeps it to some ten milliseconds. */
const COMMANDS_PER_COMMIT = 256;

/** A commit ends with the last message of a block, so that machines with other batches have states to compare. */
const BLOCK_MESSAGES = 64;
const blockOf = ({ at: { sequence } }: LoggedCommand): number => Math.floor(sequence / BLOCK_MESSAGES);

/** Whether the command ends a block, or all that is there to apply. */
const isEndOfBlock = (command: LoggedCommand, next: LoggedCommand | undefined): boolean =>
  next === undefined || blockOf(next) !== blockOf(command);

const isWrite = (command: ShardCommand): command is WriteCommand => traitsOf(command.op).writesDocuments === true;

/** The commands of the messages with their positions. */
export const loggedCommands = ({ stream, messages }: LogBatch): LoggedCommand[][] =>
  messages.map(({ sequence, payload, id }) =>
    unpackMessage(payload).map((command, i, { length }) => ({
      command,
      at: { stream, sequence, done: i + 1, id },
      ...(i === length - 1 && { ends: { sequence, id, payload } }),
    })),
  );

/** This machine lacks what a command needs. */
class Stalled extends Error {
  constructor(readonly wire: WireError) {
    super(wire.message);
  }
}

/**
 * Applies the commands of a batch that have not been applied yet. Stops at the first one that this machine cannot apply;
 * what came before it stays applied.
 */
export function applyLogged(to: LogApplier, batch: LogBatch, commands: readonly LoggedCommand[][]): LogResults {
  const journal = to.journal;
  if (!journal) throw new Error('a node of a cluster keeps a journal');
  const flat = commands.flat();
  const results: Result<Answer>[] = [];
  const heads: LogHead[] = [];
  let stalled: WireError | undefined;
  try {
    while (results.length < flat.length) {
      results.push(...applyNext(to, journal, flat, results.length));
      const last = flat[results.length - 1] as LoggedCommand;
      // What was skipped because it had been applied already has led to a later state.
      const isThere = (journal.applied?.sequence ?? 0) <= last.at.sequence;
      if (isThere && isEndOfBlock(last, flat[results.length]))
        heads.push({ sequence: last.at.sequence, hash: journal.head.hash });
    }
    const { stream, through, throughId: id } = batch;
    const position = { stream, sequence: through, done: 0, ...(id !== undefined && { id }) };
    if (batch.messages.length === 0 && !isAppliedAt(position, journal.applied)) to.advance(position);
  } catch (error) {
    if (!(error instanceof Stalled)) throw error;
    stalled = error.wire;
  } finally {
    journal.applying = undefined;
  }
  return { heads, results: ofMessages(batch, commands, results), ...(stalled && { stalled }) };
}

/** Applies the next command, and the writes that follow it in the same commit. Throws Stalled. */
function applyNext(
  to: LogApplier,
  journal: Journal,
  commands: readonly LoggedCommand[],
  from: number,
): Result<Answer>[] {
  const first = commands[from] as LoggedCommand;
  const { command, at } = first;
  // The results are not known any more: they were lost with the worker that had applied the command.
  if (isAppliedAt(at, journal.applied)) return [{ error: shardUnavailable().toWire() }];
  if (!isWrite(command))
    return positioned(journal, [first], () => {
      const result = to.run(command);
      if ('internalError' in result) throw new Stalled(new AppError('internal_error').toWire());
      if ('error' in result && isOfMachine(result.error)) throw new Stalled(result.error);
      return [result];
    });
  const writes: WriteCommand[] = [];
  for (let next = commands[from]; next && isWrite(next.command); next = commands[from + writes.length]) {
    if (writes.length === COMMANDS_PER_COMMIT) break;
    writes.push(next.command);
    if (isEndOfBlock(next, commands[from + writes.length])) break;
  }
  return positioned(journal, commands.slice(from, from + writes.length), () => applyTogether(to, writes));
}

/** Applies commands by `work`, in whose transaction the journal writes how far they go. */
function positioned<T>(journal: Journal, commands: readonly LoggedCommand[], work: () => T): T {
  journal.applying = commands.at(-1)?.at;
  const ended = commands.flatMap(({ ends = [] }) => ends);
  for (const message of ended) journal.messages.set(message.sequence, message);
  try {
    return work();
  } catch (error) {
    for (const { sequence } of ended) journal.messages.delete(sequence);
    throw error;
  }
}

function applyTogether({ shard }: LogApplier, writes: readonly WriteCommand[]): Result<Answer>[] {
  if (!shard) throw new Error('documents are written to a shard');
  try {
    return resultsOf(writes, applyWrites(shard, singleWrites(writes), { isLogged: true }));
  } catch (error) {
    const clientError =
      error instanceof DamagedRecord ? new AppError('collection_damaged', error.message) : clientErrorOf(error);
    if (!clientError) throw error;
    throw new Stalled(clientError.toWire());
  }
}

/** The results of each message whose commands have all been applied. */
function ofMessages(
  { messages }: LogBatch,
  commands: readonly LoggedCommand[][],
  results: readonly Result<Answer>[],
): Result<Answer>[][] {
  const found: Result<Answer>[][] = [];
  let at = 0;
  for (const [i, { isAwaited }] of messages.entries()) {
    const end = at + (commands[i] as LoggedCommand[]).length;
    if (end > results.length) break;
    found.push(isAwaited ? results.slice(at, end) : []);
    at = end;
  }
  return found;
}
