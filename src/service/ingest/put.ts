// The rows of a document in other spaces than its collection's: a document that is written while another space is
// built, or kept for the way back, goes to both in one transaction, so it is embedded for both before. Called by
// everything that ingests; front thread.
import { AppError } from '../contract/errors.js';
import type { TwinWrite } from '../contract/messages.js';
import { logIdOf, type Collection } from '../contract/resources.js';
import { IDENTITY_TYPE } from '../embedding/spaces.js';
import { refOf } from './catalog.js';
import type { Context } from './context.js';
import type { Twin } from './staged.js';

/** By the key of the space. */
export type OtherRows = ReadonlyMap<string, Float32Array>;

/** Rows of documents, in the space that they were prepared for and in others. */
export interface SpaceRows {
  space: string;
  vectors: Float32Array;
  others?: OtherRows;
}

type Planned = Omit<Collection, 'id'>;

interface Packed {
  documents: Uint8Array;
  ends: number[];
  /** Chunks of all of them. */
  rows: number;
}

/** Rejects with why a twin could not be embedded for that has to be. */
export async function otherRows(
  context: Context,
  planned: Planned,
  packed: Packed,
  signal?: AbortSignal,
): Promise<OtherRows | undefined> {
  const wanted = otherSpaces(context, planned).filter(
    ({ collection, mode }) => mode !== 'later' && collection.embedder_type !== IDENTITY_TYPE,
  );
  if (wanted.length === 0) return undefined;
  const found = await Promise.all(
    wanted.map(async (twin): Promise<[string, Float32Array][]> => {
      const vectors = await rowsFor(context, twin, packed, signal);
      return vectors ? [[twin.collection.vector_space_key, vectors]] : [];
    }),
  );
  return new Map(found.flat());
}

/** undefined where the document is left for later: the embedder fails, or there is a chunk without a text. */
async function rowsFor(
  { embedders }: Context,
  { collection, mode }: Twin,
  { documents, ends, rows }: Packed,
  signal?: AbortSignal,
): Promise<Float32Array | undefined> {
  try {
    // A copy: the bytes move to the worker, and are still to be stored.
    const { vectors, texts, failures } = await embedders.embedDocuments(
      collection,
      { documents: documents.slice(), ends },
      collection.tenant,
      signal,
    );
    if (failures?.[0]) throw AppError.fromWire(failures[0].error);
    return texts === rows ? vectors : undefined;
  } catch (error) {
    if (mode === 'require' || !(error instanceof AppError)) throw error;
    return undefined;
  }
}

function otherSpaces({ catalog, staged, nowMs }: Context, { tenant, name, vector_space_key: own }: Planned): Twin[] {
  const live = catalog.find(tenant, name);
  return live ? staged.twinsOf(live.id, nowMs()).filter(({ collection }) => collection.vector_space_key !== own) : [];
}

/** Whether documents need texts now: their collection is on its way into another space. */
export const wantsTexts = (context: Context, planned: Planned): boolean =>
  otherSpaces(context, planned).some(({ purpose }) => purpose === 'reindex');

export const textWanted = (): AppError =>
  new AppError('reindex_conflict', 'While the collection is reindexed into another space it takes texts only.');

/** The rows for a space. Throws `collection_changed` where it is one that the documents were not prepared for. */
export function rowsIn({ space, vectors, others }: SpaceRows, { vector_space_key: key }: Collection): Float32Array {
  const rows = key === space ? vectors : others?.get(key);
  if (!rows) throw new AppError('collection_changed', undefined, { retryAfterS: 1 });
  return rows;
}

/**
 * Where documents go beside their collection, as of now. Throws `collection_changed` where they lack rows that they
 * have to have, and where another space has the name since the collection was looked up. One that is gone altogether is
 * the shard's to refuse.
 */
export function twinWrites(
  { catalog, staged, nowMs }: Context,
  collection: Collection,
  { space, vectors, others }: SpaceRows,
): { twins?: TwinWrite[] } {
  const live = catalog.findByLog(logIdOf(collection));
  if (live && live.id !== collection.id) throw new AppError('collection_changed', undefined, { retryAfterS: 1 });
  const twins = staged.twinsOf(collection.id, nowMs());
  if (twins.length === 0) return {};
  const writes = twins.map(({ collection: twin, mode }): TwinWrite => {
    const key = twin.vector_space_key;
    const own = key === collection.vector_space_key ? 'same' : ((key === space ? vectors : others?.get(key)) ?? null);
    if (own === null && mode === 'require') throw new AppError('collection_changed', undefined, { retryAfterS: 1 });
    return { collection: refOf(twin), vectors: own };
  });
  return { twins: writes };
}
