// A local endpoint that speaks OpenAI's `/v1/embeddings` and answers with vectors that somebody else makes or has: so
// that a server can be measured with a model whose vectors are kept. Used by judged-searches.ts.
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Settings } from './server.js';

export interface EmbeddingsEndpoint {
  url: string;
  close(): void;
}

export async function startEmbeddingsEndpoint(
  vectorsOf: (texts: readonly string[]) => Promise<Float32Array[]>,
): Promise<EmbeddingsEndpoint> {
  const server = createServer((message, response) => {
    answer(message, vectorsOf).then(
      (json) => response.setHeader('content-type', 'application/json').end(JSON.stringify(json)),
      (error: Error) => response.writeHead(500).end(JSON.stringify({ error: { message: error.message } })),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close: () => void server.close(() => {}).closeAllConnections(),
  };
}

async function answer(
  message: IncomingMessage,
  vectorsOf: (texts: readonly string[]) => Promise<Float32Array[]>,
): Promise<object> {
  const pieces: Buffer[] = [];
  for await (const piece of message) pieces.push(piece as Buffer);
  const { input, model } = JSON.parse(Buffer.concat(pieces).toString()) as { input: string[]; model: string };
  const vectors = await vectorsOf(input);
  const data = vectors.map((vector, index) => ({
    object: 'embedding',
    index,
    embedding: Buffer.from(Float32Array.from(vector).buffer).toString('base64'),
  }));
  return { object: 'list', model, data, usage: { prompt_tokens: 0, total_tokens: 0 } };
}

/** A server whose default embedder it is. */
export function endpointSettings({ url }: EmbeddingsEndpoint, model: string, dim: number): Settings {
  const instance = { key: 'kept', type: 'openai', url, model, dim };
  return { SHEAF_EMBEDDER__INSTANCES: JSON.stringify([instance]), SHEAF_EMBEDDER__DEFAULT: 'kept' };
}
