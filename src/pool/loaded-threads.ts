// Which threads of a pool have loaded their program. A thread that is ended while it loads takes the whole process with
// it: Node 20 asserts that a module which `require` links is linked, and the end of the thread leaves it half linked.
// So a pool is ended when its threads have loaded. Each worker tells of itself, as the last thing it does while it
// loads. Front thread.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Piscina } from 'piscina';
import type { LoadedNote } from '../base/log.js';
import { endThreadsOfUnreadableAnswers } from './unreadable-answers.js';

const RECHECK_MS = 5;
/** Loading takes a second at most; a thread that hangs does not keep the server from stopping. */
const WAIT_MAX_MS = 10_000;

export class LoadedThreads {
  private readonly ids = new Set<number>();

  constructor(private readonly piscina: Piscina) {
    endThreadsOfUnreadableAnswers(piscina);
    piscina.on('message', (message: Partial<LoadedNote>) => {
      if (message.loaded !== undefined) this.ids.add(message.loaded);
    });
  }

  /** Resolves when every thread that the pool has now has loaded. */
  async whenAll(): Promise<void> {
    const untilMs = performance.now() + WAIT_MAX_MS;
    while (
      performance.now() < untilMs &&
      this.piscina.threads.some(({ threadId }) => threadId > 0 && !this.ids.has(threadId))
    )
      await sleep(RECHECK_MS);
  }

  /** Ends the threads. */
  async end(): Promise<void> {
    await this.whenAll();
    await this.piscina.destroy();
  }
}
