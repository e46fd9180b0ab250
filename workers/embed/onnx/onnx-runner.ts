// A model folder as a runner: tokenizer, graph and batcher put together, and whether texts may share its runs.
// Called by runners.ts when a worker starts; embed workers.
import type { OnnxModel } from '../../../src/contract/embedder.js';
import type { Runner } from '../runner.js';
import { Batcher } from './batcher.js';
import { dependsOnCompany } from './company.js';
import { RUN_TOKENS_MAX } from './next-run.js';
import { openSession } from './session.js';
import { createVectorize } from './text-vectors.js';
import { loadTokenizer } from './tokenizer.js';

/** `threads`: those that one run of the model may use. Rejects where the model cannot be loaded. */
export async function createOnnxRunner(
  model: OnnxModel,
  threads: number,
  report: (fault: string) => void,
): Promise<Runner> {
  const { padId, encode } = loadTokenizer(model.directory, model.tokensMax);
  const session = await openSession(model.directory, model.file, threads, padId);
  const vectorize = createVectorize(session, model);
  const runTokensMax = (await dependsOnCompany(vectorize, encode)) ? 0 : RUN_TOKENS_MAX;
  const batcher = new Batcher({ dim: model.dim, encode, vectorize, runTokensMax, report });
  const prefixes = { query: model.queryPrefix, passage: model.passagePrefix };
  return {
    dim: model.dim,
    embed: (texts, purpose, isCancelled) =>
      batcher.embed(
        texts.map((text) => prefixes[purpose] + text),
        isCancelled,
      ),
    isTruncated: (text) => encode(model.passagePrefix + text).isTruncated,
  };
}
