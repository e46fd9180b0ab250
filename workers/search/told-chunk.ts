// What a hit tells of its chunk whatever the query: from the records of a shard, as JSON text where it is told as that.
// Search workers only; read by hydrate.ts, and kept by hit-cache.ts.
import type { ToldChunk } from '../../src/contract/hits.js';
import type { Ordinal } from '../../src/contract/ids.js';
import { chunkIdOf } from '../../src/contract/ids.js';
import type { MetaLayers } from '../../src/rank/match-filter.js';
import type { DocumentRecord } from '../../src/store/records.js';
import { readDocument } from '../shard/documents.js';
import { mergedMetaJson } from '../shard/metadata.js';
import type { PartView } from '../shard/part-view.js';
import type { ShardView } from './shard-view.js';

/** undefined where the snapshot does not have it. `documents`: those read before, to which its own is added. */
export function readToldChunk(
  view: ShardView,
  part: PartView,
  row: Ordinal,
  documents: Map<string, DocumentRecord>,
): ToldChunk | undefined {
  const [collection, ordinal] = [part.id, part.stored(row)];
  const chunk = view.txn.findChunk(collection, ordinal);
  if (!chunk) return undefined;
  const document = documents.get(chunk.docid) ?? readDocument(view.txn, collection, chunk.docid);
  documents.set(chunk.docid, document);
  const text = view.txn.text(collection, ordinal)?.toString();
  const id = chunkIdOf(chunk.docid, chunk.path);
  return {
    id,
    idJson: JSON.stringify(id),
    ...(text !== undefined && { textJson: JSON.stringify(text) }),
    metaJson: mergedMetaJson(document.metadataJson, chunk.metaJson),
    layers: [chunk.metaJson, document.metadataJson],
  };
}

export const layersOf = ({ layers }: ToldChunk): MetaLayers =>
  layers.map((json) => JSON.parse(json) as Record<string, unknown>);

export const textOf = ({ textJson }: ToldChunk): string | undefined =>
  textJson === undefined ? undefined : (JSON.parse(textJson) as string);
