// Searches of a cluster whose nodes share the memory: a node runs those of the collections that it holds, and sends the
// others to a node that does. Every search is repeated elsewhere if a node does not answer, since it changes nothing. Runs
// on the main thread.
import { Packr } from 'msgpackr';
import { AppError, type WireError, abandoned, errorTypeOf } from '../../api/errors.js';
import type { CollectionId, Tenant } from '../../api/ids.js';
import { LatencyWindow } from '../../base/histogram.js';
import type { Log } from '../../base/log.js';
import type { CancelSignal } from '../../base/signals.js';
import type { ReplicatedLog } from '../../cluster/command-log.js';
import type { LogStream } from '../../cluster/log-stream.js';
import type { CollectionCount, Counted } from '../../engine/search/count.js';
import type { CollectionSearch, Found, MissingIndexes, SearchResult } from '../../engine/search/params.js';
import type { SearchPool } from '../../pool/search-pool.js';
import { type CountContext, type ShardsContext, countShards, findInShards } from '../search/shards.js';
import type { MemoryPlacer } from './memory-placer.js';

interface RoutedSearchesOptions {
  /** Runs the searches of this node. */
  readonly searches: Pick<SearchPool, 'request' | 'count'>;
  readonly shards: ShardsContext['shards'];
  readonly placer: MemoryPlacer;
  readonly commandLog: Pick<ReplicatedLog, 'lastApplied' | 'reached'>;
  readonly stream: Pick<LogStream, 'id' | 'ask' | 'onAsked' | 'payloadBytesMax'>;
  /** The id of this node. */
  readonly node: string;
  readonly log: Log;
}

type Work = { readonly search: CollectionSearch } | { readonly count: CollectionCount };
type Result = Found | Counted;

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

type Answer =
  | { readonly value: Result }
  | { readonly error: WireError }
  /** The answer has so many bytes, and is asked for by its name. */
  | { readonly answer: string; readonly bytes: number };

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
  constructor(readonly overloaded?: AppError) {
    super();
  }
}

export class RoutedSearches implements Pick<SearchPool, 'request' | 'count'> {
  private readonly latencies = new LatencyWindow();
  /** How long each node takes, in milliseconds. */
  private readonly averages = new Map<string, number>();
  private readonly waiting = new Set<{ node: string; collection: CollectionId; giveUp: () => void }>();
  private readonly answers = new Map<string, Uint8Array>();
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
    const found = await this.elsewhere({ search }, search.collection.id, search.shards, tenant, signal);
    return (found as Found | undefined) ?? this.options.searches.request(search, tenant, signal);
  }

  /** Rejects as SearchPool.count does. */
  async count(count: CollectionCount, tenant: string, signal?: CancelSignal): Promise<Counted | MissingIndexes[]> {
    const counted = await this.elsewhere({ count }, count.collection.id, count.shards, tenant, signal);
    return (counted as Counted | undefined) ?? this.options.searches.count(count, tenant, signal);
  }

  /** What another node answers; undefined if this node is to search itself. */
  private async elsewhere(
    work: Work,
    collection: CollectionId,
    shards: readonly number[] = [],
    tenant: string,
    signal: CancelSignal | undefined,
  ): Promise<Result | undefined> {
    const { placer, commandLog, stream } = this.options;
    let left = placer.othersHolding(collection);
    if (left.length === 0) return void placer.searchedHere(collection);
    const question = packr.pack({
      ...work,
      tenant: tenant as Tenant,
      stream: stream.id,
      after: commandLog.lastApplied(shards),
    } satisfies Question);
    let overloaded: AppError | undefined;
    for (; left.length > 0; left = left.slice(1)) {
      if (signal?.aborted) throw abandoned();
      left = this.fasterFirst(left);
      try {
        return await this.askHedged(left, collection, question);
      } catch (error) {
        if (!(error instanceof Unanswered)) throw error;
        this.counts.unanswered++;
        overloaded = error.overloaded ?? overloaded;
      }
    }
    // Loading the collection here would add to the load.
    if (overloaded) throw overloaded;
    return void placer.searchedHere(collection);
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
  private async askHedged(
    [first, second]: readonly string[],
    collection: CollectionId,
    question: Uint8Array,
  ): Promise<Result> {
    const asked = this.ask(first as string, collection, question);
    if (second === undefined) return asked;
    const slow = Symbol('slow');
    let timer: NodeJS.Timeout | undefined;
    const isSlow = new Promise<typeof slow>(
      (resolve) => (timer = setTimeout(() => resolve(slow), Math.min(this.hedgeMs, ASK_MS))),
    );
    const answer = await Promise.race([asked, isSlow]).finally(() => clearTimeout(timer));
    if (answer !== slow) return answer;
    if (this.counts.hedged > HEDGED_SHARE * this.counts.sent + HEDGED_BURST) return asked;
    this.counts.hedged++;
    return Promise.any([asked, this.ask(second, collection, question)]).catch((error: AggregateError) => {
      throw (error.errors as Error[]).find((one) => !(one instanceof Unanswered)) ?? error.errors[0];
    });
  }

  /** Rejects with Unanswered, and with the AppError of the other node. */
  private async ask(node: string, collection: CollectionId, question: Uint8Array): Promise<Result> {
    const startedAtMs = performance.now();
    this.counts.sent++;
    const entry = { node, collection, giveUp: () => {} };
    const givenUp = new Promise<never>((_, reject) => (entry.giveUp = () => reject(new Unanswered())));
    this.waiting.add(entry);
    try {
      const answer = await Promise.race([this.answerOf(node, question), givenUp]);
      if ('value' in answer) return answer.value;
      const error = AppError.fromWire(answer.error);
      if (errorTypeOf(error.code) !== 'unavailable') throw error;
      throw new Unanswered(error.code === 'overloaded' ? error : undefined);
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
        throw new Unanswered();
      }
    };
    const answer = packr.unpack(await asked(question)) as Answer;
    if (!('answer' in answer)) return answer;
    const parts: Uint8Array[] = [];
    for (let from = 0; from < answer.bytes; ) {
      const part = await asked(packr.pack({ answer: answer.answer, from } satisfies Question));
      if (part.length === 0) throw new Unanswered();
      parts.push(part);
      from += part.length;
    }
    return packr.unpack(Buffer.concat(parts)) as Exclude<Answer, { answer: string }>;
  }

  /** Gives up what is waited for of nodes that are not to be asked any more, and forgets slowness. */
  private look(): void {
    const [slow] = this.latencies.quantiles(0.95) ?? [];
    if (slow !== undefined && this.latencies.count >= KNOWN_MIN) this.hedgeMs = Math.max(HEDGE_MS_MIN, slow);
    for (const { node, collection, giveUp } of this.waiting)
      if (!this.options.placer.othersHolding(collection).includes(node)) giveUp();
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
      const wanted = 'search' in question ? question.search.shards : question.count.shards;
      const isCurrent = question.stream === stream.id && (await commandLog.reached(after, BEHIND_MS, wanted ?? []));
      if (!isCurrent) throw new AppError('node_behind', undefined, { retryAfterS: 1 });
      const context: ShardsContext & CountContext = { searches, shards };
      return {
        value:
          'search' in question
            ? await findInShards(context, question.search, tenant)
            : await countShards(context, question.count, tenant),
      };
    } catch (error) {
      if (error instanceof AppError) return { error: error.toWire() };
      log.error({ error: (error as Error).stack }, 'a search of another node has failed');
      return { error: new AppError('shard_unavailable').toWire() };
    }
  }
}
