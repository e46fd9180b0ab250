// A local HTTP server that speaks OpenAI's `/v1/embeddings`, and `/v1/rerank` in the form of Cohere or of TEI. It keeps
// the calls that it received, and fails as a test specifies. Its vectors and scores can be computed with vectorOf and
// scoreOf.
import { type Ender, startFakeServer, type FakeReply, type FakeRequest, type Result } from './fake-server.js';

export interface EmbeddingsRequest {
  model: string;
  input: string[];
  encoding_format?: string;
  dimensions?: number;
}

interface RerankRequest {
  query: string;
  model?: string;
  documents?: string[];
  texts?: string[];
}

export interface OpenAiServerOptions {
  dim: number;
  /** Always answers with lists of numbers, even when base64 is requested, as many servers do. */
  givesLists?: boolean;
  /** A call with more texts is rejected with 413. */
  inputsMax?: number;
  /** A call with such a text is rejected with 400. */
  refuses?: (text: string) => boolean;
  /** Calls with another key are rejected with 401. */
  apiKey?: string;
  /** The form of its rerank API; Cohere's by default. */
  rerank?: 'cohere' | 'tei';
  /**
   * Called first, with the number of the call from 0: returns what to do instead of answering, or undefined to answer.
   */
  fail?: (number: number, call: EmbeddingsRequest | RerankRequest) => Result | undefined | Promise<Result | undefined>;
}

export interface OpenAiServer {
  /** The base URL, which includes `/v1`. */
  url: string;
  calls: EmbeddingsRequest[];
  reranks: RerankRequest[];
  requests: FakeRequest[];
}

/** Listens on the loopback interface until the test ends. */
export async function startOpenAiServer(t: Ender, options: OpenAiServerOptions): Promise<OpenAiServer> {
  const [calls, reranks]: [EmbeddingsRequest[], RerankRequest[]] = [[], []];
  const { url, requests } = await startFakeServer(t, async ({ method, path, headers, body }) => {
    const call = JSON.parse(body.toString()) as EmbeddingsRequest & RerankRequest;
    const number = calls.length + reranks.length;
    if (path === '/v1/rerank') reranks.push(call);
    else calls.push(call);
    const failure = await options.fail?.(number, call);
    if (failure) return failure;
    if (method !== 'POST' || !['/v1/embeddings', '/v1/rerank'].includes(path)) return rejection(404, 'Not Found');
    if (options.apiKey && headers.authorization !== `Bearer ${options.apiKey}`)
      return rejection(401, `Incorrect API key provided: ${headers.authorization}`);
    return path === '/v1/rerank' ? rerank(call, options) : embeddings(call, options);
  });
  return { url: `${url}/v1`, calls, reranks, requests };
}

function embeddings(
  { model, input, encoding_format: encoding, dimensions }: EmbeddingsRequest,
  options: OpenAiServerOptions,
): FakeReply {
  if (!Array.isArray(input) || input.length === 0) return rejection(400, '`input` is empty');
  if (input.length > (options.inputsMax ?? Infinity))
    return rejection(413, `batch size ${input.length} > maximum allowed batch size ${options.inputsMax}`);
  if (input.some((text) => options.refuses?.(text))) return rejection(400, 'a text is too long for the model');
  const vectors = input.map((text) => vectorOf(text, dimensions ?? options.dim));
  const asBase64 = encoding === 'base64' && !options.givesLists;
  const data = vectors.map((vector, index) => ({
    object: 'embedding',
    index,
    embedding: asBase64 ? Buffer.from(Float32Array.from(vector).buffer).toString('base64') : vector,
  }));
  // The vectors come in reverse order: only `index` says which text a vector belongs to.
  const tokens = input.reduce((sum, text) => sum + text.length, 0);
  return {
    json: { object: 'list', data: data.reverse(), model, usage: { prompt_tokens: tokens, total_tokens: tokens } },
  };
}

function rerank(
  { query, documents, texts }: RerankRequest,
  { rerank: shape = 'cohere', inputsMax = Infinity }: OpenAiServerOptions,
): FakeReply {
  const passages = shape === 'tei' ? texts : documents;
  if (!passages)
    return rejection(
      422,
      `Failed to deserialize the JSON body: missing field \`${shape === 'tei' ? 'texts' : 'documents'}\``,
    );
  if (passages.length > inputsMax)
    return rejection(422, `batch size ${passages.length} > maximum allowed batch size ${inputsMax}`);
  const scored = passages
    .map((text, index) => ({ index, score: scoreOf(query, text) }))
    .sort((a, b) => b.score - a.score);
  if (shape === 'tei') return { json: scored };
  return {
    json: {
      id: '1',
      results: scored.map(({ index, score }) => ({
        index,
        relevance_score: score,
        document: { text: passages[index] },
      })),
    },
  };
}

const rejection = (status: number, message: string): FakeReply => ({
  status,
  json: { error: { message, type: 'invalid_request_error' } },
});

/** The vector of a text, not of length 1; a text that contains `zeros` has the zero vector. */
function vectorOf(text: string, dim: number): number[] {
  if (text.includes('zeros')) return new Array<number>(dim).fill(0);
  let state = 2166136261;
  for (const character of text) state = Math.imul(state ^ (character.codePointAt(0) as number), 16777619);
  return Array.from({ length: dim }, () => {
    state = Math.imul(state ^ (state >>> 15), 2246822519);
    return (state % 1000) / 100 + 0.005;
  });
}

/** The vector that an embedder makes of vectorOf: scaled to length 1. */
export function unitOf(text: string, dim: number): number[] {
  const vector = Array.from(Float32Array.from(vectorOf(text, dim)));
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return vector.map((value) => value / length);
}

/** The share of the query's words that occur in the text. */
export function scoreOf(query: string, text: string): number {
  const words = new Set(text.toLowerCase().split(/\W+/));
  const asked = query.toLowerCase().split(/\W+/).filter(Boolean);
  return asked.filter((word) => words.has(word)).length / Math.max(1, asked.length);
}
