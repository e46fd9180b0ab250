// An embed worker: turns texts into vectors, and pairs of texts into scores. Asked by src/pool/embed-pool.ts, many
// messages at a time. Errors go back as data: refusals for the client, faults for the log.
import { parentPort, threadId } from 'node:worker_threads';
import { move, Piscina, workerData } from 'piscina';
import { sharedIn } from '../../src/base/bytes.js';
import { faultOf, yieldToSearches } from '../../src/base/thread.js';
import type {
  EmbeddedDocuments,
  EmbedRequest,
  EmbedWorkerStart,
  QueryVectors,
  RerankScores,
} from '../../src/embedding/messages.js';
import { AppError, type Outcome } from '../../src/api/errors.js';
import type { LogNote } from '../../src/base/log.js';
import type { LoadedNote } from '../../src/base/log.js';
import { embedDocuments } from './commands.js';
import { loadRunners } from '../../src/embedding/load.js';

type Answer = QueryVectors | EmbeddedDocuments | RerankScores;

const start = workerData as EmbedWorkerStart;
// Before the models load: the threads that they start inherit the priority.
if (start.role === 'documents') yieldToSearches();
const { embedders, rerankers } = await loadRunners(start, (level, fields, message) =>
  parentPort?.postMessage({ level, fields, message } satisfies LogNote),
);
parentPort?.postMessage({ loaded: threadId } satisfies LoadedNote);

export async function run(request: EmbedRequest): Promise<Outcome<Answer>> {
  try {
    return moved(await answer(request));
  } catch (error) {
    if (error instanceof AppError) return { error: error.toWire() };
    return { fault: faultOf(error) };
  }
}

async function answer(request: EmbedRequest): Promise<Answer> {
  switch (request.kind) {
    case 'queries': {
      const { vectors, failures } = await known(embedders, request.embedder).embed(
        request.texts,
        'query',
        () => false,
        request.traceparent,
      );
      for (const failure of failures?.values() ?? []) throw failure;
      return { vectors };
    }
    case 'documents':
      return embedDocuments(known(embedders, request.embedder), request);
    case 'rerank':
      return {
        scores: await known(rerankers, request.reranker).score(request.query, request.texts, request.traceparent),
      };
  }
}

function known<T>(runners: ReadonlyMap<string, T>, key: string): T {
  const runner = runners.get(key);
  if (!runner) throw new Error(`this worker does not run ${key}`);
  return runner;
}

/** The answer, its vectors and bytes moved to the front thread, or shared with it, instead of copied. */
function moved(answer: Answer): Outcome<Answer> {
  const buffers = 'documents' in answer ? sharedIn(answer) : buffersOf(answer);
  return move({
    [Piscina.transferableSymbol]: buffers,
    [Piscina.valueSymbol]: { value: answer },
  } as never) as unknown as Outcome<Answer>;
}

function buffersOf(answer: QueryVectors | RerankScores): ArrayBuffer[] {
  const { buffer } = 'scores' in answer ? answer.scores : answer.vectors;
  return [buffer as ArrayBuffer];
}
