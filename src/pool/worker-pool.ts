// Threads under Piscina that start with their first task, or when their owner says so: a start of the server spends
// nothing on what nobody has asked for. All of them start together, and from then on they are replaced when they die.
// Used by the pools whose work readiness does not wait for; front thread.
import type { Worker } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { assert } from '../base/assert.js';
import { LoadedThreads } from './loaded-threads.js';
import type { PiscinaOptions } from './worker-options.js';

export class LateThreads {
  private begun: { piscina: Piscina; loaded: LoadedThreads } | undefined;
  private hasEnded = false;

  /** `watch`: given the threads when they have begun. */
  constructor(
    private readonly options: PiscinaOptions,
    private readonly watch: (piscina: Piscina) => void,
  ) {}

  /** None before they have begun. */
  get threads(): Worker[] {
    return this.begun?.piscina.threads ?? [];
  }

  begin(): Piscina {
    assert(!this.hasEnded, 'threads that have ended are asked for nothing');
    if (!this.begun) {
      const piscina = new Piscina(this.options);
      this.begun = { piscina, loaded: new LoadedThreads(piscina) };
      this.watch(piscina);
    }
    return this.begun.piscina;
  }

  /** Rejects once they have ended, as where a thread dies: whoever asks has that to meet anyway. */
  async run(...task: Parameters<Piscina['run']>): Promise<unknown> {
    return this.begin().run(...task);
  }

  /** Ends them, as a crash would: for tests. */
  async kill(): Promise<void> {
    await this.begun?.loaded.whenAll();
    await Promise.all(this.threads.map((thread) => thread.terminate()));
  }

  async end(): Promise<void> {
    this.hasEnded = true;
    await this.begun?.loaded.end();
  }
}
