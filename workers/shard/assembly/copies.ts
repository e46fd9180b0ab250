// Rows with the same vector, as far as float32 tells (the same text in many documents). One of them is a node of the graph;
// the others are its copies, live rows in a chain that hangs on it, doubly linked by ordinals + 1, 0 for none. Without this, a
// vector that stands in a tenth of the rows fills the lists of its neighbours with itself and cuts others off. The owner
// writes; any thread may follow a chain.
import { ROOT_ROW_BYTES } from '../layout';
import { dot } from './distance';
import { ordinalOf } from './keys';
import { poolKey } from './pool';
import { BEFORE, COPY, nodeWordsAt, rowWordsAt, vectorAt } from './rows';

/** A row whose cosine with a node is at least this is its copy: rounding hides what lies between them. */
const SAME: f32 = 1 - 2e-7;
/** A copy's score is at most this far from its node's: the angle between them, and again as much where the node was a copy itself. */
export const COPY_REACH: f32 = 1.5e-3;
export const NO_COPY: u32 = 0xffffffff;

/** The next row in the chain, or NO_COPY. */
@inline export function copyAfter(root: usize, ordinal: u32): u32 {
  return atomic.load<u32>(rowWordsAt(root, ordinal), COPY) - 1;
}

@inline export function isCopy(root: usize, ordinal: u32): bool {
  return load<u32>(nodeWordsAt(root, ordinal), BEFORE) != 0;
}

/** The node among the first `candidates` of the pool that `ordinal` is a copy of, or NO_COPY. They are sorted, so it is the first or none. */
export function findOriginal(scratch: usize, root: usize, ordinal: u32, candidates: u32): u32 {
  if (candidates == 0) return NO_COPY;
  const nearest = ordinalOf(poolKey(scratch, 0));
  const same = dot(vectorAt(root, ordinal), vectorAt(root, nearest), load<u32>(root, ROOT_ROW_BYTES)) >= SAME;
  return same ? nearest : NO_COPY;
}

/** Makes `ordinal` the first copy of the node `original`. */
export function hang(root: usize, ordinal: u32, original: u32): void {
  const next = copyAfter(root, original);
  setNext(root, ordinal, next);
  setBefore(root, ordinal, original);
  if (next != NO_COPY) setBefore(root, next, ordinal);
  setNext(root, original, ordinal);
}

/** Takes a copy out of its chain. */
export function unhang(root: usize, ordinal: u32): void {
  const before = load<u32>(nodeWordsAt(root, ordinal), BEFORE) - 1;
  const next = copyAfter(root, ordinal);
  setNext(root, before, next);
  if (next != NO_COPY) setBefore(root, next, before);
}

/** Makes a row the head of its own chain, which is empty. */
export function clearCopies(root: usize, ordinal: u32): void {
  setNext(root, ordinal, NO_COPY);
  setBefore(root, ordinal, NO_COPY);
}

export function setBefore(root: usize, ordinal: u32, before: u32): void {
  store<u32>(nodeWordsAt(root, ordinal), before + 1, BEFORE);
}

function setNext(root: usize, ordinal: u32, next: u32): void {
  atomic.store<u32>(rowWordsAt(root, ordinal), next + 1, COPY);
}
