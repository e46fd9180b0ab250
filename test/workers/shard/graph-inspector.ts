// Reads an index's graph straight out of shared memory, by the layout and nothing else: what holds of it, whatever the kernel
// thinks. For tests of the graph's invariants (workers/shard/README.md).
import { FIRST_ROWS, LINKS_0, NODE_WORDS_BYTES, NONE, ROOT_ENTRY, ROOT_GRAPH, ROOT_NODE_BLOCKS, ROOT_ROWS_END } from '../../../workers/shard/layout.js';

export interface GraphReport {
  /** Nodes of level 0, way-points included. */
  readonly nodes: number;
  readonly copies: number;
  /** Links that the other side does not return, or that lead to a row that is no node. */
  readonly badLinks: number;
  /** Nodes that no path on level 0 leads to from the entry point. */
  readonly unreachable: number;
}

interface Node {
  readonly links: readonly number[];
  readonly isCopy: boolean;
}

/** Requires that nothing writes meanwhile. */
export function inspectGraph(memory: WebAssembly.Memory, root: number): GraphReport {
  const words = new Uint32Array(memory.buffer);
  const word = (at: number): number => words[at >>> 2] as number;
  const end = word(root + ROOT_ROWS_END);
  const linked = new Map<number, Node>();
  for (let ordinal = 0; ordinal < end; ordinal++) {
    const node = readNode(word, root, ordinal);
    if (node) linked.set(ordinal, node);
  }
  const nodes = new Map([...linked].filter(([, { isCopy }]) => !isCopy));
  const isMutual = (from: number, to: number): boolean => nodes.get(to)?.links.includes(from) ?? false;
  const badLinks = [...nodes].flatMap(([from, { links }]) => links.filter((to) => !isMutual(from, to))).length;
  const reached = reach(nodes, word(root + ROOT_ENTRY) & 0x0fffffff);
  return { nodes: nodes.size, copies: linked.size - nodes.size, badLinks, unreachable: nodes.size - reached };
}

/** The node of an ordinal, or undefined where it is not in the graph. */
function readNode(word: (at: number) => number, root: number, ordinal: number): Node | undefined {
  const place = ordinal + FIRST_ROWS;
  const shift = 29 - Math.clz32(place);
  const row = place & ((1 << shift) - 1);
  const block = word(root + ROOT_NODE_BLOCKS + 4 * (((shift - 2) << 2) + (place >>> shift) - 4));
  if (block === 0) return undefined;
  const nodeWords = block + LINKS_0 * 4 * 2 ** shift + row * NODE_WORDS_BYTES;
  if (word(nodeWords) !== word(root + ROOT_GRAPH)) return undefined;
  const slots = Array.from({ length: LINKS_0 }, (_, slot) => word(block + 4 * (row * LINKS_0 + slot)));
  const count = slots.indexOf(NONE);
  return { links: count < 0 ? slots : slots.slice(0, count), isCopy: word(nodeWords + 8) !== 0 };
}

function reach(nodes: ReadonlyMap<number, Node>, entry: number): number {
  const seen = new Set(nodes.has(entry) ? [entry] : []);
  for (const ordinal of seen) for (const next of nodes.get(ordinal)?.links ?? []) seen.add(next);
  return seen.size;
}
