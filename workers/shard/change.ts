// What a batch of writes does to one part of shared memory once it is committed: rows that come and rows that go, with the words,
// metadata and priorities of their chunks. Filled by write.ts, in the shard worker's thread.
import type { Ordinal } from '../../src/contract/ids.js';
import type { Part } from './part.js';

export interface Change {
  /** Staged ordinals with their priority. */
  added: Map<Ordinal, number>;
  /** Published ordinals to take out. */
  removed: Ordinal[];
  /** Texts of both, where the words of the part are indexed. */
  texts: Map<Ordinal, string>;
  /** Terms of the metadata of both, where that is indexed. */
  fields: Map<Ordinal, readonly string[]>;
  /** Staged in this batch and replaced in it again: never published. */
  superseded: Ordinal[];
  documents: number;
}

export const noChange = (): Change => ({ added: new Map(), removed: [], texts: new Map(), fields: new Map(), superseded: [], documents: 0 });

/** After the commit: the new rows come before the old ones go. */
export function publishChange(part: Part, { added, removed, superseded, texts, fields, documents }: Change): void {
  for (const [ordinal, priority] of added) {
    part.index.publish(ordinal);
    withSource(texts, ordinal, (text) => part.words?.add(ordinal, text));
    withSource(fields, ordinal, (terms) => part.fields?.add(ordinal, terms));
    if (priority !== 0) part.priorities.set(ordinal, priority);
  }
  for (const ordinal of removed) {
    part.index.remove(ordinal);
    withSource(texts, ordinal, (text) => part.words?.remove(ordinal, text));
    withSource(fields, ordinal, (terms) => part.fields?.remove(ordinal, terms));
    part.priorities.delete(ordinal);
  }
  for (const ordinal of [...removed, ...superseded]) part.ordinals.release(ordinal);
  part.counts.documents += documents;
  part.counts.chunks += added.size - removed.length;
}

function withSource<S>(sources: ReadonlyMap<Ordinal, S>, ordinal: Ordinal, change: (source: S) => void): void {
  const source = sources.get(ordinal);
  if (source !== undefined) change(source);
}

/** After a commit that failed: what was staged is free again. */
export function discardChange(part: Part, { added, superseded }: Change): void {
  for (const ordinal of [...added.keys(), ...superseded]) part.ordinals.release(ordinal);
}
