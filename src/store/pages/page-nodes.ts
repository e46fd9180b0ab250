// What stands in a page of LMDB's trees (struct MDB_node of mdb.c): of a branch the pages below it, of a leaf its
// entries. Every offset is checked against the page. Pure. Used by page-walk.ts.
import { PAGE_HEAD_BYTES } from './page-file.js';

const BRANCH = 1;
const LEAF = 2;
/** Dirty pages and pages to keep are marks in memory; on the disk they say nothing. */
const KINDS = 0x0f;
const BIG = 1;
const NODE_HEAD_BYTES = 8;
const KEY_BYTES_MAX = 511;

export interface Leaf {
  key: Buffer;
  value: Buffer;
  /** Where the value stands, if not here. */
  overflow?: number;
  bytes: number;
}

/** The pages below, or what is wrong. */
export function parseBranch(page: Buffer): number[] | string {
  const nodes = nodesOf(page, BRANCH);
  if (typeof nodes === 'string') return nodes;
  return nodes.map(
    (at) => page.readUInt16LE(at) + page.readUInt16LE(at + 2) * 0x10000 + page.readUInt16LE(at + 4) * 0x100000000,
  );
}

/** Its entries, or what is wrong. */
export function parseLeaf(page: Buffer): Leaf[] | string {
  const nodes = nodesOf(page, LEAF);
  if (typeof nodes === 'string') return nodes;
  const leaves: Leaf[] = [];
  for (const at of nodes) {
    const bytes = page.readUInt16LE(at) + page.readUInt16LE(at + 2) * 0x10000;
    const isBig = (page.readUInt16LE(at + 4) & BIG) !== 0;
    const keyEnd = at + NODE_HEAD_BYTES + page.readUInt16LE(at + 6);
    const end = keyEnd + (isBig ? 8 : bytes);
    if (end > page.length) return 'has an entry that goes beyond it';
    const key = page.subarray(at + NODE_HEAD_BYTES, keyEnd);
    leaves.push(
      isBig
        ? { key, value: page.subarray(0, 0), overflow: Number(page.readBigUInt64LE(keyEnd)), bytes }
        : { key, value: page.subarray(keyEnd, end), bytes },
    );
  }
  return leaves;
}

/** Where the nodes of a page of that kind begin. */
function nodesOf(page: Buffer, kind: number): number[] | string {
  if ((page.readUInt16LE(10) & KINDS) !== kind) return kind === BRANCH ? 'is no branch' : 'is no leaf';
  const lower = page.readUInt16LE(12);
  const upper = page.readUInt16LE(14);
  if (lower < PAGE_HEAD_BYTES || lower > upper || upper > page.length || (lower - PAGE_HEAD_BYTES) % 2 !== 0)
    return 'has no sensible bounds';
  const nodes: number[] = [];
  for (let at = PAGE_HEAD_BYTES; at < lower; at += 2) {
    const node = page.readUInt16LE(at);
    if (node < upper || node + NODE_HEAD_BYTES > page.length) return 'has an offset that leads out of it';
    if (
      page.readUInt16LE(node + 6) > KEY_BYTES_MAX ||
      node + NODE_HEAD_BYTES + page.readUInt16LE(node + 6) > page.length
    )
      return 'has a key that is too long';
    nodes.push(node);
  }
  return nodes;
}
