// Reads what a choice among hits needs from the views of a search: positions, metadata, priorities and vectors. Searching
// threads only.
import { readDocument } from '../../storage/shard-reader.js';
import type { MetaLayers } from '../filter/match.js';
import { type Candidate, type HitReader, locateIn } from './merge.js';
import type { ShardView } from './snapshot.js';

export function readerIn(views: readonly ShardView[]): HitReader {
  const metadataOf = metadataReader(views);
  return {
    locate: locateIn(views),
    metadataOf: ({ candidate }) => metadataOf(candidate),
    priorityOf: ({ candidate }) => priorityIn(views, candidate),
    vectorOf: ({ candidate }) => vectorIn(views, candidate),
  };
}

export const priorityIn = (views: readonly ShardView[], { shard, ordinal }: Candidate): number =>
  views[shard]?.segment?.priorities.of(ordinal) ?? 0;

export const vectorIn = (views: readonly ShardView[], { shard, ordinal }: Candidate): Float32Array | undefined =>
  views[shard]?.segment?.index.rowOf(ordinal);

/**
 * Reads the metadata of hits from the records; undefined for a chunk that is no longer stored. Documents are read once.
 */
export function metadataReader(views: readonly ShardView[]): (candidate: Candidate) => MetaLayers | undefined {
  const documents = new Map<string, Record<string, unknown>>();
  return ({ shard, ordinal }) => {
    const { txn, segment } = views[shard] as ShardView;
    const chunk = segment && txn.findChunk(segment.id, segment.stored(ordinal));
    if (!chunk) return undefined;
    const { docid, metaJson } = chunk;
    let metadata = documents.get(docid);
    if (!metadata) {
      metadata = JSON.parse(readDocument(txn, segment.id, docid).metadataJson) as Record<string, unknown>;
      documents.set(docid, metadata);
    }
    return [JSON.parse(metaJson) as Record<string, unknown>, metadata];
  };
}
