// The thread module of embed workers, which turn texts into vectors, and pairs of texts into scores. Messages come from
// src/pool/embed-pool.ts, several at a time.
import { workerData } from 'node:worker_threads';
import type { Result } from '../../src/api/errors.js';
import { sharedIn } from '../../src/base/bytes.js';
import { noteForLog, noteReady, yieldToSearches } from '../../src/base/thread.js';
import { loadModels } from '../../src/embedding/load.js';
import type { EmbedRequest, EmbedWorkerStart } from '../../src/embedding/messages.js';
import { resultOf } from '../result.js';
import { type Answer, answer } from './commands.js';

const start = workerData as EmbedWorkerStart;
// The priority is lowered before the models load, because the threads that they start inherit it.
if (start.role === 'documents') yieldToSearches();
const models = await loadModels(start, noteForLog);
noteReady();

export function run(request: EmbedRequest): Promise<Result<Answer>> {
  return resultOf(() => answer(models, request), movedIn);
}

/** The buffers to transfer. Large arrays of documents are put in shared memory instead. */
function movedIn(made: Answer): ArrayBuffer[] {
  if ('documents' in made) return sharedIn(made);
  return [('scores' in made ? made.scores : made.vectors).buffer as ArrayBuffer];
}
