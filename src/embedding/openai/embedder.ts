// The `openai` embedder: an endpoint with OpenAI's `/embeddings` interface. Pending texts of all messages share calls,
// up to the endpoint's limits; queries precede passages. Embed worker of role remote.
import { setTimeout as sleep } from 'node:timers/promises';
import type { AppError } from '../../api/errors.js';
import type { EndpointMeter } from '../../base/meters.js';
import type { OpenAiEndpoint } from '../embedder-spec.js';
import type { Embedded, Embedder, Purpose, Warn } from '../embedder.js';
import { RemoteEndpoint, estimateTokens } from '../remote/endpoint.js';
import { EmbeddingsCalls } from './calls.js';
import { EmbedJob, type Item, WaitingTexts } from './text-queue.js';

/** How long the first text waits for concurrent ones. */
const JOIN_MS = 1;
/** Lower bound for the learned number of texts per call, unless the configuration sets a lower one. */
const INPUTS_LEARNED_MIN = 16;

export class OpenAiEmbedder implements Embedder {
  readonly dim: number;
  private readonly endpoint: RemoteEndpoint;
  private readonly calls: EmbeddingsCalls;
  private readonly waiting = new WaitingTexts();
  private readonly isServed: Record<Purpose, boolean> = { query: false, passage: false };
  private inputsMax: number;

  constructor(
    private readonly key: string,
    private readonly spec: OpenAiEndpoint,
    private readonly warn: Warn,
    meter?: EndpointMeter,
    private readonly nowMs = (): number => performance.now(),
  ) {
    this.dim = spec.dim;
    this.inputsMax = spec.inputsMax;
    this.endpoint = new RemoteEndpoint(key, spec, '/embeddings', warn, nowMs, meter);
    this.calls = new EmbeddingsCalls(this.endpoint, spec, {
      giveUp: ({ job }, error) => this.waiting.drop(job, error),
      onTooMany: (inputs) => this.learn(inputs),
    });
  }

  embed(
    texts: readonly string[],
    purpose: Purpose,
    isCancelled: () => boolean,
    traceparent?: string,
  ): Promise<Embedded> {
    const prefix = purpose === 'query' ? this.spec.queryPrefix : this.spec.passagePrefix;
    const items = texts.map((whole) => {
      const text = prefix + this.cut(whole);
      return { text, tokens: estimateTokens(text) };
    });
    const job = new EmbedJob({
      items,
      purpose,
      dim: this.dim,
      isCancelled,
      nowMs: this.nowMs(),
      ...(traceparent !== undefined && { traceparent }),
    });
    this.waiting.push(job);
    void this.serve(purpose);
    return job.done;
  }

  isTruncated(text: string): boolean {
    return this.spec.charactersMax > 0 && text.length > this.spec.charactersMax;
  }

  /** Truncates a text, but never within a surrogate pair. */
  private cut(text: string): string {
    if (!this.isTruncated(text)) return text;
    return text.slice(0, this.spec.charactersMax).replace(/[\ud800-\udbff]$/, '');
  }

  /** Sends calls while texts are pending. At most one such loop runs per purpose. */
  private async serve(purpose: Purpose): Promise<void> {
    if (this.isServed[purpose]) return;
    this.isServed[purpose] = true;
    await sleep(JOIN_MS);
    while (!this.waiting.isEmpty(purpose)) await this.sendNext(purpose);
    this.isServed[purpose] = false;
  }

  /** Resolves when the call has begun; until then, further texts can join it. */
  private async sendNext(purpose: Purpose): Promise<void> {
    let items: Item[] = [];
    try {
      const hasEntered = await this.endpoint.enter(purpose, this.waiting.waitsSinceMs(purpose), () => {
        items = this.waiting.take(purpose, this.bounds, this.nowMs());
        return items.length > 0 ? items.reduce((sum, { tokens }) => sum + tokens, 0) : undefined;
      });
      if (hasEntered) void this.calls.deliver(items);
    } catch (error) {
      this.waiting.failLongest(purpose, error as AppError);
    }
  }

  private get bounds(): { inputsMax: number; tokensMax: number } {
    return { inputsMax: this.inputsMax, tokensMax: Math.min(this.spec.tokensMax, this.endpoint.tokensMax) };
  }

  private learn(inputs: number): void {
    const inputsMax = Math.max(INPUTS_LEARNED_MIN, inputs);
    if (inputsMax >= this.inputsMax) return;
    this.inputsMax = inputsMax;
    this.warn(
      { instance: this.key, inputs_max: inputsMax },
      'an endpoint rejected a call because of its size: calls have fewer texts from now on; set inputs_max or tokens_max',
    );
  }
}
