// Reads the graph of an index straight out of shared memory, by the memory layout alone, and reports which invariants
// hold (docs/internals/memory-layout.md).
import assert from 'node:assert/strict';
import type { Hits } from '../../../src/engine/hnsw/search-plan.js';
import { type VectorIndex, placeOf } from '../../../src/engine/hnsw/vector-index.js';
import {
  EDGES_0,
  EDGES_UP,
  FIRST_ROWS,
  LEVEL_BITS,
  LEVEL_MAX,
  NODE_WORDS_BYTES,
  NONE,
  ROOT_ENTRY,
  ROOT_GRAPH,
  ROOT_NODE_TABLE,
  ROOT_ROWS_END,
} from '../../../src/engine/memory/layout.js';
import type { Bitmap } from '../../../src/engine/filter/bitmap.js';
import { createKernel, createMemory } from './arena.js';
import { NaiveIndex, assertSound, recallOf } from './naive-vector-index.js';

interface GraphReport {
  /** The number of nodes on level 0, way-points included. */
  readonly nodes: number;
  readonly duplicates: number;
  /**
   * Edges of any level that have no edge back, that occur twice in a list, or that lead to their own node or to no row.
   */
  readonly badEdges: number;
  /** Nodes that no path on level 0 reaches from the entry point. */
  readonly unreachable: number;
  /** The mean number of edges of a node on level 0. */
  readonly edges: number;
}

interface Node {
  readonly edges: readonly number[];
  /** The edges on the levels above 0. */
  readonly upper: readonly (readonly number[])[];
  readonly isDuplicate: boolean;
}

/** Reports on the graph of the index at `root`. Nothing may write meanwhile. */
export function inspectGraph(memory: WebAssembly.Memory, root: number): GraphReport {
  const words = new Uint32Array(memory.buffer);
  const word = (at: number): number => words[at >>> 2] as number;
  const end = word(root + ROOT_ROWS_END);
  const indexed = new Map<number, Node>();
  for (let ordinal = 0; ordinal < end; ordinal++) {
    const node = readNode(word, root, ordinal);
    if (node) indexed.set(ordinal, node);
  }
  const nodes = new Map([...indexed].filter(([, { isDuplicate }]) => !isDuplicate));
  const isMutual = (from: number, to: number): boolean => nodes.get(to)?.edges.includes(from) ?? false;
  const isMutualAbove = (from: number, to: number, level: number): boolean =>
    nodes.get(to)?.upper[level]?.includes(from) ?? false;
  const badEdges = [...nodes].flatMap(([from, { edges }]) => edges.filter((to) => !isMutual(from, to))).length;
  const repeated = [...nodes].reduce(
    (sum, [from, { edges }]) => sum + edges.length - new Set(edges.filter((to) => to !== from)).size,
    0,
  );
  const badAbove = [...nodes].flatMap(([from, { upper }]) =>
    upper.flatMap((edges, level) => edges.filter((to) => !isMutualAbove(from, to, level))),
  ).length;
  const reached = reach(nodes, word(root + ROOT_ENTRY) & 0x0fffffff);
  return {
    nodes: nodes.size,
    duplicates: indexed.size - nodes.size,
    badEdges: badEdges + badAbove + repeated,
    unreachable: nodes.size - reached,
    edges: totalOf(nodes) / nodes.size,
  };
}

function totalOf(nodes: ReadonlyMap<number, Node>): number {
  return [...nodes.values()].reduce((sum, { edges }) => sum + edges.length, 0);
}

/** The node of an ordinal, or undefined where the ordinal is not in the graph. */
function readNode(word: (at: number) => number, root: number, ordinal: number): Node | undefined {
  const { slot, rows, row } = placeOf(ordinal);
  const table = word(root + ROOT_NODE_TABLE);
  const block = table === 0 ? 0 : word(table + slot);
  if (block === 0) return undefined;
  const nodeWords = block + row * NODE_WORDS_BYTES;
  if (word(nodeWords) !== word(root + ROOT_GRAPH)) return undefined;
  const lists = block + rows * NODE_WORDS_BYTES;
  const edges = readList(word, lists + row * EDGES_0 * 4, EDGES_0);
  const upper: number[][] = [];
  let at = lists + rows * EDGES_0 * 4;
  for (let level = 1, shift = LEVEL_BITS; level <= levelOf(ordinal); level++, shift += LEVEL_BITS) {
    upper.push(readList(word, at + (row >>> shift) * EDGES_UP * 4, EDGES_UP));
    at += Math.max(1, rows >>> shift) * EDGES_UP * 4;
  }
  return { edges, upper, isDuplicate: word(nodeWords + 4) !== 0 };
}

function readList(word: (at: number) => number, at: number, width: number): number[] {
  const slots = Array.from({ length: width }, (_, slot) => word(at + 4 * slot));
  const count = slots.indexOf(NONE);
  return count < 0 ? slots : slots.slice(0, count);
}

/**
 * The top level of an ordinal's node: of 16 neighbouring nodes of a level, a hash of their number picks one for the
 * next level.
 */
export function levelOf(ordinal: number): number {
  let level = 0;
  for (
    let place = ordinal + FIRST_ROWS;
    level < LEVEL_MAX && place % 16 === nibbleOf((place >>> LEVEL_BITS) + level * 0x9e3779b9);
    level++
  )
    place >>>= LEVEL_BITS;
  return level;
}

function nibbleOf(group: number): number {
  let hash = (group + 0x9e3779b9) | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 28;
}

function reach(nodes: ReadonlyMap<number, Node>, entry: number): number {
  const seen = new Set(nodes.has(entry) ? [entry] : []);
  for (const ordinal of seen) for (const next of nodes.get(ordinal)?.edges ?? []) seen.add(next);
  return seen.size;
}

// An index beside its naive version, both filled with clustered vectors, and the recall of the index.

export const DIM = 32;
export const ROWS = 3000;

export interface Pair {
  memory: WebAssembly.Memory;
  index: VectorIndex;
  naive: NaiveIndex;
}

export function createPair(): Pair {
  const memory = createMemory();
  return { memory, index: createKernel(memory).createIndex(DIM, { graphMin: 100 }), naive: new NaiveIndex() };
}

export function indexAll(index: VectorIndex): void {
  while (index.indexSome(64) > 0);
}

export function build(next: () => Float32Array): Pair {
  const pair = createPair();
  for (let ordinal = 0; ordinal < ROWS; ordinal++) put(pair, ordinal, next());
  indexAll(pair.index);
  return pair;
}

export function put({ index, naive }: Pair, ordinal: number, vector: Float32Array): void {
  index.put(ordinal, vector);
  naive.put(ordinal, vector);
}

/** Mean recall@10 over a hundred queries; asserts that each answer is sound. */
export function recall({ index, naive }: Pair, next: () => Float32Array, ef: number, label: string): number {
  let sum = 0;
  for (let i = 0; i < 100; i++) {
    const query = next();
    const hits = index.search(query, 10, { ef });
    assertSound(index, naive, query, 10, hits, label);
    sum += recallOf(naive, query, 10, hits);
  }
  return sum / 100;
}

export function assertRecall(pair: Pair, next: () => Float32Array, label: string): void {
  const share = recall(pair, next, 64, label);
  assert(share >= 0.95, `${label}: recall@10 ${share}`);
}

/** The 10 nearest admitted rows as a graph search with this `ef` finds them, without an exact search behind it. */
export function searchWithin(index: VectorIndex, query: Float32Array, ef: number, allowed: Bitmap): Hits {
  const end = index['instance'].setBitmap(allowed);
  return index.searchBy(query, 10, { ef, rerank: ef }, end);
}
