// The stress test: a series of owners on the same memory, with readers throughout. Owners end or are killed at any
// point, and so are readers; both are replaced.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { createPrng, type Prng } from '../../src/base/prng.js';
import { DAMAGED_AT } from '../../src/engine/memory/layout.js';
import { clearReader } from '../../src/engine/memory/ownership.js';
import type { OwnerStart } from './owner.js';
import { createShared, PUTS, SEARCHES, STOP, STOP_READERS, World } from './world.js';

export interface StressOptions {
  seed: number;
  readers: number;
  forMs: number;
  roundMs: number;
}

export interface StressReport {
  owners: number;
  killedOwners: number;
  killedReaders: number;
  /** Owners that ended because memory was permanently full or a reader had died within the allocator. */
  endedOwners: string[];
  puts: number;
  searches: number;
  faults: string[];
}

/** Memory sizes in pages: one that fills up now and then, and one that grows. */
const PAGES = [160, 4096];
const EXPECTED = /no reader died|memory of the shard is full/;

class StressRun {
  readonly report: StressReport = {
    owners: 0,
    killedOwners: 0,
    killedReaders: 0,
    endedOwners: [],
    puts: 0,
    searches: 0,
    faults: [],
  };
  private readonly world = new World(createShared());
  private readonly prng: Prng;
  private readonly start: Omit<OwnerStart, 'seed'>;
  private readonly readers: Worker[] = [];

  constructor(private readonly options: StressOptions) {
    this.prng = createPrng(options.seed);
    const module = new WebAssembly.Module(readFileSync(new URL('../../src/engine/kernel.wasm', import.meta.url)));
    const memory = new WebAssembly.Memory({
      initial: 1,
      maximum: PAGES[options.seed % PAGES.length] as number,
      shared: true,
    });
    this.start = { module, memory, shared: this.world.shared };
  }

  async run(): Promise<StressReport> {
    const until = performance.now() + this.options.forMs;
    for (let i = 0; i < this.options.readers; i++) this.readers.push(this.startReader());
    while (performance.now() < until && this.report.faults.length < 20) await this.round(until);
    this.world.set(STOP_READERS, 1);
    await Promise.all(this.readers.map(exitOf));
    this.report.searches = this.world.get(SEARCHES);
    return this.report;
  }

  private startReader(): Worker {
    const reader = this.startThread(new URL('./reader.js', import.meta.url));
    reader.on('message', ({ faults }: { faults?: string[] }) => this.report.faults.push(...(faults ?? [])));
    reader.on('error', (error: Error) => this.report.faults.push(`a reader died: ${error.stack}`));
    return reader;
  }

  private startThread(file: URL): Worker {
    return new Worker(file, { workerData: { ...this.start, seed: this.prng.int(2 ** 31) } satisfies OwnerStart });
  }

  /** Runs one owner, from its start to its end. */
  private async round(until: number): Promise<void> {
    this.world.set(STOP, 0);
    const owner = this.startThread(new URL('./owner.js', import.meta.url));
    let end: string | undefined;
    owner.on('error', (error: Error) => (end = error.stack ?? error.message));
    const ended = exitOf(owner);
    this.report.owners++;
    if (this.report.owners === 1) await this.begun(ended);
    const roundEnd = Math.min(until, performance.now() + this.options.roundMs);
    while (performance.now() < roundEnd) {
      const isOver = await Promise.race([
        ended,
        sleep(Math.min(this.prng.int(1000), roundEnd - performance.now()), false),
      ]);
      if (isOver) break;
      if (this.prng.int(2) === 0) await this.killReader();
    }
    if (this.prng.int(2) === 0) {
      this.report.killedOwners++;
      await owner.terminate();
    } else this.world.set(STOP, 1);
    await ended;
    this.report.puts += this.world.get(PUTS);
    if (end && EXPECTED.test(end)) this.report.endedOwners.push(end.split('\n')[0] as string);
    else if (end) this.report.faults.push(`an owner died: ${end}`);
  }

  /**
   * Waits until there has been a put and a search before the first owner's time begins, however slow the machine is.
   */
  private async begun(ended: Promise<boolean>): Promise<void> {
    const hasBegun = (): boolean => this.world.get(PUTS) > 0 && this.world.get(SEARCHES) > 0;
    while (!hasBegun() && !(await Promise.race([ended, sleep(5, false)])));
  }

  private async killReader(): Promise<void> {
    const place = this.prng.int(this.readers.length);
    const reader = this.readers[place] as Worker;
    const { threadId } = reader;
    await reader.terminate();
    clearReader(this.start.memory, threadId);
    // As if the reader had died while it changed the arena, which by itself happens too rarely to be tested.
    if (this.prng.int(20) === 0) Atomics.store(new Int32Array(this.start.memory.buffer), DAMAGED_AT >> 2, 1);
    this.report.killedReaders++;
    this.readers[place] = this.startReader();
  }
}

/** Waits for the end of a thread, also of one that dies of an error (`once` would reject then). */
const exitOf = (thread: Worker): Promise<true> =>
  new Promise((resolve) => void thread.once('exit', () => resolve(true)));

export const runStress = (options: StressOptions): Promise<StressReport> => new StressRun(options).run();
