// Searches that nodes send to each other, over links that a test controls: who is asked, and what follows when a node is
// slow, does not answer, is behind or refuses.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { AppError } from '../../../src/api/errors.js';
import type { CollectionId } from '../../../src/api/ids.js';
import { LogProgress } from '../../../src/base/log-progress.js';
import { type RoutedCounts, type RoutedMeter, SharedMeters } from '../../../src/base/meters.js';
import type { NodeState } from '../../../src/cluster/node-states.js';
import type { Answering } from '../../../src/cluster/node-links.js';
import type { CollectionSearch, Found } from '../../../src/engine/search/params.js';
import { MemoryPlacer } from '../../../src/service/cluster/memory-placer.js';
import type { SearchPool } from '../../../src/pool/search-pool.js';
import { RoutedSearches } from '../../../src/service/cluster/routed-searches.js';
import { answerSearches, workHere } from '../../../src/service/cluster/search-answers.js';
import { nodesHolding } from '../../../src/api/memory-placement.js';
import { SILENT } from '../../kit/log.js';
import { searchFor } from '../../kit/engine/search.js';
import { until } from '../../kit/until.js';

const ref = (id: number) =>
  ({ id: id as CollectionId, generation: 1, dim: 2, language: 'none', precision: 'int16' }) as const;
const searchOf = (id: number): CollectionSearch => ({ ...searchFor(ref(id), {}), shards: [0] });
const foundBy = (node: string): Found => ({
  ids: [node],
  scores: [1],
  json: ['{}'],
  timing: { embed_ms: 0, filter_ms: 0, hydrate_ms: 0, search_ms: 0 },
});
const whoFound = (found: unknown): string => (found as Found).ids[0] as string;

interface Behaviour {
  /** How long its searches take. */
  ms?: number;
  error?: AppError;
  /** It gets questions and answers none. */
  isStopped?: boolean;
  /** It is not heard of any more. */
  isSilent?: boolean;
}

interface Node {
  readonly placer: MemoryPlacer;
  readonly routed: RoutedSearches;
  readonly progress: LogProgress;
  readonly meter: RoutedMeter;
}

/** Nodes that share the memory, each collection on two of them, with a network in this process. */
class Nodes {
  readonly behaviours = new Map<string, Behaviour>();
  readonly searched: string[] = [];
  /** Nodes with the shards that they have counted. */
  readonly counted: string[] = [];
  private readonly answers = new Map<string, Answering>();
  private readonly all = new Map<string, Node>();
  /** The timers of the nodes do not keep the process. */
  private readonly timer = setInterval(() => undefined, 1000);

  constructor(
    readonly names: readonly string[],
    readonly copies = 2,
    /** The number of shards, if these are placed by themselves. */
    readonly shards?: number,
    /** Nodes that follow another stream, with its id. */
    private readonly streams: ReadonlyMap<string, string> = new Map(),
  ) {
    for (const name of names) this.all.set(name, this.create(name));
  }

  routed(name: string): RoutedSearches {
    return this.all.get(name)?.routed as RoutedSearches;
  }

  counts(name: string): RoutedCounts {
    return (this.all.get(name) as Node).meter.read();
  }

  /** A node has applied everything up to this message. */
  applied(name: string, sequence: number): void {
    const { progress } = this.all.get(name) as Node;
    progress.noteLast(0, sequence);
    progress.noteThrough(0, sequence);
  }

  /** A collection that these nodes hold, and one that does not. */
  held(): { id: number; holders: string[]; other: string } {
    const id = 7;
    const holders = nodesHolding(id as CollectionId, { members: this.names, copies: this.copies });
    return { id, holders, other: this.names.find((name) => !holders.includes(name)) as string };
  }

  close(): void {
    clearInterval(this.timer);
    for (const { placer, routed } of this.all.values()) {
      placer.close();
      routed.close();
    }
  }

  private behaviour(name: string): Behaviour {
    return this.behaviours.get(name) ?? {};
  }

  private states(): NodeState[] {
    return this.names.map((node) => ({
      node,
      received: 0,
      applied: 0,
      committed: 0,
      fenced: null,
      isAtRest: false,
      memory: { loading: [], kept: [] },
      heardAtMs: this.behaviour(node).isSilent ? 0 : Date.now(),
    }));
  }

  private create(name: string): Node {
    const placement = {
      members: [...this.names].sort(),
      own: name,
      copies: this.copies,
      ...(this.shards && { shards: this.shards }),
    };
    const placer = new MemoryPlacer({
      placement,
      leaveMs: 60_000,
      nodes: { all: () => this.states() },
      shards: { size: 0, request: () => Promise.reject(new Error('no shard is open')) },
      keepMembers: () => undefined,
      building: () => [],
      log: SILENT,
    });
    const search = async (): Promise<Found> => {
      const { ms = 0, error } = this.behaviour(name);
      this.searched.push(name);
      await sleep(ms);
      if (error) throw error;
      return foundBy(name);
    };
    const meter = SharedMeters.create(1).routed;
    const progress = LogProgress.of(this.streams.get(name) ?? 'stream', 8);
    const searches: Pick<SearchPool, 'request' | 'count' | 'step'> = {
      request: search,
      count: async ({ shards }) => {
        const { ms = 0, error } = this.behaviour(name);
        await sleep(ms);
        if (error) throw error;
        this.counted.push(...shards.map((shard) => `${name} ${shard}`));
        return { chunks: shards.length, facets: [] };
      },
      step: () => Promise.reject(new Error('not in steps here')),
    };
    const shards = { request: () => Promise.reject(new Error('nothing to prepare')), size: 1 };
    answerSearches(name, {
      searches,
      shards,
      progress,
      links: { on: (_, answer) => void this.answers.set(name, answer) },
      meter,
      log: SILENT,
    });
    const { holders, standsIn } = placer;
    const routed = new RoutedSearches({
      searches,
      here: (work, tenant, signal) => workHere({ searches, shards }, work, tenant, signal),
      holders,
      standsIn,
      progress,
      ask: async (_, node, question, timeoutMs) => {
        if (this.behaviour(node).isStopped) {
          await sleep(timeoutMs, undefined, { ref: false });
          throw new Error('timeout');
        }
        return Buffer.from((await (this.answers.get(node) as Answering)(question)) as Uint8Array);
      },
      node: name,
      meter,
    });
    return { placer, routed, progress, meter };
  }
}

test('a node searches what it holds, and asks a node that holds the rest', async (t) => {
  const nodes = new Nodes(['a', 'b', 'c', 'd']);
  t.after(() => nodes.close());
  const { id, holders, other } = nodes.held();
  for (const holder of holders)
    assert.equal(whoFound(await nodes.routed(holder).request(searchOf(id), 'acme')), holder);
  for (let i = 0; i < 20; i++)
    assert.ok(holders.includes(whoFound(await nodes.routed(other).request(searchOf(id), 'acme'))));
  assert.deepEqual(nodes.counts(other), { sent: 20, hedged: 0, unanswered: 0, received: 0 });
});

test('a node that is behind what the asking one shows is passed over, and what is refused is refused', async (t) => {
  const nodes = new Nodes(['a', 'b', 'c', 'd']);
  t.after(() => nodes.close());
  const { id, holders, other } = nodes.held();
  const [behind, current] = holders as [string, string];
  for (const [name, sequence] of [
    [other, 9],
    [current, 9],
    [behind, 8],
  ] as const)
    nodes.applied(name, sequence);
  for (let i = 0; i < 10; i++) assert.equal(whoFound(await nodes.routed(other).request(searchOf(id), 'acme')), current);
  nodes.behaviours.set(current, { error: new AppError('invalid_docid') });
  await assert.rejects(nodes.routed(other).request(searchOf(id), 'acme'), { code: 'invalid_docid' });
});

test('a search that takes long is sent to a second node, for few of all searches', async (t) => {
  const nodes = new Nodes(['a', 'b', 'c', 'd']);
  t.after(() => nodes.close());
  const { id, holders, other } = nodes.held();
  const routed = nodes.routed(other);
  const [stopped, fast] = holders as [string, string];
  nodes.behaviours.set(fast, { ms: 30 });
  for (let i = 0; i < 100; i++) await routed.request(searchOf(id), 'acme');
  // The node learns how long searches take.
  await sleep(400);
  nodes.behaviours.set(stopped, { isStopped: true });
  const startedAtMs = performance.now();
  for (let i = 0; i < 10; i++) assert.equal(whoFound(await routed.request(searchOf(id), 'acme')), fast);
  assert.ok(nodes.counts(other).hedged >= 1);
  assert.ok(nodes.counts(other).hedged <= 0.05 * nodes.counts(other).sent + 17);
  assert.ok(performance.now() - startedAtMs < 20_000);
});

test('what a silent node was asked is given up, and a node whose collections nobody has searches itself', async (t) => {
  const nodes = new Nodes(['a', 'b', 'c'], 1);
  t.after(() => nodes.close());
  const { id, holders, other } = nodes.held();
  const [holder] = holders as [string];
  nodes.behaviours.set(holder, { isStopped: true });
  const asked = nodes.routed(other).request(searchOf(id), 'acme');
  await until(() => nodes.counts(other).sent === 1);
  nodes.behaviours.set(holder, { isStopped: true, isSilent: true });
  assert.equal(whoFound(await asked), other);
  assert.equal(nodes.counts(other).unanswered, 1);
});

test('a node warns once of nodes that share the memory by other settings', async (t) => {
  const warnings: object[] = [];
  const memory = { loading: [], kept: [] };
  const stateOf = (node: string, own: NonNullable<NodeState['memory']>): NodeState => ({
    node,
    received: 0,
    applied: 0,
    committed: 0,
    fenced: null,
    isAtRest: false,
    memory: own,
    heardAtMs: Date.now(),
  });
  const placer = new MemoryPlacer({
    placement: { members: ['a', 'b', 'c', 'd'], own: 'a', copies: 2, shards: 4 },
    leaveMs: 60_000,
    nodes: {
      all: () => [
        stateOf('a', { ...memory, copies: 2, shards: 4 }),
        stateOf('b', { ...memory, copies: 1, shards: 4 }),
        stateOf('c', { ...memory, copies: 2 }),
        stateOf('d', memory),
      ],
    },
    shards: { size: 0, request: () => Promise.reject(new Error('no shard is open')) },
    keepMembers: () => undefined,
    building: () => [],
    log: { ...SILENT, warn: (what: object) => void warnings.push(what) } as typeof SILENT,
  });
  t.after(() => placer.close());
  assert.deepEqual([placer.told.copies, placer.told.shards], [2, 4]);
  await until(() => warnings.length > 0);
  await sleep(1200);
  assert.deepEqual(warnings, [{ nodes: 'b c' }]);
});

test('a search of another stream is not run', async (t) => {
  const names = ['a', 'b', 'c'];
  const [holder] = nodesHolding(7 as CollectionId, { members: names, copies: 1 });
  const other = names.find((name) => name !== holder) as string;
  const nodes = new Nodes(names, 1, undefined, new Map([[other, 'old']]));
  t.after(() => nodes.close());
  const { id, holders } = nodes.held();
  assert.equal(whoFound(await nodes.routed(other).request(searchOf(id), 'acme')), other);
  assert.deepEqual(nodes.searched, [other]);
  assert.equal(nodes.counts(holders[0] as string).received, 1);
});

test('where the holders have too many searches, the node that is asked passes that on, and does not search itself', async () => {
  const nodes = new Nodes(['a', 'b', 'c']);
  const { id, holders, other } = nodes.held();
  for (const name of holders)
    nodes.behaviours.set(name, { error: new AppError('overloaded', undefined, { retryAfterS: 1 }) });
  await assert.rejects(nodes.routed(other).request(searchOf(id), 'acme'), { code: 'overloaded' });
  assert.deepEqual([...new Set(nodes.searched)].sort(), [...holders].sort());
  nodes.behaviours.set(holders[0] as string, {});
  assert.equal(whoFound(await nodes.routed(other).request(searchOf(id), 'acme')), holders[0]);
  nodes.close();
});

test('shards that are placed by themselves are counted by their holders, however long that takes', async (t) => {
  const [names, copies, shards] = [['a', 'b', 'c'], 1, [0, 1, 2, 3, 4, 5]];
  const nodes = new Nodes(names, copies, shards.length);
  t.after(() => nodes.close());
  // Longer than the time after which a node is given up that does not hold what it was asked for any more.
  for (const name of names) nodes.behaviours.set(name, { ms: 700 });
  const id = 7 as CollectionId;
  const count = { collection: { ...searchOf(id).collection, id }, shards, facets: [] };
  const holderOf = (shard: number): string =>
    nodesHolding(id, { members: names, copies, shards: shards.length }, shard)[0] as string;
  assert.deepEqual(await nodes.routed('a').count(count, 'acme'), { chunks: 6, facets: [] });
  assert.deepEqual([...nodes.counted].sort(), shards.map((shard) => `${holderOf(shard)} ${shard}`).sort());
  assert.equal(nodes.counts('a').unanswered, 0);
  for (const name of names) assert.equal(shards.filter((shard) => holderOf(shard) === name).length, 2, 'an even share');

  // A node that cannot count now is passed over: the one that is asked counts in its place.
  nodes.counted.length = 0;
  nodes.behaviours.set('b', { error: new AppError('shard_unavailable') });
  assert.deepEqual(await nodes.routed('a').count(count, 'acme'), { chunks: 6, facets: [] });
  assert.ok(!nodes.counted.some((entry) => entry.startsWith('b')));
  assert.equal(nodes.counts('a').unanswered, 1);
});
