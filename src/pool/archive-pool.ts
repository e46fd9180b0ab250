// Archive processes: one for each archive that is written or read, started on demand, a few at a time; further requests
// wait in a queue. Messages of a process are returned as data, and its internal errors are logged. Runs on the main
// thread.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { LeftOut } from '../api/archives.js';
import { AppError, abandoned } from '../api/errors.js';
import type { CollectionId } from '../api/ids.js';
import type {
  ArchiveNote,
  ArchiveOrder,
  ArchiveTask,
  ArchivedMoment,
  QueryBatch,
  ReadTask,
  VerifiedArchive,
  WriteTask,
} from '../archive/messages.js';
import type { Log } from '../base/log.js';
import { ReadGate } from '../base/read-gate.js';
import { Signal } from '../base/signals.js';
import { WorkerError } from '../base/rpc.js';
import type { FoundQuery } from '../storage/query-log-commands.js';

/** Heap limit of a process. It handles segments of a few megabytes, unless a single document is larger. */
const HEAP_MB = 1024;
/** A process that has not ended by itself after this time is killed. */
const END_MS = 5000;

/** Each piece of an output becomes a message to another thread, so few large ones take less CPU than many small ones. */
const PIECE_BYTES = 512 * 1024;

/** Whether more has arrived already, or arrives within a turn of the event loop. */
async function hasMore(stream: Readable | null): Promise<boolean> {
  if (stream?.readableLength === 0) await nextTurn();
  return (stream?.readableLength ?? 0) > 0;
}

type ArchiveEvent = ArchiveNote['event'];
type Note<T extends ArchiveEvent> = Extract<ArchiveNote, { event: T }>;

/**
 * One archive process. It gets a task, its notes are read in order, and bytes arrive on its standard output. Closing
 * the channel ends the process, which detects that and closes its snapshots.
 */
export class ArchiveProcess {
  private readonly child: ChildProcess;
  private readonly notes: ArchiveNote[] = [];
  private readonly changed = new Signal();
  private readonly ended: Promise<unknown>;
  private hasEnded = false;
  private isStopped = false;

  constructor(
    private readonly log: Log,
    signal: AbortSignal,
  ) {
    const program = fileURLToPath(new URL('../../workers/archive/main.js', import.meta.url));
    this.child = fork(program, {
      serialization: 'advanced',
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      execArgv: [`--max-old-space-size=${HEAP_MB}`],
    });
    // Node discards what nobody listens for when a process ends, which a small archive's does before it is read.
    this.child.stdout?.on('readable', () => undefined);
    this.child.on('message', (note) => this.heard(note as ArchiveNote));
    this.child.on('error', (error) => this.heard({ event: 'failed', problem: String(error) }));
    // The notes arrive before the channel is closed.
    this.ended = Promise.all([once(this.child, 'exit'), once(this.child, 'disconnect')]).finally(() => {
      this.hasEnded = true;
      this.changed.send();
    });
    this.ended.catch(() => undefined);
    signal.addEventListener('abort', () => void this.stop(), { once: true });
  }

  /** Whether the process has ended or has been told to end. */
  get isOver(): boolean {
    return this.hasEnded || this.isStopped;
  }

  give(message: ArchiveTask | ArchiveOrder): void {
    if (this.child.connected) this.child.send(message);
  }

  /**
   * Returns the next note, which must be of one of these types. Rejects with AppError if the process reports a client
   * error, and with WorkerError if it fails or ends early.
   */
  async note<T extends ArchiveEvent>(...told: T[]): Promise<Note<T>> {
    return (await this.next(told)) as Note<T>;
  }

  /**
   * Yields the documents or logged searches of a collection in batches. The next batch is requested before the current
   * one is processed.
   */
  async *hand<B>(order: Extract<ArchiveOrder, { order: 'hand' }>): AsyncGenerator<B> {
    this.give(order);
    for (;;) {
      const note = await this.next([order.what, 'handed']);
      if (!('batch' in note)) return;
      this.give({ order: 'more' });
      yield note.batch as B;
    }
  }

  /** What the process writes, in pieces of about `PIECE_BYTES` where the reader is the slower one. */
  async *output(): AsyncGenerator<Uint8Array> {
    const { stdout } = this.child;
    try {
      let pieces: Uint8Array[] = [];
      let bytes = 0;
      for await (const piece of (stdout ?? []) as AsyncIterable<Uint8Array>) {
        pieces.push(piece);
        bytes += piece.length;
        if (bytes < PIECE_BYTES && (await hasMore(stdout))) continue;
        yield pieces.length === 1 ? piece : Buffer.concat(pieces, bytes);
        pieces = [];
        bytes = 0;
      }
      if (bytes > 0) yield Buffer.concat(pieces, bytes);
    } catch (error) {
      throw this.isStopped ? abandoned() : error;
    }
  }

  /** Resolves when the process has ended. */
  async stop(): Promise<void> {
    this.isStopped = true;
    this.child.stdout?.destroy();
    if (this.child.connected) this.child.disconnect();
    const killing = setTimeout(() => this.child.kill('SIGKILL'), END_MS);
    await this.ended.catch(() => undefined);
    clearTimeout(killing);
  }

  private heard(note: ArchiveNote): void {
    this.notes.push(note);
    this.changed.send();
  }

  private async next(wanted: readonly ArchiveEvent[]): Promise<ArchiveNote> {
    while (this.notes.length === 0 && !this.hasEnded) await this.changed.next();
    const note = this.notes.shift() ?? { event: 'failed', problem: 'an archive process ended too early' };
    if (wanted.includes(note.event)) return note;
    // The client has disconnected, or the server is stopping.
    if (this.isStopped) throw abandoned();
    if (note.event === 'refused') throw AppError.fromWire(note.error);
    this.log.error(
      { error: note.event === 'failed' ? note.problem : `unexpected: ${note.event}` },
      'an archive process failed',
    );
    throw new WorkerError('an archive process failed');
  }
}

const WAITING_MAX = 64;

/** An archive that is being written. `bytes` ends with an error if the archive is incomplete. */
export interface BegunArchive {
  leftOut: LeftOut[];
  bytes: AsyncIterable<Uint8Array>;
}

type DocumentBatch = Extract<ArchiveNote, { event: 'documents' }>['batch'];

/** An archive that has been verified. */
export interface OpenedArchive {
  archive: VerifiedArchive;
  /**
   * Documents and logged searches of the collection at index `place`, in batches; the documents in groups for `spread`
   * shards.
   */
  documents(place: number, spread: number): AsyncGenerator<DocumentBatch>;
  queries(place: number): AsyncGenerator<QueryBatch>;
}

/** Logged searches of other nodes, oldest first, newer than `after` if given; none if there are no more. */
type FindElsewhere = (logId: CollectionId, after: string | undefined) => Promise<FoundQuery[]>;

/** Gives a process that writes an archive what it asks for. Resolves to the number of bytes that it has written. */
async function answerUntilDone(process: ArchiveProcess, elsewhere: FindElsewhere): Promise<number> {
  for (;;) {
    const note = await process.note('elsewhere', 'done');
    if (note.event === 'done') return note.bytes;
    const queries = await elsewhere(note.logId, note.after).catch(async (error: unknown) => {
      await process.stop();
      throw error;
    });
    process.give({ order: 'queries', queries });
  }
}

export class ArchivePool {
  private readonly processes = new Set<ArchiveProcess>();
  private readonly waiting: (() => void)[] = [];
  private places: number;
  private hasClosed = false;

  constructor(
    readonly directory: string,
    /** One read gate per store: see SharedShards. */
    private readonly readGates: SharedArrayBuffer,
    private readonly log: Log,
    processesMax: number,
  ) {
    this.places = processesMax;
  }

  /**
   * Writes an archive. `shared` blocks writes while it runs the function that it gets, which takes the snapshots as of
   * the given moment. Rejects with AppError. The slot of the process is free when the bytes have been read or the
   * reader has stopped. `elsewhere` finds logged searches of other nodes. `signal` cancels the archive.
   */
  async write(
    task: WriteTask,
    hold: (take: (moment: ArchivedMoment) => Promise<void>) => Promise<void>,
    elsewhere: FindElsewhere,
    signal: AbortSignal,
  ): Promise<BegunArchive> {
    const process = await this.start(signal);
    try {
      process.give(task);
      for (let stores = task.shards + task.logStores; stores > 0; stores--) await this.openNext(process);
      await process.note('ready');
      await hold(async (moment) => {
        process.give({ order: 'snap', moment });
        await process.note('opened');
      });
      const { leftOut } = await process.note('begun');
      return { leftOut, bytes: this.read(process, elsewhere) };
    } catch (error) {
      this.end(process);
      throw error;
    }
  }

  /**
   * Verifies an archive and runs `work`, which may read its contents. Rejects with AppError, and with the errors of
   * `work`.
   */
  async open<T>(task: ReadTask, signal: AbortSignal, work: (opened: OpenedArchive) => Promise<T>): Promise<T> {
    const process = await this.start(signal);
    try {
      process.give(task);
      const { archive } = await process.note('verified');
      return await work({
        archive,
        documents: (place, spread) => process.hand<DocumentBatch>({ order: 'hand', place, what: 'documents', spread }),
        queries: (place) => process.hand<QueryBatch>({ order: 'hand', place, what: 'queries' }),
      });
    } finally {
      this.end(process);
    }
  }

  /** Stops all processes. */
  async close(): Promise<void> {
    this.hasClosed = true;
    for (const begin of this.waiting.splice(0)) begin();
    await Promise.all([...this.processes].map((process) => process.stop()));
  }

  /** While the process opens a store, nothing may be committed to it: see docs/internals/lmdb.md. */
  private async openNext(process: ArchiveProcess): Promise<void> {
    const { place } = await process.note('opens');
    const open = async (): Promise<void> => {
      process.give({ order: 'open' });
      await process.note('open');
    };
    await ReadGate.at(this.readGates, place).shared(open, () => !process.isOver);
  }

  private async *read(process: ArchiveProcess, elsewhere: FindElsewhere): AsyncGenerator<Uint8Array> {
    const done = answerUntilDone(process, elsewhere);
    done.catch(() => undefined);
    let readBytes = 0;
    try {
      for await (const piece of process.output()) {
        readBytes += piece.length;
        yield piece;
      }
      const writtenBytes = await done;
      if (readBytes !== writtenBytes)
        throw new Error(`an archive of ${writtenBytes} bytes has arrived as ${readBytes}`);
    } finally {
      this.end(process);
    }
  }

  private async start(signal: AbortSignal): Promise<ArchiveProcess> {
    if (this.waiting.length >= WAITING_MAX) throw new AppError('overloaded', undefined, { retryAfterS: 10 });
    if (this.places === 0) await new Promise<void>((begin) => this.waiting.push(begin));
    else this.places--;
    if (this.hasClosed || signal.aborted) {
      this.free();
      throw new AppError('shutting_down', undefined, { retryAfterS: 1 });
    }
    const process = new ArchiveProcess(this.log, signal);
    this.processes.add(process);
    return process;
  }

  private end(process: ArchiveProcess): void {
    if (!this.processes.delete(process)) return;
    void process.stop();
    this.free();
  }

  /** Passes the slot on to the next waiting request. */
  private free(): void {
    const begin = this.waiting.shift();
    if (begin) begin();
    else this.places++;
  }
}
