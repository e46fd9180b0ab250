// What a node does for other nodes that do not hold a collection in memory: their searches, steps of searches, and counts.
// Runs on front threads and on the main thread.
import { Packr } from 'msgpackr';
import { AppError, type WireError } from '../../api/errors.js';
import type { Tenant } from '../../api/ids.js';
import type { Log } from '../../base/log.js';
import type { LogProgress } from '../../base/log-progress.js';
import type { RoutedMeter } from '../../base/meters.js';
import type { CancelSignal } from '../../base/signals.js';
import type { LinkServer } from '../../cluster/node-links.js';
import type { CollectionCount } from '../../engine/search/count.js';
import type { Counted } from '../../engine/search/facets.js';
import type { CollectionSearch, Found } from '../../engine/search/params.js';
import { type SearchStep, type StepAnswer, shardsOfStep } from '../../engine/search/step-messages.js';
import type { SearchPool } from '../../pool/search-pool.js';
import { type ShardsContext, countShards, findInShards, stepInShards } from '../search/shards.js';

/** Work on the shards of a collection that a node holds. */
export type NodeWork =
  | { readonly search: CollectionSearch }
  | { readonly count: CollectionCount }
  /** `process`: the one that has taken the steps before. */
  | { readonly step: SearchStep; readonly process?: string | undefined };

export type NodeResult = Found | Counted | StepAnswer;

export type NodeQuestion = NodeWork & {
  readonly tenant: Tenant;
  /** The stream that `after` is of. */
  readonly stream: string;
  /** The answer shows everything up to this message to the shards of the collection. */
  readonly after: number;
};

/** `process`: rows have other numbers in another process of the same node. */
export type NodeAnswer = { readonly value: NodeResult; readonly process: string } | { readonly error: WireError };

export interface WorkContext {
  readonly searches: Pick<SearchPool, 'request' | 'count' | 'step'>;
  readonly shards: ShardsContext['shards'];
}

/** Does work on the shards of this server. */
export function workHere(
  context: WorkContext,
  work: NodeWork,
  tenant: Tenant,
  signal?: CancelSignal,
): Promise<NodeResult> {
  if ('step' in work) return stepInShards(context, work.step, tenant, signal);
  if ('search' in work) return findInShards(context, work.search, tenant, signal);
  return countShards(context, work.count, tenant, signal);
}

interface SearchAnswersOptions extends WorkContext {
  readonly progress: Pick<LogProgress, 'shared' | 'reached'>;
  readonly links: Pick<LinkServer, 'on'>;
  readonly meter: RoutedMeter;
  readonly log: Log;
}

const BEHIND_MS = 1000;

const packr = new Packr({ moreTypes: true, useRecords: false });

/** Answers the searches of other nodes from now on. `process`: an id of this process, by which all its threads answer. */
export function answerSearches(process: string, options: SearchAnswersOptions): void {
  options.links.on('search', async (packed) => {
    options.meter.add('received');
    return packr.pack(await answerTo(packr.unpack(packed) as NodeQuestion, process, options));
  });
}

async function answerTo(question: NodeQuestion, process: string, options: SearchAnswersOptions): Promise<NodeAnswer> {
  const { progress, log } = options;
  try {
    const { tenant, after } = question;
    const isCurrent =
      question.stream === progress.shared.stream && (await progress.reached(after, shardsIn(question), BEHIND_MS));
    const isSame = !('step' in question) || question.process === undefined || question.process === process;
    if (!isCurrent || !isSame) throw new AppError('node_behind', undefined, { retryAfterS: 1 });
    return { value: await workHere(options, question, tenant), process };
  } catch (error) {
    if (error instanceof AppError) return { error: error.toWire() };
    log.error({ error: (error as Error).stack }, 'a search of another node has failed');
    return { error: new AppError('shard_unavailable').toWire() };
  }
}

function shardsIn(work: NodeWork): readonly number[] {
  if ('search' in work) return work.search.shards ?? [];
  if ('count' in work) return work.count.shards;
  return shardsOfStep(work.step);
}
