// A search worker: runs the searches that the front thread sends it (src/pool/search-pool.ts), each as a whole, over
// the shared memories and the stores of all shards. It owns nothing and writes nothing, so no search waits for a write,
// and its death harms nobody but the searches that it had. Any number of these threads work side by side.
import { parentPort, threadId, workerData } from 'node:worker_threads';
import { endThread } from '../../src/base/thread.js';
import type { LoadedNote } from '../../src/base/log.js';
import type { Outcome } from '../../src/api/errors.js';
import type { SearchAnswer, SearchTask, SearchWorkerStart } from '../../src/engine/search/params.js';
import { outcomeOf } from '../../src/engine/errors.js';
import { search } from '../../src/engine/search/search.js';
import { ShardSet } from '../../src/engine/search/snapshot.js';

const shards = new ShardSet(workerData as SearchWorkerStart);
parentPort?.postMessage({ loaded: threadId } satisfies LoadedNote);

/**
 * Runs the searches of one message; the outcomes stand in their order. A broken assertion ends this thread, and the
 * message with it.
 */
export function run(tasks: readonly SearchTask[]): Outcome<SearchAnswer>[] | Promise<never> {
  try {
    const outcomes = tasks.map(attempt);
    shards.tellCounts();
    return outcomes;
  } catch (error) {
    return endThread(error);
  }
}

function attempt(task: SearchTask): Outcome<SearchAnswer> {
  try {
    return { value: search(shards, task) };
  } catch (error) {
    return outcomeOf(error, task.search.collection.id);
  }
}
