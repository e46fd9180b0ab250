// Which program runs which kind of embedder and reranker. Called by worker.ts when it starts.
// Embed worker only.
import type { EmbedderSpec } from '../../src/contract/embedder.js';
import type { EmbedWorkerStart } from '../../src/contract/embed-messages.js';
import { createBuiltinRunner } from './builtin/builtin-runner.js';
import type { Reranker, Runner } from './runner.js';

export interface Runners {
  embedders: ReadonlyMap<string, Runner>;
  rerankers: ReadonlyMap<string, Reranker>;
}

/** Loads every model of the worker's role. Throws where one cannot be loaded. */
export async function loadRunners(start: EmbedWorkerStart): Promise<Runners> {
  const embedders = new Map<string, Runner>();
  for (const spec of start.embedders) embedders.set(spec.key, await loadEmbedder(spec));
  return { embedders, rerankers: new Map() };
}

async function loadEmbedder(spec: EmbedderSpec): Promise<Runner> {
  switch (spec.type) {
    case 'builtin':
      return createBuiltinRunner();
    default:
      throw new Error(`there is no runner for embedders of type ${spec.type}`);
  }
}
