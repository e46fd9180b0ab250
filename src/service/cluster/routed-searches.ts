// Searches of a cluster whose nodes share the memory: a node runs those of the collections that it holds, and sends the
// others to a node that does. Every search is repeated elsewhere if a node does not answer, since it changes nothing. Runs
// on front threads and on the main thread.
import { Packr } from 'msgpackr';
import { AppError, abandoned, errorTypeOf } from '../../api/errors.js';
import type { CollectionId, Tenant } from '../../api/ids.js';
import type { Unit } from '../../api/memory-placement.js';
import { LatencyWindow } from '../../base/histogram.js';
import type { LogProgress } from '../../base/log-progress.js';
import type { RoutedMeter } from '../../base/meters.js';
import type { CancelSignal } from '../../base/signals.js';
import type { NodeAsk } from '../../cluster/node-links.js';
import type { CollectionCount } from '../../engine/search/count.js';
import type { Counted } from '../../engine/search/facets.js';
import type { CollectionSearch, Found, MissingIndexes, SearchResult } from '../../engine/search/params.js';
import type { SearchStep } from '../../engine/search/step-messages.js';
import type { SearchPool } from '../../pool/search-pool.js';
import type { MemoryHolders } from './memory-holders.js';
import type { NodeAnswer, NodeQuestion, NodeResult, NodeWork } from './search-answers.js';
import { type Part, countParts, searchParts } from './spread-search.js';

interface RoutedSearchesOptions {
  /** Runs the searches of this node. */
  readonly searches: Pick<SearchPool, 'request'>;
  /** Does any work on this node. */
  readonly here: (work: NodeWork, tenant: Tenant, signal?: CancelSignal) => Promise<NodeResult>;
  readonly holders: MemoryHolders;
  /** Takes note that this node searches what others should hold. */
  readonly standsIn: (units: readonly Unit[]) => void;
  readonly progress: Pick<LogProgress, 'shared' | 'lastApplied'>;
  readonly ask: NodeAsk;
  /** The id of this node. */
  readonly node: string;
  readonly meter: RoutedMeter;
}

interface Success {
  readonly value: NodeResult;
  readonly process: string;
}

/** Work on some shards of a collection. */
interface Asked {
  readonly work: NodeWork;
  readonly collection: CollectionId;
  readonly shards: readonly number[];
  readonly tenant: Tenant;
  readonly signal: CancelSignal | undefined;
}

const packr = new Packr({ moreTypes: true, useRecords: false });

const ASK_MS = 25_000;
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
  private sent = 0;
  private hedged = 0;
  /** A search that takes longer is sent to a second node. */
  private hedgeMs = Infinity;
  private readonly timer: NodeJS.Timeout;

  constructor(private readonly options: RoutedSearchesOptions) {
    this.timer = setInterval(() => this.look(), LOOK_MS).unref();
  }

  close(): void {
    clearInterval(this.timer);
  }

  /** Rejects as SearchPool.request does. */
  async request(search: CollectionSearch, tenant: string, signal?: CancelSignal): Promise<SearchResult> {
    const { collection, shards = [] } = search;
    const asked: Asked = { work: { search }, collection: collection.id, shards, tenant: tenant as Tenant, signal };
    const found = this.isSpread(asked)
      ? await this.inParts(asked, (parts) => searchParts(parts, search))
      : await this.elsewhere(asked);
    return (found as Found | undefined) ?? this.options.searches.request(search, tenant, signal);
  }

  /** Rejects as SearchPool.count does. */
  async count(count: CollectionCount, name: string, signal?: CancelSignal): Promise<Counted | MissingIndexes[]> {
    const tenant = name as Tenant;
    const asked: Asked = { work: { count }, collection: count.collection.id, shards: count.shards, tenant, signal };
    const counted = this.isSpread(asked)
      ? await this.inParts(asked, (parts) => countParts(parts, count))
      : await this.elsewhere(asked);
    return (counted ?? (await this.options.here({ count }, tenant, signal))) as Counted;
  }

  /** Whether several nodes may hold the shards. */
  private isSpread({ shards }: Asked): boolean {
    return this.options.holders.placesShards && shards.length > 1;
  }

  /**
   * What the nodes answer that hold the shards. Undefined if this node is to search all of them: it holds them, or nobody
   * else does.
   */
  private async inParts(
    asked: Asked,
    work: (parts: readonly Part[]) => Promise<NodeResult>,
  ): Promise<NodeResult | undefined> {
    const { node } = this.options;
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
      this.standIn(collection, own);
      if (own.length === shards.length) return undefined;
      try {
        const [[first]] = places as unknown as [[string]];
        if (places.size === 1) return (await this.ask(first, asked, this.questionOf(asked))).value;
        return await work(Array.from(places, ([name, held]) => this.partOf(asked, name, held)));
      } catch (error) {
        if (!(error instanceof Unanswered)) throw error;
        this.options.meter.add('unanswered');
        silent.add(error.node);
        overloaded = error.overloaded ?? overloaded;
      }
    }
  }

  /** The shards by the node that is to search them, of few nodes. */
  private placesOf({ collection, shards }: Asked, silent: ReadonlySet<string>): Map<string, number[]> {
    const places = new Map<string, number[]>();
    const holding = this.options.holders.othersByShard(collection, shards);
    for (const [i, shard] of shards.entries()) {
      const others = (holding[i] ?? []).filter((name) => !silent.has(name));
      const chosen = others.length === 0 ? this.options.node : others.find((name) => places.has(name));
      const name = chosen ?? (this.fasterFirst(others)[0] as string);
      places.set(name, [...(places.get(name) ?? []), shard]);
    }
    return places;
  }

  private partOf({ collection, tenant, signal }: Asked, node: string, shards: readonly number[]): Part {
    let process: string | undefined;
    const elsewhere = async (work: NodeWork): Promise<NodeResult> => {
      if (signal?.aborted) throw abandoned();
      const asked = { collection, shards, tenant, signal, work };
      const answer = await this.ask(node, asked, this.questionOf(asked));
      process = answer.process;
      return answer.value;
    };
    const { node: own, here } = this.options;
    const isHere = node === own;
    const done = (work: NodeWork): Promise<NodeResult> => (isHere ? here(work, tenant, signal) : elsewhere(work));
    const take = <T>(step: SearchStep): Promise<T> => done(isHere ? { step } : { step, process }) as Promise<T>;
    return { shards, take, count: (count) => done({ count }) as Promise<Counted> };
  }

  /** This node searches these shards. */
  private standIn(collection: CollectionId, shards: readonly number[]): void {
    const units = this.options.holders.foreignUnits(collection, shards);
    if (units.length > 0) this.options.standsIn(units);
  }

  private questionOf({ work, shards, tenant }: Asked): Uint8Array {
    const { progress } = this.options;
    return packr.pack({
      ...work,
      tenant,
      stream: progress.shared.stream,
      after: progress.lastApplied(shards),
    } satisfies NodeQuestion);
  }

  /** What another node answers; undefined if this node is to search itself. */
  private async elsewhere(asked: Asked): Promise<NodeResult | undefined> {
    const { collection, shards, signal } = asked;
    let left = this.options.holders.othersHolding(collection, shards[0]);
    if (left.length === 0) return void this.standIn(collection, shards);
    const question = this.questionOf(asked);
    let overloaded: AppError | undefined;
    for (; left.length > 0; left = left.slice(1)) {
      if (signal?.aborted) throw abandoned();
      left = this.fasterFirst(left);
      try {
        return (await this.askHedged(left, asked, question)).value;
      } catch (error) {
        if (!(error instanceof Unanswered)) throw error;
        this.options.meter.add('unanswered');
        overloaded = error.overloaded ?? overloaded;
      }
    }
    // Loading the collection here would add to the load.
    if (overloaded) throw overloaded;
    return void this.standIn(collection, shards);
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
    const { meter } = this.options;
    const slow = Symbol('slow');
    let timer: NodeJS.Timeout | undefined;
    const isSlow = new Promise<typeof slow>(
      (resolve) => (timer = setTimeout(() => resolve(slow), Math.min(this.hedgeMs, ASK_MS))),
    );
    const answer = await Promise.race([answered, isSlow]).finally(() => clearTimeout(timer));
    if (answer !== slow) return answer;
    if (this.hedged > HEDGED_SHARE * this.sent + HEDGED_BURST) return answered;
    this.hedged++;
    meter.add('hedged');
    return Promise.any([answered, this.ask(second, asked, question)]).catch((error: AggregateError) => {
      throw (error.errors as Error[]).find((one) => !(one instanceof Unanswered)) ?? error.errors[0];
    });
  }

  /** Rejects with Unanswered, and with the AppError of the other node. */
  private async ask(node: string, asked: Asked, question: Uint8Array): Promise<Success> {
    const startedAtMs = performance.now();
    this.sent++;
    this.options.meter.add('sent');
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

  private async answerOf(node: string, question: Uint8Array): Promise<NodeAnswer> {
    try {
      return packr.unpack(await this.options.ask('search', node, question, ASK_MS)) as NodeAnswer;
    } catch {
      throw new Unanswered(node);
    }
  }

  /** Gives up what is waited for of nodes that are not to be asked any more, and forgets slowness. */
  private look(): void {
    const [slow] = this.latencies.quantiles(0.95) ?? [];
    if (slow !== undefined && this.latencies.count >= KNOWN_MIN) this.hedgeMs = Math.max(HEDGE_MS_MIN, slow);
    for (const { node, asked, giveUp } of this.waiting) {
      const { collection, shards } = asked;
      const holds = (shard?: number): boolean => this.options.holders.othersHolding(collection, shard).includes(node);
      if (!(shards.length === 0 ? holds() : shards.some((shard) => holds(shard)))) giveUp();
    }
    for (const [node, ms] of this.averages) this.averages.set(node, 0.95 * ms);
  }
}
