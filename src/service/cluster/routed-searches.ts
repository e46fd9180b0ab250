// Searches of a cluster whose nodes share the memory: a node runs those of the collections that it holds, and sends the
// others to a node that does. Every search is repeated elsewhere if a node does not answer, since it changes nothing. Runs
// on the main thread.
import { randomUUID } from 'node:crypto';
import { Packr } from 'msgpackr';
import { AppError, type WireError, abandoned, errorTypeOf } from '../../api/errors.js';
import type { CollectionId, Tenant } from '../../api/ids.js';
import { LatencyWindow } from '../../base/histogram.js';
import type { Log } from '../../base/log.js';
import type { CancelSignal } from '../../base/signals.js';
import type { ReplicatedLog } from '../../cluster/command-log.js';
import type { LogStream } from '../../cluster/log-stream.js';
import type { CollectionCount } from '../../engine/search/count.js';
import type { Counted } from '../../engine/search/facets.js';
import type { CollectionSearch, Found, MissingIndexes, SearchResult } from '../../engine/search/params.js';
import { type SearchStep, type StepAnswer, shardsOfStep } from '../../engine/search/step-messages.js';
import type { SearchPool } from '../../pool/search-pool.js';
import { type ShardsContext, countShards, findInShards, stepInShards } from '../search/shards.js';
import type { MemoryPlacer } from './memory-placer.js';
import { type Part, countParts, searchParts } from './spread-search.js';

interface RoutedSearchesOptions {
  /** Runs the searches of this node. */
  readonly searches: Pick<SearchPool, 'request' | 'count' | 'step'>;
  readonly shards: ShardsContext['shards'];
  readonly placer: MemoryPlacer;
  readonly commandLog: Pick<ReplicatedLog, 'lastApplied' | 'reached'>;
  readonly stream: Pick<LogStream, 'id' | 'ask' | 'onAsked' | 'payloadBytesMax'>;
  /** The id of this node. */
  readonly node: string;
  readonly log: Log;
}

type Work =
  | { readonly search: CollectionSearch }
  | { readonly count: CollectionCount }
  /** `process`: the one that has taken the steps before. */
  | { readonly step: SearchStep; readonly process?: string | undefined };
type Result = Found | Counted | StepAnswer;

type Question =
  | (Work & {
      readonly tenant: Tenant;
      /** The stream that `after` is of. */
      readonly stream: string;
      /** The answer shows everything up to this message to the shards of the collection. */
      readonly after: number;
    })
  /** More of an answer that is larger than a message. */
  | { readonly answer: string; readonly from: number };

interface Success {
  readonly value: Result;
  readonly process: string;
}

type Answer =
  | Success
  | { readonly error: WireError }
  /** The answer has so many bytes, and is asked for by its name. */
  | { readonly answer: string; readonly bytes: number };

/** Work on some shards of a collection. */
interface Asked {
  readonly work: Work;
  readonly collection: CollectionId;
  readonly shards: readonly number[];
  readonly tenant: string;
  readonly signal: CancelSignal | undefined;
}

const packr = new Packr({ moreTypes: true, useRecords: false });

const ASK_MS = 25_000;
const BEHIND_MS = 1000;
/** What a message takes beside its payload. */
const HEADER_BYTES = 4096;
const ANSWER_KEPT_MS = 10_000;
/** Share of the searches that may be sent to a second node because the first one takes long, and so many more at once. */
const HEDGED_SHARE = 0.05;
const HEDGED_BURST = 16;
const HEDGE_MS_MIN = 5;
/** Searches after which it is known how long one takes. */
const KNOWN_MIN = 50;
const LATEST_WEIGHT = 0.1;
const LOOK_MS = 250;

/** A node does not answer, or cannot search now; another one may. */
class Unanswered extends Error {
  /** `overloaded`: the node has too many searches, if that is why it does not answer this one. */
  constructor(
    readonly node: string,
    readonly overloaded?: AppError,
  ) {
    super();
  }
}

export class RoutedSearches implements Pick<SearchPool, 'request' | 'count'> {
  private readonly latencies = new LatencyWindow();
  /** How long each node takes, in milliseconds. */
  private readonly averages = new Map<string, number>();
  private readonly waiting = new Set<{ node: string; asked: Asked; giveUp: () => void }>();
  private readonly answers = new Map<string, Uint8Array>();
  /** Rows have other numbers in another process of the same node. */
  private readonly process = randomUUID();
  private answered = 0;
  /** A search that takes longer is sent to a second node. */
  private hedgeMs = Infinity;
  private readonly timer: NodeJS.Timeout;
  /** Searches sent to other nodes, those sent to a second one, those that a node did not answer, and those of others. */
  readonly counts = { sent: 0, hedged: 0, unanswered: 0, received: 0 };

  constructor(private readonly options: RoutedSearchesOptions) {
    options.stream.onAsked('search', options.node, (question) => this.answer(question));
    this.timer = setInterval(() => this.look(), LOOK_MS).unref();
  }

  close(): void {
    clearInterval(this.timer);
  }

  /** Rejects as SearchPool.request does. */
  async request(search: CollectionSearch, tenant: string, signal?: CancelSignal): Promise<SearchResult> {
    const { collection, shards = [] } = search;
    const asked: Asked = { work: { search }, collection: collection.id, shards, tenant, signal };
    const found = this.isSpread(asked)
      ? await this.inParts(asked, (parts) => searchParts(parts, search))
      : await this.elsewhere(asked);
    return (found as Found | undefined) ?? this.options.searches.request(search, tenant, signal);
  }

  /** Rejects as SearchPool.count does. */
  async count(count: CollectionCount, tenant: string, signal?: CancelSignal): Promise<Counted | MissingIndexes[]> {
    const asked: Asked = { work: { count }, collection: count.collection.id, shards: count.shards, tenant, signal };
    const counted = this.isSpread(asked)
      ? await this.inParts(asked, (parts) => countParts(parts, count))
      : await this.elsewhere(asked);
    return (counted as Counted | undefined) ?? this.options.searches.count(count, tenant, signal);
  }

  /** Whether several nodes may hold the shards. */
  private isSpread({ shards }: Asked): boolean {
    return this.options.placer.placesShards && shards.length > 1;
  }

  /**
   * What the nodes answer that hold the shards. Undefined if this node is to search all of them: it holds them, or nobody
   * else does.
   */
  private async inParts(asked: Asked, work: (parts: readonly Part[]) => Promise<Result>): Promise<Result | undefined> {
    const { placer, node } = this.options;
    const { collection, shards, signal } = asked;
    const silent = new Set<string>();
    let overloaded: AppError | undefined;
    for (let ownBefore = Infinity; ; ) {
      if (signal?.aborted) throw abandoned();
      const places = this.placesOf(asked, silent);
      const own = places.get(node) ?? [];
      // Loading what another node has too much work for would add to the load.
      if (overloaded && own.length > ownBefore) throw overloaded;
      ownBefore = own.length;
      placer.searchedHere(collection, own);
      if (own.length === shards.length) return undefined;
      try {
        const [[first]] = places as unknown as [[string]];
        if (places.size === 1) return (await this.ask(first, asked, this.questionOf(asked))).value;
        return await work(Array.from(places, ([name, held]) => this.partOf(asked, name, held)));
      } catch (error) {
        if (!(error instanceof Unanswered)) throw error;
        this.counts.unanswered++;
        silent.add(error.node);
        overloaded = error.overloaded ?? overloaded;
      }
    }
  }

  /** The shards by the node that is to search them, of few nodes. */
  private placesOf({ collection, shards }: Asked, silent: ReadonlySet<string>): Map<string, number[]> {
    const places = new Map<string, number[]>();
    const holding = this.options.placer.othersByShard(collection, shards);
    for (const [i, shard] of shards.entries()) {
      const others = (holding[i] ?? []).filter((name) => !silent.has(name));
      const chosen = others.length === 0 ? this.options.node : others.find((name) => places.has(name));
      const name = chosen ?? (this.fasterFirst(others)[0] as string);
      places.set(name, [...(places.get(name) ?? []), shard]);
    }
    return places;
  }

  private partOf({ collection, tenant, signal }: Asked, node: string, shards: readonly number[]): Part {
    const { searches, shards: pool } = this.options;
    const of = { collection, shards, tenant: tenant as Tenant, signal };
    if (node === this.options.node) {
      const context = { searches, shards: pool };
      const take = <T>(step: SearchStep): Promise<T> => stepInShards(context, step, of.tenant, signal) as Promise<T>;
      return {
        shards,
        take,
        count: (count) => countShards(context, count, of.tenant, signal),
      };
    }
    let process: string | undefined;
    const ask = async <T>(work: Work): Promise<T> => {
      if (signal?.aborted) throw abandoned();
      const asked = { ...of, work };
      const answer = await this.ask(node, asked, this.questionOf(asked));
      process = answer.process;
      return answer.value as T;
    };
    const take = <T>(step: SearchStep): Promise<T> => ask({ step, process });
    return { shards, take, count: (count) => ask({ count }) };
  }

  private questionOf({ work, shards, tenant }: Asked): Uint8Array {
    const { commandLog, stream } = this.options;
    return packr.pack({
      ...work,
      tenant: tenant as Tenant,
      stream: stream.id,
      after: commandLog.lastApplied(shards),
    } satisfies Question);
  }

  /** What another node answers; undefined if this node is to search itself. */
  private async elsewhere(asked: Asked): Promise<Result | undefined> {
    const { placer } = this.options;
    const { collection, shards, signal } = asked;
    let left = placer.othersHolding(collection, shards[0]);
    if (left.length === 0) return void placer.searchedHere(collection, shards);
    const question = this.questionOf(asked);
    let overloaded: AppError | undefined;
    for (; left.length > 0; left = left.slice(1)) {
      if (signal?.aborted) throw abandoned();
      left = this.fasterFirst(left);
      try {
        return (await this.askHedged(left, asked, question)).value;
      } catch (error) {
        if (!(error instanceof Unanswered)) throw error;
        this.counts.unanswered++;
        overloaded = error.overloaded ?? overloaded;
      }
    }
    // Loading the collection here would add to the load.
    if (overloaded) throw overloaded;
    return void placer.searchedHere(collection, shards);
  }

  /** Of two that are drawn, the one comes first that is expected to answer sooner. */
  private fasterFirst(nodes: readonly string[]): string[] {
    const start = Math.floor(Math.random() * nodes.length);
    const drawn = [...nodes.slice(start), ...nodes.slice(0, start)];
    const [first, second, ...rest] = drawn as [string, string?, ...string[]];
    if (second === undefined || this.expectedMs(first) <= this.expectedMs(second)) return drawn;
    return [second, first, ...rest];
  }

  /** How long a further search of a node takes: as long as the latest ones, and those that it has under way. */
  private expectedMs(node: string): number {
    let underWay = 1;
    for (const each of this.waiting) if (each.node === node) underWay++;
    return underWay * (this.averages.get(node) ?? 0);
  }

  /** Asks the first node, and the second one too if the first takes longer than most searches do. */
  private async askHedged([first, second]: readonly string[], asked: Asked, question: Uint8Array): Promise<Success> {
    const answered = this.ask(first as string, asked, question);
    if (second === undefined) return answered;
    const slow = Symbol('slow');
    let timer: NodeJS.Timeout | undefined;
    const isSlow = new Promise<typeof slow>(
      (resolve) => (timer = setTimeout(() => resolve(slow), Math.min(this.hedgeMs, ASK_MS))),
    );
    const answer = await Promise.race([answered, isSlow]).finally(() => clearTimeout(timer));
    if (answer !== slow) return answer;
    if (this.counts.hedged > HEDGED_SHARE * this.counts.sent + HEDGED_BURST) return answered;
    this.counts.hedged++;
    return Promise.any([answered, this.ask(second, asked, question)]).catch((error: AggregateError) => {
      throw (error.errors as Error[]).find((one) => !(one instanceof Unanswered)) ?? error.errors[0];
    });
  }

  /** Rejects with Unanswered, and with the AppError of the other node. */
  private async ask(node: string, asked: Asked, question: Uint8Array): Promise<Success> {
    const startedAtMs = performance.now();
    this.counts.sent++;
    const entry = { node, asked, giveUp: () => {} };
    const givenUp = new Promise<never>((_, reject) => (entry.giveUp = () => reject(new Unanswered(node))));
    this.waiting.add(entry);
    try {
      const answer = await Promise.race([this.answerOf(node, question), givenUp]);
      if ('value' in answer) return answer;
      const error = AppError.fromWire(answer.error);
      if (errorTypeOf(error.code) !== 'unavailable') throw error;
      throw new Unanswered(node, error.code === 'overloaded' ? error : undefined);
    } finally {
      this.waiting.delete(entry);
      this.took(node, performance.now() - startedAtMs);
    }
  }

  private took(node: string, ms: number): void {
    this.latencies.add(ms);
    const before = this.averages.get(node);
    this.averages.set(node, before === undefined ? ms : before + LATEST_WEIGHT * (ms - before));
  }

  private async answerOf(node: string, question: Uint8Array): Promise<Exclude<Answer, { answer: string }>> {
    const { stream } = this.options;
    const asked = async (packed: Uint8Array): Promise<Uint8Array> => {
      try {
        return await stream.ask('search', node, packed, ASK_MS);
      } catch {
        throw new Unanswered(node);
      }
    };
    const answer = packr.unpack(await asked(question)) as Answer;
    if (!('answer' in answer)) return answer;
    const parts: Uint8Array[] = [];
    for (let from = 0; from < answer.bytes; ) {
      const part = await asked(packr.pack({ answer: answer.answer, from } satisfies Question));
      if (part.length === 0) throw new Unanswered(node);
      parts.push(part);
      from += part.length;
    }
    return packr.unpack(Buffer.concat(parts)) as Exclude<Answer, { answer: string }>;
  }

  /** Gives up what is waited for of nodes that are not to be asked any more, and forgets slowness. */
  private look(): void {
    const [slow] = this.latencies.quantiles(0.95) ?? [];
    if (slow !== undefined && this.latencies.count >= KNOWN_MIN) this.hedgeMs = Math.max(HEDGE_MS_MIN, slow);
    for (const { node, asked, giveUp } of this.waiting) {
      const { collection, shards } = asked;
      const holds = (shard?: number): boolean => this.options.placer.othersHolding(collection, shard).includes(node);
      if (!(shards.length === 0 ? holds() : shards.some((shard) => holds(shard)))) giveUp();
    }
    for (const [node, ms] of this.averages) this.averages.set(node, 0.95 * ms);
  }

  /** Answers another node. */
  private async answer(packed: Uint8Array): Promise<Uint8Array> {
    const question = packr.unpack(packed) as Question;
    const pieceBytes = this.options.stream.payloadBytesMax - HEADER_BYTES;
    if ('answer' in question) {
      const bytes = this.answers.get(question.answer);
      return bytes?.subarray(question.from, question.from + pieceBytes) ?? new Uint8Array();
    }
    this.counts.received++;
    const answer = packr.pack(await this.run(question));
    if (answer.length <= pieceBytes) return answer;
    const name = String(++this.answered);
    this.answers.set(name, answer);
    setTimeout(() => this.answers.delete(name), ANSWER_KEPT_MS).unref();
    return packr.pack({ answer: name, bytes: answer.length } satisfies Answer);
  }

  private async run(question: Exclude<Question, { answer: string }>): Promise<Answer> {
    const { commandLog, stream, searches, shards, log } = this.options;
    try {
      const { tenant, after } = question;
      const isCurrent =
        question.stream === stream.id && (await commandLog.reached(after, BEHIND_MS, shardsIn(question)));
      const isSame = !('step' in question) || question.process === undefined || question.process === this.process;
      if (!isCurrent || !isSame) throw new AppError('node_behind', undefined, { retryAfterS: 1 });
      const context = { searches, shards };
      const run = (): Promise<Result> => {
        if ('step' in question) return stepInShards(context, question.step, tenant);
        if ('search' in question) return findInShards(context, question.search, tenant);
        return countShards(context, question.count, tenant);
      };
      return { value: await run(), process: this.process };
    } catch (error) {
      if (error instanceof AppError) return { error: error.toWire() };
      log.error({ error: (error as Error).stack }, 'a search of another node has failed');
      return { error: new AppError('shard_unavailable').toWire() };
    }
  }
}

function shardsIn(work: Work): readonly number[] {
  if ('search' in work) return work.search.shards ?? [];
  if ('count' in work) return work.count.shards;
  return shardsOfStep(work.step);
}
