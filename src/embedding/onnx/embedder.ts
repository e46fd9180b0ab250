// The `onnx` embedder: a model folder. Texts of all pending messages are joined into runs. A run blocks the thread;
// before each run, one turn of the event loop receives new messages. There is no other wait, because a partial run
// costs little more than its tokens. Embed workers.
//
// 1. One run at a time. 2. Messages take turns in contributing their oldest text to a run, so a long document does not
// delay a short one. 3. A cancelled message is removed before the next run. 4. Only a bounded number of texts per
// message is tokenized ahead.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError } from '../../api/errors.js';
import type { OnnxModel } from '../embedder-spec.js';
import type { Embedded, Embedder } from '../embedder.js';
import { type Vectorize, createVectorize } from './pooling.js';
import { RUN_TOKENS_MAX, openSession } from './session.js';
import { type Encoding, loadTokenizer } from './tokenizer.js';

/**
 * Fixed cost of a run in tokens: a run of 8 tokens takes as long as 20 to 25 would without it (`load embed model`). A
 * text therefore waits for a run of similar length if joining would add more padding than this.
 */
const PADDING_TOKENS_MAX = 16;

/**
 * Chooses the texts of the next run by their lengths in tokens and returns their indexes. The text at `first` is always
 * included, so none starves; the texts nearest to its length join it, up to `tokensMax` including padding.
 */
export function nextRun(lengths: readonly number[], first: number, tokensMax: number): number[] {
  const wanted = lengths[first] as number;
  const others = lengths.map((_, place) => place).filter((place) => place !== first);
  const distanceOf = (place: number): number => Math.abs((lengths[place] as number) - wanted);
  const run = [first];
  let width = wanted;
  for (const place of others.sort((a, b) => distanceOf(a) - distanceOf(b))) {
    const length = lengths[place] as number;
    const padding = length > width ? (length - width) * run.length : width - length;
    if (padding > PADDING_TOKENS_MAX || Math.max(width, length) * (run.length + 1) > tokensMax) continue;
    width = Math.max(width, length);
    run.push(place);
  }
  return run;
}

/** Enough texts to find some of equal length, and some milliseconds of work. */
const AHEAD_TEXTS = 32;

/** The texts of one message. */
interface Message {
  texts: readonly string[];
  isCancelled: () => boolean;
  answer: { vectors: Float32Array; truncated: Uint8Array; failures: Map<number, AppError> };
  /** Numbers of encoded and of finished texts. */
  encoded: number;
  done: number;
  resolve: (answer: Embedded) => void;
  reject: (error: AppError) => void;
}

/** An encoded text that waits for its run. */
interface Ready {
  message: Message;
  place: number;
  encoding: Encoding;
}

interface BatcherOptions {
  dim: number;
  encode: (text: string) => Encoding;
  vectorize: Vectorize;
  /** Tokens of a run, including padding. A longer text runs alone; 0 makes every text run alone. */
  runTokensMax: number;
  /** Called once per message that has failed texts. */
  report: (failure: string) => void;
}

export class Batcher {
  /** In round-robin order: the first is served next. */
  private messages: Message[] = [];
  /** Oldest first. */
  private ready: Ready[] = [];
  private isWorking = false;

  constructor(private readonly options: BatcherOptions) {}

  /** Like Embedder.embed. A cancelled message resolves before its texts are finished. */
  embed(texts: readonly string[], isCancelled: () => boolean): Promise<Embedded> {
    const answer = {
      vectors: new Float32Array(texts.length * this.options.dim),
      truncated: new Uint8Array(texts.length),
      failures: new Map<number, AppError>(),
    };
    if (texts.length === 0) return Promise.resolve(answer);
    return new Promise((resolve, reject) => {
      this.messages.push({ texts, isCancelled, answer, encoded: 0, done: 0, resolve, reject });
      if (!this.isWorking) void this.work();
    });
  }

  private async work(): Promise<void> {
    this.isWorking = true;
    while (this.messages.length > 0) {
      await nextTurn();
      this.dropCancelled();
      this.encodeAhead();
      const run = this.takeRun();
      if (run.length > 0) await this.run(run);
    }
    this.isWorking = false;
  }

  private dropCancelled(): void {
    const cancelled = new Set(this.messages.filter(({ isCancelled }) => isCancelled()));
    if (cancelled.size === 0) return;
    this.messages = this.messages.filter((message) => !cancelled.has(message));
    this.ready = this.ready.filter(({ message }) => !cancelled.has(message));
    for (const { resolve, answer } of cancelled) resolve(answer);
  }

  private encodeAhead(): void {
    for (const message of this.messages) {
      while (message.encoded < message.texts.length && message.encoded - message.done < AHEAD_TEXTS)
        this.encodeNext(message);
    }
  }

  private encodeNext(message: Message): void {
    const place = message.encoded++;
    try {
      const encoding = this.options.encode(message.texts[place] as string);
      message.answer.truncated[place] = Number(encoding.isTruncated);
      this.ready.push({ message, place, encoding });
    } catch (error) {
      this.settle(message, place, error as Error);
    }
  }

  /**
   * Removes the texts of the next run from the queue. The run begins with the oldest text of the message whose turn it
   * is, which then moves to the end of the order.
   */
  private takeRun(): Ready[] {
    const message = this.messages.shift();
    if (!message) return [];
    this.messages.push(message);
    const first = this.ready.findIndex((ready) => ready.message === message);
    const places = new Set(
      nextRun(
        this.ready.map(({ encoding }) => encoding.ids.length),
        first,
        this.options.runTokensMax,
      ),
    );
    const run = this.ready.filter((_, place) => places.has(place));
    this.ready = this.ready.filter((_, place) => !places.has(place));
    return run;
  }

  /** If the model rejects a batch, each text runs alone, so that one does not fail the others. */
  private async run(batch: readonly Ready[]): Promise<void> {
    const { dim, vectorize } = this.options;
    try {
      const rows = await vectorize(batch.map(({ encoding }) => encoding));
      batch.forEach(({ message, place }, i) => this.settle(message, place, rows.subarray(i * dim, (i + 1) * dim)));
    } catch (error) {
      if (batch.length > 1) for (const ready of batch) await this.run([ready]);
      else for (const { message, place } of batch) this.settle(message, place, error as Error);
    }
  }

  private settle(message: Message, place: number, result: Float32Array | Error): void {
    const { answer, texts, resolve, reject } = message;
    if (result instanceof Error) this.note(message, place, result);
    else answer.vectors.set(result, place * this.options.dim);
    if (++message.done < texts.length) return;
    this.messages = this.messages.filter((other) => other !== message);
    const [failure] = answer.failures.values();
    if (failure && answer.failures.size === texts.length) reject(failure);
    else resolve(answer);
  }

  private note({ answer, texts }: Message, place: number, error: Error): void {
    if (answer.failures.size === 0)
      this.options.report(
        `text ${place} of ${texts.length}, and perhaps others, could not be embedded: ${error.stack}`,
      );
    answer.failures.set(place, new AppError('embedder_unavailable', 'The model cannot embed this text.'));
  }
}

/** Two lengths, so that one text is padded. */
const TEXTS = ['wing', 'The boundary layer of a wing, heated from within; in three parts.'];
/** Many times the effect of rounding on a component of a unit vector. Quantization changes more than ten times this. */
const ROUNDING = 1e-4;

/**
 * Batch-dependence check: whether a text's vector depends on the other texts of its run. This is the case for
 * dynamically quantized graphs, which compute the scale of activations over the whole batch; vectors move as far as by
 * the quantization itself (cosine .99 with all-MiniLM-L6-v2 in int8). Run alone, a text always gives the same bits.
 * Rejects if the model does not run.
 */
async function dependsOnBatch(vectorize: Vectorize, encode: (text: string) => Encoding): Promise<boolean> {
  const [first, second] = TEXTS.map(encode) as [Encoding, Encoding];
  const alone = [...(await vectorize([first])), ...(await vectorize([second]))];
  const together = await vectorize([first, second]);
  return together.some((value, i) => Math.abs(value - (alone[i] as number)) > ROUNDING);
}

/** `threads` is the number of threads of one model run. Rejects if the model cannot be loaded. */
export async function openOnnxEmbedder(
  model: OnnxModel,
  threads: number,
  report: (failure: string) => void,
): Promise<Embedder> {
  const { padId, encode } = loadTokenizer(model.directory, model.tokensMax);
  const session = await openSession(model.directory, model.file, threads, padId);
  const vectorize = createVectorize(session, model);
  const runTokensMax = (await dependsOnBatch(vectorize, encode)) ? 0 : RUN_TOKENS_MAX;
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
