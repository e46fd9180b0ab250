// The `endpoint` reranker: a remote `/rerank` endpoint. Its request shape is detected: the first of two that it
// accepts. If it accepts fewer texts than a search has candidates, they are sent in several calls, which does not
// change the scores. Embed worker of role remote.
import type { EndpointMeter } from '../../base/meters.js';
import type { EndpointSpec } from '../embedder-spec.js';
import { CallError, RemoteEndpoint, estimateTokens } from '../remote/endpoint.js';
import type { Reranker, Warn } from '../embedder.js';

/** The shape of Cohere, Jina, vLLM and LiteLLM, and that of TEI. Answers are parsed by their content. */
type RerankShape = 'cohere' | 'tei';

function rerankBody(shape: RerankShape, model: string, query: string, texts: readonly string[]): object {
  if (shape === 'tei') return { query, texts, truncate: true };
  return { model, query, documents: texts, top_n: texts.length };
}

/** One score per text. Throws CallError. */
export function readScores(answer: unknown, count: number): Float32Array {
  const entries = Array.isArray(answer) ? (answer as unknown[]) : (answer as { results?: unknown } | null)?.results;
  if (!Array.isArray(entries)) throw new CallError('broken', 'its answer has no list `results`');
  if (entries.length !== count) throw new CallError('broken', `it gives ${entries.length} scores for ${count} texts`);
  const scores = new Float32Array(count).fill(NaN);
  for (const entry of entries as ({ index?: unknown; relevance_score?: unknown; score?: unknown } | null)[]) {
    const score = entry?.relevance_score ?? entry?.score;
    if (typeof score === 'number' && typeof entry?.index === 'number') scores[entry.index] = score;
  }
  if (!scores.every(Number.isFinite)) throw new CallError('broken', 'it does not give each text a score');
  return scores;
}

/** Calls with fewer texts are not split further: the rejection has another cause. */
const TEXTS_MIN = 8;
/** Some endpoints return the texts, and may escape every character. */
const ECHO_FACTOR = 6;
const ENVELOPE_BYTES_MAX = 1024 * 1024;

export class EndpointReranker implements Reranker {
  private readonly endpoint: RemoteEndpoint;
  private readonly model: string;
  private shape: RerankShape | undefined;
  private textsMax = Infinity;

  constructor(key: string, spec: EndpointSpec, warn: Warn, meter?: EndpointMeter) {
    this.endpoint = new RemoteEndpoint(key, spec, '/rerank', warn, undefined, meter);
    this.model = spec.model;
  }

  async score(query: string, texts: readonly string[], traceparent?: string): Promise<Float32Array> {
    if (texts.length === 0) return new Float32Array(0);
    if (texts.length > this.textsMax) return this.scoreHalves(query, texts, traceparent);
    const rejections: CallError[] = [];
    for (const shape of this.shape ? [this.shape] : (['cohere', 'tei'] as const)) {
      const answered = await this.tried(shape, query, texts, traceparent);
      if (!(answered instanceof CallError)) return answered;
      rejections.push(answered);
    }
    if (texts.length <= TEXTS_MIN) throw this.endpoint.unavailable(rejections.map(({ message }) => message).join('; '));
    // If these few are rejected too, the number of texts is not the cause.
    await this.score(query, texts.slice(0, TEXTS_MIN), traceparent);
    const scores = await this.scoreHalves(query, texts, traceparent);
    this.textsMax = Math.min(this.textsMax, Math.ceil(texts.length / 2));
    return scores;
  }

  private async scoreHalves(
    query: string,
    texts: readonly string[],
    traceparent: string | undefined,
  ): Promise<Float32Array> {
    const half = Math.ceil(texts.length / 2);
    const scores = new Float32Array(texts.length);
    const [head, tail] = await Promise.all([
      this.score(query, texts.slice(0, half), traceparent),
      this.score(query, texts.slice(half), traceparent),
    ]);
    scores.set(head);
    scores.set(tail, half);
    return scores;
  }

  /** The scores, or the rejection of the endpoint. */
  private async tried(
    shape: RerankShape,
    query: string,
    texts: readonly string[],
    traceparent: string | undefined,
  ): Promise<Float32Array | CallError> {
    try {
      const scores = await this.endpoint.call({
        purpose: 'query',
        traceparent: () => traceparent,
        tokens: () => tokensOf(query, texts),
        body: () => rerankBody(shape, this.model, query, texts),
        answerBytesMax:
          ENVELOPE_BYTES_MAX + ECHO_FACTOR * texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0),
        read: (answer) => readScores(answer, texts.length),
      });
      this.shape = shape;
      return scores as Float32Array;
    } catch (error) {
      if (error instanceof CallError) return error;
      throw error;
    }
  }
}

/** The endpoint reads the query with each text. */
const tokensOf = (query: string, texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + estimateTokens(text), texts.length * estimateTokens(query));
