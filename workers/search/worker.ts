// A search worker runs the searches that the front thread sends (src/pool/search-pool.ts), each as a whole, over the
// shared memories and the stores of all shards. It owns nothing and writes nothing, so no search waits for a write, and
// its death harms nobody but the searches that it had. Any number of these threads work side by side.
import { workerData } from 'node:worker_threads';
import type { Outcome } from '../../src/api/errors.js';
import { endThread, noteLoaded } from '../../src/base/thread.js';
import { outcomeOf } from '../../src/engine/errors.js';
import type { CollectionSearch, SearchResult, SearchWorkerStart } from '../../src/engine/search/params.js';
import { search } from '../../src/engine/search/search.js';
import { ShardSet } from '../../src/engine/search/snapshot.js';

const shards = new ShardSet(workerData as SearchWorkerStart);
noteLoaded();

/** Runs the searches of one message; the results stand in their order. A broken assertion ends this thread. */
export function run(searches: readonly CollectionSearch[]): Outcome<SearchResult>[] | Promise<never> {
  try {
    const outcomes = searches.map(attempt);
    shards.tellCounts();
    return outcomes;
  } catch (error) {
    return endThread(error);
  }
}

function attempt(asked: CollectionSearch): Outcome<SearchResult> {
  try {
    return { value: search(shards, asked) };
  } catch (error) {
    return outcomeOf(error, asked.collection.id);
  }
}
