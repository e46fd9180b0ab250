// Operations on a slot's collection as a whole: its coming and going, its name, and archives of it.
// Entries of the table in operations.ts.
import { SheafUnreachable } from '../../../src/client/errors.js';
import type { CreateBody } from '../../../src/contract/api/collections.js';
import { changeState, unlessRefused, type Lane } from './change.js';
import { look } from './reindex-operations.js';
import { isLive, newReindexing, replaced } from './reindexing.js';
import { PART_CHARACTERS, VECTOR_DIM } from './revision.js';
import { FAR, GIVEN, NEAR } from './spaces.js';
import { NOTHING, type KeptArchive } from './world.js';

const NAMES = ['a', 'b', 'c'];
const TEXT: CreateBody = { chunking: { strategy: 'fixed', size: PART_CHARACTERS, overlap: 0 } };
const VECTORS: CreateBody = { embedder_type: 'identity', embed_model: '', embedder_config: { dim: VECTOR_DIM } };

export function create(lane: Lane): Promise<void> {
  const { client, slot, prng } = lane;
  const name = slot.prefix + NAMES[prng.int(NAMES.length)];
  const space = slot.kind === 'vectors' ? GIVEN : prng.int(3) === 0 ? FAR : NEAR;
  const body = slot.kind === 'vectors' ? VECTORS : { ...TEXT, embedder: space };
  return changeState(lane, { name, documents: new Map(), reindexing: newReindexing(space) }, () =>
    client.createCollection(slot.tenant, name, body),
  );
}

export function rename(lane: Lane): Promise<void> {
  const { client, slot, prng } = lane;
  const others = NAMES.map((name) => slot.prefix + name).filter((name) => name !== slot.name);
  const name = others[prng.int(others.length)] as string;
  return changeState(lane, { name }, () => client.moveCollection(slot.tenant, slot.name as string, name));
}

export const drop = (lane: Lane): Promise<void> =>
  changeState(lane, NOTHING, () => lane.client.deleteCollection(lane.slot.tenant, lane.slot.name as string));

/** Kept by the program, with what was acknowledged when it was asked for: nobody writes to the slot meanwhile. */
export async function archive({ client, slot }: Lane): Promise<void> {
  const { documents, reindexing } = slot.state;
  const { bytes } = await client.archives.dumpCollection(slot.tenant, slot.name as string);
  slot.archive = { bytes: await whole(bytes), documents, space: isLive(reindexing) ? undefined : reindexing.space };
}

/** A death in the midst ends the stream with an error of the transport. */
async function whole(bytes: ReadableStream<Uint8Array>): Promise<Blob> {
  try {
    return await new Response(bytes).blob();
  } catch (error) {
    throw new SheafUnreachable('the server', 'an archive was cut off', { cause: error });
  }
}

/** In place of what is there, or as a new collection. Refused where a job switches spaces meanwhile. */
export async function restore(lane: Lane): Promise<void> {
  const { client, slot, prng } = lane;
  const { bytes, documents, space } = slot.archive as KeptArchive;
  const { reindexing: before } = slot.state;
  const name = slot.name ?? slot.prefix + NAMES[prng.int(NAMES.length)];
  const reindexing = slot.name === null ? { ...newReindexing(''), space } : replaced(before, space);
  const put = (): Promise<unknown> =>
    client.archives.restoreCollection(slot.tenant, name, bytes, { replace: slot.name !== null });
  await unlessRefused(lane, isLive(before) ? ['collection_changed'] : [], () =>
    changeState(lane, { name, documents, reindexing }, put),
  );
  await look(lane);
}
