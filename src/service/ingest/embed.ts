// Use case: embed the documents of a group. Those that cannot be embedded leave it, the others go on to be stored;
// their answers come back to the places that they had. Called by ingest-batch.ts for each group of a slice; front
// thread.
import type { PreparedGroup } from '../contract/batch-messages.js';
import { AppError, type WireError } from '../contract/errors.js';
import { unpackDocuments } from '../contract/prepared-document.js';
import type { Collection } from '../contract/resources.js';
import type { Context } from './context.js';
import { inPhase } from './ingest-phases.js';
import type { SpaceGroup, Stored } from './put-group.js';
import { reusedVectors } from './reused-vectors.js';
import { otherRows, textWanted, wantsTexts } from './twin-rows.js';

/** Why documents of a group were not embedded, by their place in it. */
export type Failures = ReadonlyMap<number, WireError>;

export interface EmbeddedGroup {
  /** The documents that can be stored. */
  group: SpaceGroup;
  failures: Failures;
}

/** Rejects where none of the documents could be embedded. The buffers of `group` are moved. */
export async function embedGroup(
  context: Context,
  planned: Omit<Collection, 'id'>,
  group: PreparedGroup,
  signal?: AbortSignal,
): Promise<EmbeddedGroup> {
  const { group: embedded, failures } = group.hasTexts
    ? await embedTexts(context, planned, group, signal)
    : { group, failures: new Map<number, WireError>() };
  if (wantsTexts(context, planned)) refuseTextless(embedded, failures);
  const stored = withoutFailed(embedded, failures);
  const { documents, ends, chunks } = stored;
  const others =
    ends.length > 0
      ? await otherRows(
          context,
          planned,
          { documents, ends, rows: chunks.reduce((sum, count) => sum + count, 0) },
          signal,
        )
      : undefined;
  return { group: { ...stored, space: planned.vector_space_key, ...(others && { others }) }, failures };
}

async function embedTexts(
  context: Context,
  planned: Omit<Collection, 'id'>,
  group: PreparedGroup,
  signal?: AbortSignal,
): Promise<{ group: PreparedGroup; failures: Map<number, WireError> }> {
  const { documents, ends } = group;
  const reused = await reusedVectors(context, planned, group, signal);
  const { failures = [], ...embedded } = await inPhase(context, 'embed_ms', () =>
    context.embedders.embedDocuments(planned, { documents, ends, ...reused }, planned.tenant, signal),
  );
  return {
    group: { ...group, ...embedded },
    failures: new Map(failures.map(({ document, error }) => [document, error])),
  };
}

/**
 * Another space has the name since the group was embedded: the documents are the same, their rows are not. Rejects with
 * why a document cannot be embedded for it, and with `collection_changed` where a vector was the caller's.
 */
export async function embedAnew(
  context: Context,
  collection: Collection,
  group: SpaceGroup,
  signal?: AbortSignal,
): Promise<SpaceGroup> {
  const { ends, chunks } = group;
  const rows = chunks.reduce((sum, count) => sum + count, 0);
  // A copy: the bytes move to the worker, and are still to be stored.
  const { vectors, texts, failures } = await context.embedders.embedDocuments(
    collection,
    { documents: group.documents.slice(), ends },
    collection.tenant,
    signal,
  );
  if (failures?.[0]) throw AppError.fromWire(failures[0].error);
  if (texts !== rows) throw new AppError('collection_changed', undefined, { retryAfterS: 1 });
  const others = await otherRows(context, collection, { documents: group.documents, ends, rows }, signal);
  return { ...group, vectors, space: collection.vector_space_key, others };
}

function refuseTextless({ documents, ends }: PreparedGroup, failures: Map<number, WireError>): void {
  unpackDocuments(documents, ends).forEach(({ chunks }, document) => {
    if (chunks.some(({ text }) => text === undefined)) failures.set(document, textWanted().toWire());
  });
}

/** A group of which no document could be embedded. Its buffers may be gone. */
export function nothingOf(group: PreparedGroup, error: WireError): EmbeddedGroup {
  const failures = new Map(group.docids.map((_, document) => [document, error]));
  return { group: { ...withoutFailed(group, failures), space: '' }, failures };
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
    vectors: joined(
      keptParts(
        group.vectors,
        rowEnds.map((end) => end * dim),
        failures,
      ),
      (numbers) => new Float32Array(numbers),
    ),
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
