// One archive process, as the front thread talks with it: a task is given, notes are waited for in their order, bytes
// come by its standard output. It is ended by closing the line to it, which it watches, so that it can leave its
// snapshots. Made by archive-pool.ts.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Log } from '../base/log.js';
import { Signal } from '../base/signal.js';
import type { ArchiveNote, ArchiveOrder, ArchiveTask } from '../contract/archive-messages.js';
import { AppError } from '../contract/errors.js';
import { abandoned } from '../contract/errors.js';
import { WorkerFault } from './outcomes.js';

/** Of its heap: segments of a few megabytes, unless a single document is larger. */
const HEAP_MB = 1024;
/** A process that does not end by itself in so long is killed. */
const END_MS = 5000;

type Told = ArchiveNote['told'];
type Note<T extends Told> = Extract<ArchiveNote, { told: T }>;

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
    // What it has told comes before the end of the line.
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
