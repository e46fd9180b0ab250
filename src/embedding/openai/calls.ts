// Calls of one `/embeddings` endpoint: sends texts and hands each vector or error to its job. A call that the endpoint
// rejects (status 400, 413, 422) is split in halves, down to the texts that it does not accept, so that the others
// succeed. Before that, a probe with a harmless text shows whether the texts are the cause. Embed worker of role
// remote.
import { AppError } from '../../api/errors.js';
import type { OpenAiEndpoint } from '../embedder-spec.js';
import { CallError, type RemoteEndpoint } from '../remote/endpoint.js';
import type { Item } from './text-queue.js';

interface Entry {
  index?: unknown;
  embedding?: unknown;
}

/**
 * The vectors of an answer for `count` texts, in the order of `index`. Accepts lists of numbers and base64 float32.
 * Vectors are normalized to length 1, which the index requires and not every server does. Undefined marks an unusable
 * vector (zero or not finite). Throws CallError.
 */
export function readVectors(answer: unknown, count: number, dim: number): (Float32Array | undefined)[] {
  const entries = (answer as { data?: unknown } | null)?.data;
  if (!Array.isArray(entries)) throw new CallError('broken', 'its answer has no list `data`');
  if (entries.length !== count) throw new CallError('broken', `it gives ${entries.length} vectors for ${count} texts`);
  const vectors = new Map<number, Float32Array | undefined>();
  entries.forEach((entry: Entry | null, at) =>
    vectors.set(placeOf(entry?.index ?? at, count), unit(numbersOf(entry?.embedding, dim))),
  );
  if (vectors.size !== count) throw new CallError('broken', 'it gives two vectors the same `index`');
  return Array.from({ length: count }, (_, place) => vectors.get(place));
}

function placeOf(index: unknown, count: number): number {
  if (Number.isInteger(index) && (index as number) >= 0 && (index as number) < count) return index as number;
  throw new CallError('broken', 'it gives an `index` that no text has');
}

function numbersOf(embedding: unknown, dim: number): Float32Array {
  const numbers =
    typeof embedding === 'string'
      ? decoded(embedding)
      : Array.isArray(embedding)
        ? Float32Array.from(embedding, asNumber)
        : undefined;
  if (!numbers) throw new CallError('broken', 'it gives an `embedding` that is neither a list nor base64');
  if (numbers.length !== dim)
    throw new CallError('broken', `its vectors have ${numbers.length} dimensions; \`dim\` of the instance is ${dim}`);
  return numbers;
}

/** JSON has no NaN; servers write null instead. */
const asNumber = (value: unknown): number => (typeof value === 'number' ? value : NaN);

function decoded(base64: string): Float32Array {
  const bytes = Buffer.from(base64, 'base64');
  // Copied, because floats require alignment. Incomplete floats are cut off, and the length check then fails.
  return new Float32Array(Uint8Array.from(bytes).buffer, 0, Math.floor(bytes.length / 4));
}

function unit(vector: Float32Array): Float32Array | undefined {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const length = Math.sqrt(squares);
  return length > 0 && Number.isFinite(length) ? vector.map((value) => value / length) : undefined;
}

interface Answered {
  item: Item;
  /** Absent: no usable vector. */
  vector: Float32Array | undefined;
}

/**
 * The cause of a rejected call. `texts`: the endpoint accepts another text. `encoding`: base64 is not requested any
 * more. `everything`: no text is accepted.
 */
type Blame = 'texts' | 'encoding' | 'everything';

/** Maximum bytes of a number in JSON with its comma and spaces; base64 takes a quarter. */
const NUMBER_BYTES_MAX = 40;
const ENVELOPE_BYTES_MAX = 65_536;
const ENTRY_BYTES_MAX = 1024;
const PROBE = 'ready';
/** Bound for one rejected call. k bad texts of n take up to 2k (log2(n / k) + 1) calls, so 40 of 2,048 are found. */
const CALLS_MAX = 600;

interface Consequences {
  /** The rest of the item's job cannot be embedded now either. */
  giveUp(item: Item, error: AppError): void;
  /** A rejected call succeeded in halves of up to this many texts. */
  onTooMany(inputs: number): void;
}

export class EmbeddingsCalls {
  /**
   * Base64 takes a quarter of the bytes of lists. Servers that do not support it answer with lists; after a rejection
   * it is not requested again.
   */
  private asksBase64 = true;
  private blaming: Promise<Blame> | undefined;

  constructor(
    private readonly endpoint: RemoteEndpoint,
    private readonly spec: OpenAiEndpoint,
    private readonly consequences: Consequences,
  ) {}

  /** Settles every item. Never rejects. The caller has already entered the endpoint. */
  async deliver(items: readonly Item[]): Promise<void> {
    const { asksBase64 } = this;
    try {
      const rejection = await this.try(items, true);
      if (rejection) await this.afterRejection(items, rejection, asksBase64 === this.asksBase64);
    } catch (error) {
      this.fail(items, error);
    }
  }

  /** The rejection of the call, or undefined if every item is settled. Rejects if the endpoint is unusable. */
  private async try(items: readonly Item[], hasEntered: boolean): Promise<CallError | undefined> {
    try {
      for (const { item, vector } of await this.embed(items, hasEntered)) {
        if (vector) item.job.settle(item.place, vector);
        else item.job.fail(item.place, new AppError('text_not_embeddable'));
      }
      return undefined;
    } catch (error) {
      if (error instanceof CallError) return error;
      throw error;
    }
  }

  /** Embeds the texts that are not cancelled. Rejects like RemoteEndpoint.call. */
  private async embed(items: readonly Item[], hasEntered: boolean): Promise<Answered[]> {
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

  /** `isOfEncoding` is whether the encoding of the rejected call is still in use. */
  private async afterRejection(items: readonly Item[], rejection: CallError, isOfEncoding: boolean): Promise<void> {
    const blame = isOfEncoding ? await this.blame() : 'encoding';
    if (blame === 'everything') throw this.endpoint.unavailable(rejection.message);
    const left = { calls: CALLS_MAX };
    if (blame === 'texts') await this.isolate(items, left);
    else await this.attempt(items, left);
  }

  /** Settles every item and returns the number of failed texts. */
  private async attempt(items: readonly Item[], left: { calls: number }): Promise<number> {
    try {
      if (left.calls-- <= 0) throw this.endpoint.unavailable('it rejects too many texts of one call');
      return (await this.try(items, false)) ? await this.isolate(items, left) : 0;
    } catch (error) {
      this.fail(items, error);
      return items.length;
    }
  }

  private async isolate(items: readonly Item[], left: { calls: number }): Promise<number> {
    if (items.length === 1) {
      const [{ job, place }] = items as [Item];
      job.fail(place, new AppError('text_not_embeddable'));
      return 1;
    }
    const half = Math.ceil(items.length / 2);
    const halves = [items.slice(0, half), items.slice(half)];
    const failed = await Promise.all(halves.map((each) => this.attempt(each, left)));
    const count = failed.reduce((sum, each) => sum + each, 0);
    if (count === 0) this.consequences.onTooMany(half);
    return count;
  }

  private fail(items: readonly Item[], error: unknown): void {
    for (const item of items) {
      if (!(error instanceof AppError)) item.job.break(error);
      else {
        item.job.fail(item.place, error);
        this.consequences.giveUp(item, error);
      }
    }
  }

  /** Concurrent rejections share a probe. Rejects with 503 `embedder_unavailable`. */
  private blame(): Promise<Blame> {
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
