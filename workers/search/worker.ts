// The thread module of search workers. A search worker runs each search that the main thread sends
// (src/pool/search-pool.ts) completely, on the shared memories and stores of all shards. It owns no shard and writes to
// none, so searches do not wait for writes, and its death affects only the searches it was running. Any number of these
// threads can run concurrently.
import { workerData } from 'node:worker_threads';
import type { Result } from '../../src/api/errors.js';
import { threadCpuMs } from '../../src/base/native-threads.js';
import { endThread, noteReady } from '../../src/base/thread.js';
import { resultOf } from '../../src/engine/errors.js';
import { type CollectionCount, count } from '../../src/engine/search/count.js';
import type { Counted } from '../../src/engine/search/facets.js';
import type {
  CollectionSearch,
  MissingIndexes,
  SearchResult,
  SearchWorkerStart,
} from '../../src/engine/search/params.js';
import { search } from '../../src/engine/search/search.js';
import { ShardSet } from '../../src/engine/search/snapshot.js';
import type { SearchStep, StepAnswer } from '../../src/engine/search/step-messages.js';
import { takeStep } from '../../src/engine/search/steps.js';

type Asked = CollectionSearch | CollectionCount | SearchStep;
type Answered = SearchResult | Counted | StepAnswer | MissingIndexes[];

const shards = new ShardSet(workerData as SearchWorkerStart);
noteReady();

/** Runs the searches of one message; the results are in their order. A failed assertion ends this thread. */
export function run(searches: readonly Asked[]): Result<Answered>[] | Promise<never> {
  try {
    const results = searches.map(attempt);
    shards.tellCounts();
    return results;
  } catch (error) {
    return endThread(error);
  }
}

function stepTaken(step: SearchStep): StepAnswer | MissingIndexes[] {
  const nowMs = step.step === 'hydrate' ? (): number => performance.now() : threadCpuMs;
  const startedAtMs = nowMs();
  const answer = takeStep(shards, step);
  if (!Array.isArray(answer)) answer.costMs = nowMs() - startedAtMs;
  return answer;
}

function attempt(asked: Asked): Result<Answered> {
  try {
    if ('step' in asked) return { value: stepTaken(asked) };
    if ('facets' in asked) return { value: count(shards, asked) };
    const startedAtMs = threadCpuMs();
    const value = search(shards, asked);
    if (!Array.isArray(value)) value.cpuMs = threadCpuMs() - startedAtMs;
    return { value };
  } catch (error) {
    return resultOf(error, asked.collection.id);
  }
}
