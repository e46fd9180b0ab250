// Use case: embed the documents of a group. Those that cannot be embedded leave it, the others go on to be stored; their answers
// come back to the places that they had. Called by ingest-batch.ts for each group of a slice; front thread.
import type { PreparedGroup } from '../contract/batch-messages.js';
import type { WireError } from '../contract/errors.js';
import type { Collection } from '../contract/resources.js';
import type { Context } from './context.js';
import type { Stored } from './put-group.js';
import { reusedVectors } from './reused-vectors.js';

/** Why documents of a group were not embedded, by their place in it. */
export type Failures = ReadonlyMap<number, WireError>;

export interface EmbeddedGroup {
  /** The documents that can be stored. */
  group: PreparedGroup;
  failures: Failures;
}

/** Rejects where none of the documents could be embedded. The buffers of `group` are moved. */
export async function embedGroup(context: Context, planned: Omit<Collection, 'id'>, group: PreparedGroup, signal?: AbortSignal): Promise<EmbeddedGroup> {
  if (!group.hasTexts) return { group, failures: new Map() };
  const { documents, ends } = group;
  const reused = await reusedVectors(context, planned, group, signal);
  const { failures = [], ...embedded } = await context.embedders.embedDocuments(planned, { documents, ends, ...reused }, planned.tenant, signal);
  const failed = new Map(failures.map(({ document, error }) => [document, error]));
  return { group: withoutFailed({ ...group, ...embedded }, failed), failures: failed };
}

/** A group of which no document could be embedded. Its buffers may be gone. */
export function nothingOf(group: PreparedGroup, error: WireError): EmbeddedGroup {
  const failures = new Map(group.docids.map((_, document) => [document, error]));
  return { group: withoutFailed(group, failures), failures };
}

/** The group without the documents that failed. */
export function withoutFailed(group: PreparedGroup, failures: Failures): PreparedGroup {
  if (failures.size === 0) return group;
  const isKept = (_: unknown, document: number): boolean => !failures.has(document);
  const rowEnds = endsOf(group.chunks);
  const dim = group.vectors.length / Math.max(1, rowEnds.at(-1) ?? 0);
  return {
    shard: group.shard,
    hasTexts: group.hasTexts,
    places: group.places.filter(isKept),
    docids: group.docids.filter(isKept),
    chunks: group.chunks.filter(isKept),
    ends: endsOf(group.ends.map((end, i) => end - (group.ends[i - 1] ?? 0)).filter(isKept)),
    documents: joined(keptParts(group.documents, group.ends, failures), (bytes) => new Uint8Array(bytes)),
    vectors: joined(keptParts(group.vectors, rowEnds.map((end) => end * dim), failures), (numbers) => new Float32Array(numbers)),
  };
}

/** What became of each document of the whole group, from what became of those that were stored. */
export function withFailures(stored: Stored, failures: Failures): Stored {
  const others = stored.values();
  return Array.from({ length: stored.length + failures.size }, (_, document) => {
    const error = failures.get(document);
    return error ? { error } : (others.next().value as Stored[number]);
  });
}

function endsOf(lengths: readonly number[]): number[] {
  let end = 0;
  return lengths.map((length) => (end += length));
}

/** `ends` says where the part of each document ends. */
const keptParts = <T extends Uint8Array | Float32Array>(all: T, ends: readonly number[], failures: Failures): T[] =>
  ends.flatMap((end, document) => (failures.has(document) ? [] : [all.subarray(ends[document - 1] ?? 0, end) as T]));

function joined<T extends Uint8Array | Float32Array>(parts: readonly T[], make: (length: number) => T): T {
  const all = make(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
