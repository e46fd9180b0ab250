// Copies of a node's data for another node that cannot have it from the log: one that is new where the begin of the log
// has been deleted, or that was away for too long, or whose log has lost messages. The giver copies its environments,
// each as of a moment of its own; the taker asks for them piece by piece, puts them in the place of its own, and reads
// the log from the positions that stand in them. Runs on the main thread.
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { Packr } from 'msgpackr';
import type { Log } from '../base/log.js';
import { OperatorError } from '../base/operator-error.js';
import { CATALOG, CHECKPOINTS, shardNames } from '../storage/data-directory.js';
import { syncDirectory } from '../storage/disk.js';
import type { LogStream } from './log-stream.js';
import { type LentAnswer, type NodeAsk, NodeLinks } from './node-links.js';
import { NodeStates, type ToldState } from './node-states.js';

interface PieceQuestion {
  readonly ask: 'piece';
  readonly copy: string;
  readonly file: number;
  /** The first byte. */
  readonly from: number;
  /** Whether the answer is to begin with a checksum; absent from takers of earlier releases. */
  readonly isSummed?: true;
}

type Question = { readonly ask: 'make' } | { readonly ask: 'files' | 'end'; readonly copy: string } | PieceQuestion;

/** A file below the folder of the copy. */
interface CopiedFile {
  readonly path: string;
  readonly bytes: number;
}

const packr = new Packr({ useRecords: false });

/** Small, so that a thread that gives or takes pieces is soon free for other work. */
const PIECE_BYTES = 512 * 1024;
/** Of the checksum before each piece. */
const SUM_BYTES = 4;
const PIECES_UNDER_WAY = 4;
const ASK_MS = 10_000;
const ASK_TRIES = 6;
/** Nodes that begin to give a copy and do not go on, before the taker gives up. */
const GIVERS_MAX = 5;
const AGAIN_MS = 250;
/** A copy that nobody has asked for in this time is deleted. */
const IDLE_MS = 15_000;
/** The messages that come after a copy stay in the log for so long after it has been taken. */
const HELD_MS = 600_000;
const LOOK_MS = 50;
/** Nodes tell of themselves twice a second. */
const LISTEN_MS = 800;
/** Both are below the data directory, so that what they hold can be renamed. */
const GIVEN = 'copies';
const TAKEN = 'copy';
/** In the folder of a copy that has been taken whole. */
const WHOLE = 'whole';

interface GiverOptions {
  /** The data directory. */
  readonly path: string;
  /** Copies the environments of all shards and of the catalog below a folder. */
  readonly copyTo: (directory: string) => Promise<void>;
  /** Everything up to this message has been applied. */
  readonly applied: () => number;
  /** Whether the data is what the log leads to. */
  readonly agrees: () => Promise<boolean>;
  readonly log: Log;
}

interface GivenCopy {
  readonly folder: string;
  /** Everything up to this message was applied when the copy was begun. */
  readonly applied: number;
  /** Undefined until the copy is complete. */
  files: readonly CopiedFile[] | undefined;
  readonly buffers: PieceBuffers;
  touchedAtMs: number;
}

/**
 * Buffers for the pieces that are sent, since new ones for all the data would keep the garbage collector busy. Each one
 * comes back when its piece has been sent; those under way may be read and sent in any order.
 */
class PieceBuffers {
  private readonly free: Buffer[] = [];

  take(): Buffer {
    return this.free.pop() ?? Buffer.allocUnsafeSlow(SUM_BYTES + PIECE_BYTES);
  }

  giveBack(buffer: Buffer): void {
    if (this.free.length < PIECES_UNDER_WAY) this.free.push(buffer);
  }
}

/** Covers what the piece is of, so that another piece in its place is noticed. */
const sumOf = ({ copy, file, from }: PieceQuestion, piece: Uint8Array): number =>
  crc32(piece, crc32(`${copy} ${file} ${from}`));

/** Gives copies to other nodes, one at a time. */
export class CopyGiver {
  private readonly copies = new Map<string, GivenCopy>();
  private holds: readonly { readonly applied: number; readonly untilMs: number }[] = [];

  constructor(private readonly options: GiverOptions) {
    rmSync(this.folder, { recursive: true, force: true });
  }

  private get folder(): string {
    return join(this.options.path, GIVEN);
  }

  /** The log has to keep what comes after this message, for nodes that have taken a copy; Infinity if there are none. */
  get heldAfter(): number {
    this.forgetIdle();
    const nowMs = performance.now();
    this.holds = this.holds.filter(({ untilMs }) => untilMs > nowMs);
    return Math.min(...[...this.holds, ...this.copies.values()].map(({ applied }) => applied), Infinity);
  }

  /** Answers a question of another node. Rejects for a copy that is not there any more. */
  async answer(question: Uint8Array): Promise<Uint8Array | LentAnswer> {
    const asked = packr.unpack(question) as Question;
    this.forgetIdle();
    if (asked.ask === 'make') return packr.pack((await this.options.agrees()) ? this.make() : null);
    const copy = this.copies.get(asked.copy);
    if (!copy) throw new Error('there is no such copy');
    copy.touchedAtMs = performance.now();
    if (asked.ask === 'files') return packr.pack(copy.files ?? null);
    if (asked.ask === 'piece') return pieceOf(copy, asked);
    this.forget(asked.copy, copy);
    return packr.pack(null);
  }

  /** Begins a copy, and returns its id; false if one is under way. */
  private make(): string | false {
    if (this.copies.size > 0) return false;
    const id = randomUUID();
    const { copyTo, applied, log } = this.options;
    const folder = join(this.folder, id);
    const copy: GivenCopy = {
      folder,
      applied: applied(),
      files: undefined,
      buffers: new PieceBuffers(),
      touchedAtMs: performance.now(),
    };
    this.copies.set(id, copy);
    mkdirSync(folder, { recursive: true });
    log.info({}, 'the data is copied for another node');
    copyTo(folder).then(
      () => (copy.files = filesIn(folder)),
      (error: Error) => {
        log.warn({ reason: error.message }, 'the data cannot be copied for another node');
        this.forget(id, copy);
      },
    );
    return id;
  }

  private forgetIdle(): void {
    const sinceMs = performance.now() - IDLE_MS;
    for (const [id, copy] of this.copies) if (copy.files && copy.touchedAtMs < sinceMs) this.forget(id, copy);
  }

  private forget(id: string, { folder, applied }: GivenCopy): void {
    this.copies.delete(id);
    this.holds = [...this.holds, { applied, untilMs: performance.now() + HELD_MS }];
    // Not in one go, because deleting large files takes time; what is left is deleted at the next start.
    rm(folder, { recursive: true, force: true }).catch(() => undefined);
  }
}

const filesIn = (folder: string): CopiedFile[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path: relative(folder, path), bytes: statSync(path).size }));

async function pieceOf({ folder, files = [], buffers }: GivenCopy, asked: PieceQuestion): Promise<LentAnswer> {
  const { path, bytes: size } = files[asked.file] as CopiedFile;
  const handle = await open(join(folder, path), 'r');
  const buffer = buffers.take();
  const sent = (): void => buffers.giveBack(buffer);
  try {
    const piece = buffer.subarray(SUM_BYTES, SUM_BYTES + Math.min(PIECE_BYTES, size - asked.from));
    await readWhole(handle, piece, asked.from);
    if (!asked.isSummed) return { bytes: piece, sent };
    buffer.writeUInt32LE(sumOf(asked, piece));
    return { bytes: buffer.subarray(0, SUM_BYTES + piece.length), sent };
  } catch (error) {
    sent();
    throw error;
  } finally {
    await handle.close();
  }
}

async function readWhole(handle: FileHandle, into: Buffer, from: number): Promise<void> {
  for (let at = 0; at < into.length; ) {
    const { bytesRead } = await handle.read(into, at, into.length - at, from + at);
    if (bytesRead === 0) throw new Error('a file of the copy is shorter than it was');
    at += bytesRead;
  }
}

/** No node gives a copy. */
export class NoCopy extends OperatorError {
  override readonly name: string = 'NoCopy';
}

/** A node has begun to give a copy, and does not go on with it. */
class GiverGone extends NoCopy {
  override readonly name = 'GiverGone';
}

interface TakerOptions {
  readonly stream: LogStream;
  /** The id of this node. */
  readonly node: string;
  /** The data directory, which no server uses yet. */
  readonly path: string;
  readonly shards: number;
  /** How long to look for a node that gives a copy. */
  readonly waitMs: number;
  readonly log: Log;
}

/**
 * Takes a copy from the node that has applied most, in the place of the data that is there. If that one does not go on with
 * it, another one is asked; if all give copies to others, they are waited for. Throws NoCopy if no node gives one.
 */
export async function takeCopy(options: TakerOptions): Promise<void> {
  const { stream, node, log } = options;
  const nodes = new NodeStates(node, stream.id);
  stream.onTold('state', (told) => nodes.hear(told as ToldState));
  const links = new NodeLinks({ node, addressOf: nodes.addressOf, log });
  try {
    await takeFromAny(links.ask, nodes, options);
  } finally {
    links.close();
  }
}

async function takeFromAny(ask: NodeAsk, nodes: NodeStates, options: TakerOptions): Promise<void> {
  const gone: string[] = [];
  for (;;) {
    const { giver, copy } = await begunCopy(ask, nodes, gone, options);
    try {
      return await takeFrom((question, take) => asked(ask, giver, question, take), giver, copy, options);
    } catch (error) {
      if (!(error instanceof GiverGone) || gone.push(giver) === GIVERS_MAX) throw error;
      options.log.warn({ reason: error.message }, 'a node is asked for a copy again');
    }
  }
}

/** Asks the giver, and takes its answer; asks again if that throws. */
type AskGiver = <T>(question: Question, take: (answer: Buffer) => T) => Promise<T>;

async function takeFrom(
  ask: AskGiver,
  giver: string,
  copy: string,
  { path, shards, log }: TakerOptions,
): Promise<void> {
  const folder = join(path, TAKEN);
  const startedAtMs = performance.now();
  log.info({ node: giver }, 'the data of another node is copied');
  const filesNow = (): Promise<CopiedFile[] | null> => ask({ ask: 'files', copy }, (answer) => packr.unpack(answer));
  let files: CopiedFile[] | null;
  while (!(files = await filesNow())) await sleep(LOOK_MS);
  rmSync(folder, { recursive: true, force: true });
  for (const [file, { path: name, bytes }] of files.entries())
    await takeFile(join(folder, safeName(name)), bytes, (from, length) => {
      const question: PieceQuestion = { ask: 'piece', copy, file, from, isSummed: true };
      return ask(question, (answer) => pieceIn(answer, question, length));
    });
  await ask({ ask: 'end', copy }, () => undefined).catch(() => undefined);
  writeFileSync(join(folder, WHOLE), '', { flush: true });
  syncDirectory(folder);
  putInPlace(path, shards);
  const megabytes = files.reduce((sum, { bytes }) => sum + bytes, 0) / 1e6;
  const seconds = (performance.now() - startedAtMs) / 1000;
  log.info({ megabytes: Math.round(megabytes), seconds: Number(seconds.toFixed(1)) }, 'the data has been copied');
}

/** The name of an environment and of its file; another node might send anything. */
function safeName(name: string): string {
  const environment = basename(dirname(name));
  return join(environment, basename(name));
}

async function asked<T>(ask: NodeAsk, node: string, question: Question, take: (answer: Buffer) => T): Promise<T> {
  const packed = packr.pack(question);
  for (let tries = 1; ; tries++) {
    try {
      return take(await ask('copy', node, packed, ASK_MS));
    } catch (error) {
      if (error instanceof NoCopy) throw error;
      if (tries === ASK_TRIES)
        throw new GiverGone(`the node ${node} does not go on with the copy of its data (${(error as Error).message})`);
      await sleep(AGAIN_MS);
    }
  }
}

/** Begins a copy on the node that has applied most, among those that take writes; on one that is `gone` only as the last. */
async function begunCopy(
  ask: NodeAsk,
  nodes: NodeStates,
  gone: readonly string[],
  { node: own, waitMs, log }: TakerOptions,
): Promise<{ giver: string; copy: string }> {
  let isWaiting = false;
  for (let untilMs = performance.now() + waitMs; performance.now() < untilMs; ) {
    await sleep(LISTEN_MS);
    const sinceMs = Date.now() - LISTEN_MS;
    const givers = nodes
      .all()
      .filter(({ node, fenced, heardAtMs }) => node !== own && fenced === null && heardAtMs >= sinceMs)
      .sort((a, b) => Number(gone.includes(a.node)) - Number(gone.includes(b.node)) || b.applied - a.applied);
    for (const { node: giver } of givers) {
      const question = packr.pack({ ask: 'make' } satisfies Question);
      const answer = await ask('copy', giver, question, ASK_MS).catch(() => null);
      const copy = answer && (packr.unpack(answer) as string | false | null);
      if (copy) return { giver, copy };
      if (copy !== false) continue;
      if (!isWaiting) log.info({ node: giver }, 'another node takes a copy of the data; this one waits for its turn');
      isWaiting = true;
      untilMs = performance.now() + waitMs;
    }
  }
  throw new NoCopy(
    'the log of the cluster does not have all that this node lacks, and no other node is there that gives a copy of its data: start one',
  );
}

/** The piece in an answer. Throws Error if it is not what was asked for, and NoCopy for a giver that sends none like it. */
function pieceIn(answer: Buffer, asked: PieceQuestion, bytes: number): Buffer {
  if (answer.length !== SUM_BYTES + bytes)
    throw new NoCopy('the node that gives the copy is of another version: update it first');
  const piece = answer.subarray(SUM_BYTES);
  if (answer.readUInt32LE() !== sumOf(asked, piece)) throw new Error('a piece of the copy does not match its checksum');
  return piece;
}

type AskPiece = (from: number, bytes: number) => Promise<Buffer>;

async function takeFile(path: string, bytes: number, ask: AskPiece): Promise<void> {
  mkdirSync(dirname(path), { recursive: true });
  const file = await open(path, 'w');
  try {
    let next = 0;
    const takePieces = async (): Promise<void> => {
      for (let from = next; from < bytes; from = next) {
        next = from + PIECE_BYTES;
        await writeWhole(file, await ask(from, Math.min(PIECE_BYTES, bytes - from)), from);
      }
    };
    await Promise.all(Array.from({ length: PIECES_UNDER_WAY }, takePieces));
    await file.sync();
  } finally {
    await file.close();
  }
  syncDirectory(dirname(path));
}

async function writeWhole(file: FileHandle, piece: Buffer, from: number): Promise<void> {
  for (let at = 0; at < piece.length; ) at += (await file.write(piece, at, piece.length - at, from + at)).bytesWritten;
}

/**
 * Puts a copy that has been taken whole in the place of the environments that are there, and goes on with that where it
 * was interrupted. The checkpoints are of other data, so they go first.
 */
export function putInPlace(path: string, shards: number): void {
  const folder = join(path, TAKEN);
  if (!existsSync(folder)) return;
  if (existsSync(join(folder, WHOLE))) {
    rmSync(join(path, CHECKPOINTS), { recursive: true, force: true });
    for (const name of [CATALOG, ...shardNames(shards)]) {
      if (!existsSync(join(folder, name))) continue;
      rmSync(join(path, name), { recursive: true, force: true });
      renameSync(join(folder, name), join(path, name));
    }
    syncDirectory(path);
  }
  rmSync(folder, { recursive: true });
}
