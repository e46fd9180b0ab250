// Archive processes: one for each archive that is written or read, started when it is wanted, a few at a time; others
// wait in line. Notes of a process are answered here as data, its internal errors are logged. Front thread.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { LeftOut } from '../api/archives.js';
import { AppError, abandoned } from '../api/errors.js';
import type {
  ArchiveNote,
  ArchiveOrder,
  ArchiveTask,
  ArchivedMoment,
  DocumentBatch,
  QueryBatch,
  ReadTask,
  VerifiedArchive,
  WriteTask,
} from '../archive/messages.js';
import type { Log } from '../base/log.js';
import { Latch } from '../base/read-gate.js';
import { Signal } from '../base/signals.js';
import { WorkerFault } from './worker-pool.js';

/** Of its heap: segments of a few megabytes, unless a single document is larger. */
const HEAP_MB = 1024;
/** A process that does not end by itself in so long is killed. */
const END_MS = 5000;

type Told = ArchiveNote['told'];
type Note<T extends Told> = Extract<ArchiveNote, { told: T }>;

/**
 * One archive process: a task is given, notes are waited for in their order, bytes come by its standard output. It ends
 * when its channel is closed, which it watches, so that it can leave its snapshots.
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
    this.child.on('message', (note) => this.heard(note as ArchiveNote));
    this.child.on('error', (error) => this.heard({ told: 'failed', fault: String(error) }));
    // Its notes come before the end of the channel.
    this.ended = Promise.all([once(this.child, 'exit'), once(this.child, 'disconnect')]).finally(() => {
      this.hasEnded = true;
      this.changed.send();
    });
    this.ended.catch(() => undefined);
    signal.addEventListener('abort', () => void this.stop(), { once: true });
  }

  /** It has ended or is about to. */
  get isOver(): boolean {
    return this.hasEnded || this.isStopped;
  }

  give(message: ArchiveTask | ArchiveOrder): void {
    if (this.child.connected) this.child.send(message);
  }

  /**
   * The next note, which has to be this one. Rejects with AppError where it refuses, WorkerFault where it fails or ends
   * without it.
   */
  async note<T extends Told>(told: T): Promise<Note<T>> {
    return (await this.next([told])) as Note<T>;
  }

  /** What a collection has of something. The next batch is on its way while one is looked at. */
  async *hand<B>(place: number, what: 'documents' | 'queries'): AsyncGenerator<B> {
    this.give({ order: 'hand', place, what });
    for (;;) {
      const note = await this.next([what, 'handed']);
      if (!('batch' in note)) return;
      this.give({ order: 'more' });
      yield note.batch as B;
    }
  }

  async *output(): AsyncGenerator<Uint8Array> {
    try {
      if (this.child.stdout) yield* this.child.stdout as AsyncIterable<Uint8Array>;
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

  private async next(wanted: readonly Told[]): Promise<ArchiveNote> {
    while (this.notes.length === 0 && !this.hasEnded) await this.changed.next();
    const note = this.notes.shift() ?? { told: 'failed', fault: 'an archive process ended too early' };
    if (wanted.includes(note.told)) return note;
    // Whoever waited for the archive has gone, or the server stops.
    if (this.isStopped) throw abandoned();
    if (note.told === 'refused') throw AppError.fromWire(note.error);
    this.log.error(
      { fault: note.told === 'failed' ? note.fault : `unexpected: ${note.told}` },
      'an archive process failed',
    );
    throw new WorkerFault('an archive process failed');
  }
}

const PROCESSES_MAX = 4;
const WAITING_MAX = 64;

/** An archive that is being written. Its bytes end with an error where it could not be written to its end. */
export interface BegunArchive {
  leftOut: LeftOut[];
  bytes: AsyncIterable<Uint8Array>;
}

/** An archive that has been verified. */
export interface OpenedArchive {
  archive: VerifiedArchive;
  /** What the collection at a place has, a batch at a time. */
  documents(place: number): AsyncGenerator<DocumentBatch>;
  queries(place: number): AsyncGenerator<QueryBatch>;
}

export class ArchivePool {
  private readonly processes = new Set<ArchiveProcess>();
  private readonly waiting: (() => void)[] = [];
  private places = PROCESSES_MAX;
  private hasClosed = false;

  constructor(
    readonly directory: string,
    /** Of the stores: see SharedShards. */
    private readonly latches: SharedArrayBuffer,
    private readonly log: Log,
  ) {}

  /**
   * Writes an archive. `hold` keeps writes back while the function that it is given takes the snapshots, of what is
   * said to be there now. Rejects with AppError. Its place is free when its bytes have been read or given up; `signal`:
   * nobody wants them any more.
   */
  async write(
    task: WriteTask,
    hold: (take: (moment: ArchivedMoment) => Promise<void>) => Promise<void>,
    signal: AbortSignal,
  ): Promise<BegunArchive> {
    const process = await this.start(signal);
    try {
      process.give(task);
      for (let stores = task.shards + 1; stores > 0; stores--) await this.openNext(process);
      await process.note('ready');
      await hold(async (moment) => {
        process.give({ order: 'snap', moment });
        await process.note('opened');
      });
      const { leftOut } = await process.note('begun');
      return { leftOut, bytes: this.read(process) };
    } catch (error) {
      this.end(process);
      throw error;
    }
  }

  /**
   * Verifies an archive and runs `work` on it, which may ask for its contents. Rejects with AppError, and what `work`
   * rejects with.
   */
  async open<T>(task: ReadTask, signal: AbortSignal, work: (opened: OpenedArchive) => Promise<T>): Promise<T> {
    const process = await this.start(signal);
    try {
      process.give(task);
      const { archive } = await process.note('verified');
      return await work({
        archive,
        documents: (place) => process.hand<DocumentBatch>(place, 'documents'),
        queries: (place) => process.hand<QueryBatch>(place, 'queries'),
      });
    } finally {
      this.end(process);
    }
  }

  /** Ends what is under way. */
  async close(): Promise<void> {
    this.hasClosed = true;
    for (const begin of this.waiting.splice(0)) begin();
    await Promise.all([...this.processes].map((process) => process.stop()));
  }

  /** While it opens a store nothing is committed there: see docs/internals/lmdb.md. */
  private async openNext(process: ArchiveProcess): Promise<void> {
    const { place } = await process.note('opens');
    const open = async (): Promise<void> => {
      process.give({ order: 'open' });
      await process.note('open');
    };
    await Latch.at(this.latches, place).hold(open, () => !process.isOver);
  }

  private async *read(process: ArchiveProcess): AsyncGenerator<Uint8Array> {
    try {
      yield* process.output();
      await process.note('done');
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

  /** The place goes to the next in line. */
  private free(): void {
    const begin = this.waiting.shift();
    if (begin) begin();
    else this.places++;
  }
}
