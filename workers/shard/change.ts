// What a batch of writes does to a part of shared memory once it is committed: rows that come and rows that go, with
// the words, metadata and priorities of their chunks. All by the rows of the part. Filled by write.ts, in the shard
// worker's thread.
import type { Ordinal } from '../../src/contract/ids.js';
import type { ShardWriteTxn } from '../../src/store/shard-store.js';
import type { Part } from './part.js';

export interface Change {
  /** Staged ordinals with their priority. */
  added: Map<Ordinal, number>;
  /** Published ordinals to take out. */
  removed: Ordinal[];
  /** The same of a document that leaves: searches do not find them, the rest of them goes later (leaving.ts). */
  left: Ordinal[];
  /** Texts of both, where the words of the part are indexed. */
  texts: Map<Ordinal, string>;
  /** Terms of the metadata of both, where that is indexed. */
  fields: Map<Ordinal, readonly string[]>;
  /** Staged in this batch and replaced in it again: never published. */
  superseded: Ordinal[];
}

export const noChange = (): Change => ({
  added: new Map(),
  removed: [],
  left: [],
  texts: new Map(),
  fields: new Map(),
  superseded: [],
});

/** Before the commit, in its transaction: what a checkpoint of before does not have (checkpoint/catch-up.ts). */
export function logChanges(txn: ShardWriteTxn, changes: Iterable<readonly [Part, Change]>): void {
  for (const [part, { added, removed, left, texts, fields }] of changes) {
    // What was indexed of them is not read for it: a checkpoint of before is worth less then.
    if (left.length > 0)
      txn.partChanges.push({
        id: part.ref.id,
        removed: left.map((row) => part.stored(row)),
        texts: null,
        terms: null,
        added: [],
      });
    if (added.size + removed.length === 0) continue;
    txn.partChanges.push({
      id: part.ref.id,
      removed: removed.map((row) => part.stored(row)),
      texts: part.words ? removed.map((row) => texts.get(row) ?? null) : null,
      terms: part.fields ? removed.map((row) => fields.get(row) ?? []) : null,
      added: Array.from(added.keys(), (row) => part.stored(row)),
    });
  }
}

/** After the commit: the new rows of all parts come before any old one goes, so that no document is missing between. */
export function publishChanges(changes: Iterable<readonly [Part, Change]>): void {
  const all = [...changes];
  markRemovals(all);
  for (const [part, change] of all) add(part, change);
  for (const [part, change] of all) remove(part, change);
  markRemovals(all);
  for (const [part, { removed, superseded }] of all)
    for (const ordinal of [...removed, ...superseded]) part.ordinals.release(ordinal);
}

/** Before rows come for others that go, and after those have gone: a search beside it runs again. */
function markRemovals(changes: readonly (readonly [Part, Change])[]): void {
  for (const [part, { removed, left }] of changes)
    if (removed.length + left.length > 0) part.index.beginOrEndRemovals();
}

function add(part: Part, { added, texts, fields }: Change): void {
  for (const [ordinal, priority] of added) {
    part.priorities.set(ordinal, priority);
    part.index.publish(ordinal);
    withSource(texts, ordinal, (text) => part.words?.add(ordinal, text));
    withSource(fields, ordinal, (terms) => part.fields?.add(ordinal, terms));
  }
}

function remove(part: Part, { removed, left, texts, fields }: Change): void {
  for (const ordinal of left) {
    part.index.remove(ordinal);
    part.priorities.set(ordinal, 0);
  }
  for (const ordinal of removed) {
    part.index.remove(ordinal);
    withSource(texts, ordinal, (text) => part.words?.remove(ordinal, text));
    withSource(fields, ordinal, (terms) => part.fields?.remove(ordinal, terms));
    part.priorities.set(ordinal, 0);
  }
}

function withSource<S>(sources: ReadonlyMap<Ordinal, S>, ordinal: Ordinal, change: (source: S) => void): void {
  const source = sources.get(ordinal);
  if (source !== undefined) change(source);
}

/** After a commit that failed: what was staged is free again. */
export function discardChange(part: Part, { added, superseded }: Change): void {
  for (const ordinal of [...added.keys(), ...superseded]) part.ordinals.release(ordinal);
}
