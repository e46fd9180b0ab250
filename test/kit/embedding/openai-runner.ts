// Starts an embedding runner of type `openai` together with a fake server that it calls.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { OpenAiEndpoint } from '../../../src/embedding/embedder-spec.js';
import { OpenAiEmbedder } from '../../../src/embedding/openai/embedder.js';
import type { Embedder } from '../../../src/embedding/embedder.js';
import { type OpenAiServer, type OpenAiServerOptions, startOpenAiServer, unitOf } from '../openai-server.js';

export const DIM = 8;

export const ENDPOINT: OpenAiEndpoint = {
  url: '',
  model: 'small',
  apiKey: '',
  timeoutMs: 10_000,
  retriesMax: 1,
  requestsPerMinute: 0,
  tokensPerMinute: 0,
  callsMax: 8,
  dim: DIM,
  sendsDimensions: false,
  inputsMax: 2048,
  tokensMax: 300_000,
  charactersMax: 0,
  queryPrefix: '',
  passagePrefix: '',
};

interface Bench {
  runner: Embedder;
  server: OpenAiServer;
  warnings: Record<string, unknown>[];
}

export async function open(
  t: TestContext,
  spec: Partial<OpenAiEndpoint>,
  options: Partial<OpenAiServerOptions> = {},
): Promise<Bench> {
  const server = await startOpenAiServer(t, { dim: DIM, ...options });
  const warnings: Record<string, unknown>[] = [];
  return {
    runner: new OpenAiEmbedder(
      'remote',
      { ...ENDPOINT, url: server.url, ...spec },
      (fields) => void warnings.push(fields),
    ),
    server,
    warnings,
  };
}

export function assertVectors(vectors: Float32Array, texts: readonly string[]): void {
  const wanted = texts.flatMap((text) => unitOf(text, DIM));
  assert.equal(vectors.length, wanted.length);
  vectors.forEach((value, i) => assert.ok(Math.abs(value - (wanted[i] as number)) < 1e-6, `value ${i} of the vectors`));
}

/** Holds the calls of a server until they are released; later calls are answered at once. */
export function held(): { fail: () => Promise<undefined>; release: () => void } {
  let release = (): void => {};
  const released = new Promise<undefined>((resolve) => (release = () => resolve(undefined)));
  return { fail: () => released, release };
}

/** Polls until the condition holds; the time limit of the test file ends a wait in vain. */
export async function wait(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
}

// The naive version of WaitingTexts: the same rule over plain lists of tokens.

export interface NaiveJob {
  name: number;
  tokens: number[];
}

/** Names and offsets of the texts of the next call. Removes them from `jobs`, which it also reorders. */
export function naiveTake(
  jobs: NaiveJob[],
  offsets: Map<number, number>,
  inputsMax: number,
  tokensMax: number,
): string[] {
  const taken: string[] = [];
  let tokens = 0;
  for (;;) {
    const job = jobs[0];
    if (!job) return taken;
    let ofJob = 0;
    while (
      job.tokens.length > 0 &&
      ofJob < 32 &&
      taken.length < inputsMax &&
      (taken.length === 0 || tokens + (job.tokens[0] as number) <= tokensMax)
    ) {
      const place = offsets.get(job.name) ?? 0;
      offsets.set(job.name, place + 1);
      tokens += job.tokens.shift() as number;
      taken.push(`${job.name}:${place}`);
      ofJob++;
    }
    if (ofJob === 0) return taken;
    jobs.shift();
    if (job.tokens.length > 0) jobs.push(job);
  }
}
