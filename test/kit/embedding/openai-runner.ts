// A runner of type openai with a server of its own, for the tests of this folder.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { OpenAiEndpoint } from '../../../../src/contract/embedder.js';
import { createOpenAiRunner } from '../../../../workers/embed/openai/openai-runner.js';
import type { Runner } from '../../../../workers/embed/runner.js';
import { startOpenAiServer, unitOf, type OpenAiServer, type OpenAiServerOptions } from '../../openai-server.js';

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

export interface Bench {
  runner: Runner;
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
    runner: createOpenAiRunner(
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

/** Holds the calls of a server until they are released; those after that are answered at once. */
export function held(): { fail: () => Promise<undefined>; release: () => void } {
  let release = (): void => {};
  const released = new Promise<undefined>((resolve) => (release = () => resolve(undefined)));
  return { fail: () => released, release };
}

/** Resolves when the condition holds; the limit of the test file ends a wait in vain. */
export async function wait(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
}
