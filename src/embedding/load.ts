// Which program runs which kind of embedder and reranker. Each is imported where it is configured: the model runtime
// alone takes longer to load than all the rest. Called by worker.ts when it starts.
// Embed worker only.
import type { EmbedderSpec, RerankerSpec } from './embedder-spec.js';
import type { EmbedWorkerStart } from './messages.js';
import { EndpointMeter } from '../base/meters.js';
import { AppError } from '../api/errors.js';
import { createBuiltinRunner } from './builtin/embedder.js';
import type { Reranker, Runner, Tell } from './runner.js';

export interface Runners {
  embedders: ReadonlyMap<string, Runner>;
  rerankers: ReadonlyMap<string, Reranker>;
}

/**
 * Loads every model of the worker's role. One that cannot be loaded is told to the log, and refuses whatever it is
 * asked.
 */
export async function loadRunners(start: EmbedWorkerStart, tell: Tell): Promise<Runners> {
  const embedders = new Map<string, Runner>();
  for (const [place, spec] of start.embedders.entries())
    embedders.set(
      spec.key,
      await loadEmbedder(spec, start, EndpointMeter.over(start.meters, place), tell).catch((error: Error) =>
        brokenRunner(spec, error, tell),
      ),
    );
  const rerankers = new Map<string, Reranker>();
  const behind = start.embedders.length;
  for (const [place, spec] of start.rerankers.entries())
    rerankers.set(
      spec.key,
      await loadReranker(spec, start, EndpointMeter.over(start.meters, behind + place), tell).catch((error: Error) =>
        brokenReranker(spec, error, tell),
      ),
    );
  return { embedders, rerankers };
}

async function loadEmbedder(
  spec: EmbedderSpec,
  { modelThreads }: EmbedWorkerStart,
  meter: EndpointMeter,
  tell: Tell,
): Promise<Runner> {
  switch (spec.type) {
    case 'builtin':
      return createBuiltinRunner();
    case 'onnx': {
      const { createOnnxRunner } = await import('./onnx/embedder.js');
      return createOnnxRunner(spec.model, modelThreads, (fault) =>
        tell('error', { embedder: spec.key, fault }, 'a model failed'),
      );
    }
    case 'openai': {
      const { createOpenAiRunner } = await import('./openai/embedder.js');
      return createOpenAiRunner(spec.key, spec.endpoint, (fields, message) => tell('warn', fields, message), meter);
    }
  }
}

/** A thread that dies of it would be replaced, and die again. */
function brokenRunner({ key }: EmbedderSpec, error: Error, tell: Tell): Runner {
  tell('error', { embedder: key, fault: error.stack }, 'an embedder cannot be loaded');
  const refusal = new AppError('embedder_unavailable', 'The embedder could not be loaded.');
  return { dim: 0, embed: () => Promise.reject(refusal), isTruncated: () => false };
}

async function loadReranker(
  spec: RerankerSpec,
  { modelThreads }: EmbedWorkerStart,
  meter: EndpointMeter,
  tell: Tell,
): Promise<Reranker> {
  switch (spec.type) {
    case 'onnx': {
      const { openCrossEncoder } = await import('./rerank/cross-encoder.js');
      return openCrossEncoder(spec.model, modelThreads, (fault) =>
        tell('error', { reranker: spec.key, fault }, 'a model failed'),
      );
    }
    case 'endpoint': {
      const { createEndpointReranker } = await import('./rerank/endpoint.js');
      return createEndpointReranker(spec.key, spec.endpoint, (fields, message) => tell('warn', fields, message), meter);
    }
  }
}

function brokenReranker({ key }: RerankerSpec, error: Error, tell: Tell): Reranker {
  tell('error', { reranker: key, fault: error.stack }, 'a reranker cannot be loaded');
  return { score: () => Promise.reject(new AppError('embedder_unavailable')) };
}
