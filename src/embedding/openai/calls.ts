// The calls of one endpoint's `/embeddings`: what they ask for, and what they bring. Used by openai-runner.ts; embed
// worker of role remote.
import type { OpenAiEndpoint } from '../../../src/contract/embedder.js';
import { CallError } from '../remote/call-error.js';
import type { RemoteEndpoint } from '../remote/remote-endpoint.js';
import type { Item } from './embed-job.js';
import { readVectors } from './read-vectors.js';

export interface Answered {
  item: Item;
  /** Absent: none that could be used. */
  vector: Float32Array | undefined;
}

/**
 * `texts`: the endpoint takes another one. `encoding`: it is not asked for from now on. `everything`: no text is to
 * blame.
 */
export type Blame = 'texts' | 'encoding' | 'everything';

/** A number in JSON, its comma and its spaces take so many bytes at most; base64 takes a quarter. */
const NUMBER_BYTES_MAX = 40;
const ENVELOPE_BYTES_MAX = 65_536;
const ENTRY_BYTES_MAX = 1024;
const PROBE = 'ready';

export class EmbeddingsCalls {
  /**
   * A quarter of the bytes of lists. Servers that do not know it answer with lists; one that refuses it is not asked
   * again.
   */
  private asksBase64 = true;
  private blaming: Promise<Blame> | undefined;

  constructor(
    private readonly endpoint: RemoteEndpoint,
    private readonly spec: OpenAiEndpoint,
  ) {}

  /** Changes where the endpoint has refused the encoding: what was refused before that is to be asked again. */
  get way(): string {
    return this.asksBase64 ? 'base64' : 'lists';
  }

  /** Answers for those texts that somebody still waits for. Rejects as RemoteEndpoint.call. */
  async embed(items: readonly Item[], hasEntered: boolean): Promise<Answered[]> {
    let wanted = items;
    const answered = await this.endpoint.call({
      purpose: (items[0] as Item).job.purpose,
      hasEntered,
      traceparent: () => wanted.find(({ job }) => job.traceparent !== undefined)?.job.traceparent,
      tokens: () => {
        wanted = wanted.filter(({ job }) => !job.isAbandoned());
        return wanted.length > 0 ? wanted.reduce((sum, { tokens }) => sum + tokens, 0) : undefined;
      },
      body: () => this.bodyOf(wanted.map(({ text }) => text)),
      answerBytesMax: this.answerBytesMax(items.length),
      read: (answer) =>
        readVectors(answer, wanted.length, this.spec.dim).map((vector, i) => ({ item: wanted[i] as Item, vector })),
    });
    return answered ?? [];
  }

  /** What a refused call is to be blamed on. Rejects with 503 `embedder_unavailable`. */
  blame(): Promise<Blame> {
    this.blaming ??= this.probe().finally(() => (this.blaming = undefined));
    return this.blaming;
  }

  private async probe(): Promise<Blame> {
    if (await this.takesProbe()) return 'texts';
    if (!this.asksBase64) return 'everything';
    this.asksBase64 = false;
    if (await this.takesProbe()) return 'encoding';
    this.asksBase64 = true;
    return 'everything';
  }

  private async takesProbe(): Promise<boolean> {
    try {
      await this.endpoint.call({
        purpose: 'query',
        tokens: () => 1,
        body: () => this.bodyOf([PROBE]),
        answerBytesMax: this.answerBytesMax(1),
        read: (answer) => readVectors(answer, 1, this.spec.dim),
      });
      return true;
    } catch (error) {
      if (error instanceof CallError) return false;
      throw error;
    }
  }

  private bodyOf(input: string[]): object {
    const { model, sendsDimensions, dim } = this.spec;
    return {
      model,
      input,
      ...(this.asksBase64 && { encoding_format: 'base64' }),
      ...(sendsDimensions && { dimensions: dim }),
    };
  }

  private answerBytesMax(texts: number): number {
    return ENVELOPE_BYTES_MAX + texts * (ENTRY_BYTES_MAX + this.spec.dim * NUMBER_BYTES_MAX);
  }
}
