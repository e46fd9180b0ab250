// Archive processes: one for each archive that is written or read, started when it is wanted, a few at a time; others
// wait in line. What a process tells is answered here as data, its faults are logged. Front thread; made by
// compose-context.ts, asked by the archive use cases.
import { Latch } from '../base/latch.js';
import type { Log } from '../base/log.js';
import type {
  ArchivedMoment,
  DocumentBatch,
  QueryBatch,
  ReadTask,
  VerifiedArchive,
  WriteTask,
} from '../contract/archive-messages.js';
import type { LeftOut } from '../contract/archived.js';
import { AppError } from '../contract/errors.js';
import { ArchiveProcess } from './archive-process.js';

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

  /** While it opens a store nothing is committed there: see src/store/README.md. */
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
