// Loads the configured embedders and rerankers. Modules are imported on demand, because the model runtime alone takes
// longer to load than everything else. Embed worker only.
import { AppError } from '../api/errors.js';
import { EndpointMeter } from '../base/meters.js';
import { BuiltinEmbedder } from './builtin/embedder.js';
import type { EmbedderSpec, RerankerSpec } from './embedder-spec.js';
import type { Embedder, Reranker, Tell, Warn } from './embedder.js';
import type { EmbedWorkerStart } from './messages.js';

/** The models of a worker by key. */
export interface Models {
  embedders: ReadonlyMap<string, Embedder>;
  rerankers: ReadonlyMap<string, Reranker>;
}

/** Loads all models of the worker's role. A model that fails to load is logged and rejects all requests. */
export async function loadModels(start: EmbedWorkerStart, tell: Tell): Promise<Models> {
  const { embedders: embedderSpecs, rerankers: rerankerSpecs, meters } = start;
  const warn: Warn = (fields, message) => tell('warn', fields, message);
  const embedders = new Map<string, Embedder>();
  for (const [place, spec] of embedderSpecs.entries()) {
    const failed = (failure: string): void => tell('error', { embedder: spec.key, error: failure }, 'a model failed');
    const loading = loadEmbedder(spec, start, EndpointMeter.over(meters, place), warn, failed);
    embedders.set(spec.key, await loading.catch((error: Error) => brokenEmbedder(spec, error, tell)));
  }
  const rerankers = new Map<string, Reranker>();
  for (const [i, spec] of rerankerSpecs.entries()) {
    const failed = (failure: string): void => tell('error', { reranker: spec.key, error: failure }, 'a model failed');
    const meter = EndpointMeter.over(meters, embedderSpecs.length + i);
    const loading = loadReranker(spec, start.modelThreads, meter, warn, failed);
    rerankers.set(spec.key, await loading.catch((error: Error) => brokenReranker(spec, error, tell)));
  }
  return { embedders, rerankers };
}

async function loadEmbedder(
  spec: EmbedderSpec,
  { modelThreads, embedderFile }: EmbedWorkerStart,
  meter: EndpointMeter,
  warn: Warn,
  failed: (failure: string) => void,
): Promise<Embedder> {
  switch (spec.type) {
    case 'builtin':
      return new BuiltinEmbedder(embedderFile);
    case 'onnx': {
      const { openOnnxEmbedder } = await import('./onnx/embedder.js');
      return openOnnxEmbedder(spec.model, modelThreads, failed);
    }
    case 'openai': {
      const { OpenAiEmbedder } = await import('./openai/embedder.js');
      return new OpenAiEmbedder(spec.key, spec.endpoint, warn, meter);
    }
  }
}

/** A placeholder for an embedder that failed to load. If the error ended the thread, its replacement would end too. */
function brokenEmbedder({ key }: EmbedderSpec, error: Error, tell: Tell): Embedder {
  tell('error', { embedder: key, error: error.stack }, 'an embedder cannot be loaded');
  const rejection = new AppError('embedder_unavailable', 'The embedder could not be loaded.');
  return { dim: 0, embed: () => Promise.reject(rejection), isTruncated: () => false };
}

async function loadReranker(
  spec: RerankerSpec,
  modelThreads: number,
  meter: EndpointMeter,
  warn: Warn,
  failed: (failure: string) => void,
): Promise<Reranker> {
  switch (spec.type) {
    case 'onnx': {
      const { openCrossEncoder } = await import('./rerank/cross-encoder.js');
      return openCrossEncoder(spec.model, modelThreads, failed);
    }
    case 'endpoint': {
      const { EndpointReranker } = await import('./rerank/endpoint.js');
      return new EndpointReranker(spec.key, spec.endpoint, warn, meter);
    }
  }
}

function brokenReranker({ key }: RerankerSpec, error: Error, tell: Tell): Reranker {
  tell('error', { reranker: key, error: error.stack }, 'a reranker cannot be loaded');
  return { score: () => Promise.reject(new AppError('embedder_unavailable')) };
}
