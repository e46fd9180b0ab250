// The operations of the torture program. Each asks the server for one thing, notes before what it may change, and after the answer what it has
// changed. An operation to come is an entry of OPERATIONS, and, where it can be cut off halfway, a kind of `Pending` in world.ts.
import type { Prng } from '../../../src/base/prng.js';
import type { SheafClient } from '../../../src/client/client.js';
import type { CreateBody } from '../../../src/contract/api/collections.js';
import type { IngestBody } from '../../../src/contract/api/documents.js';
import { checkSearch } from './check-search.js';
import { PART_CHARACTERS, partsOf, VECTOR_DIM, vectorOf } from './revision.js';
import type { Pending, Revision, Slot, Tally } from './world.js';

/** One writer with its slot. */
export interface Lane {
  client: SheafClient;
  slot: Slot;
  prng: Prng;
  seed: number;
  tally: Tally;
}

interface Operation {
  name: string;
  weight: number;
  /** Undefined for always. */
  needs?: 'collection' | 'none' | 'documents';
  run(lane: Lane): Promise<void>;
}

const DOCUMENTS = 20;
const BATCH_MAX = 8;
const NAMES = ['a', 'b', 'c'];
const TEXT: CreateBody = { chunking: { strategy: 'fixed', size: PART_CHARACTERS, overlap: 0 } };
const VECTORS: CreateBody = { embedder_type: 'identity', embed_model: '', embedder_config: { dim: VECTOR_DIM } };

const OPERATIONS: readonly Operation[] = [
  { name: 'create', weight: 40, needs: 'none', run: create },
  { name: 'put', weight: 50, needs: 'collection', run: put },
  { name: 'batch', weight: 12, needs: 'collection', run: putBatch },
  { name: 'delete', weight: 12, needs: 'documents', run: remove },
  { name: 'search', weight: 15, needs: 'collection', run: search },
  { name: 'rename', weight: 5, needs: 'collection', run: rename },
  { name: 'drop', weight: 2, needs: 'collection', run: drop },
];

/** One operation by chance. Rejects with what the client rejects with: with SheafUnreachable the change stays under way. */
export async function step(lane: Lane): Promise<void> {
  const { slot, tally } = lane;
  const possible = OPERATIONS.filter(({ needs }) => isPossible(slot, needs));
  let at = lane.prng.int(possible.reduce((sum, { weight }) => sum + weight, 0));
  const operation = possible.find(({ weight }) => (at -= weight) < 0) as Operation;
  await operation.run(lane);
  tally.operations.set(operation.name, (tally.operations.get(operation.name) ?? 0) + 1);
}

function isPossible({ name, documents }: Slot, needs: Operation['needs']): boolean {
  if (needs === 'none') return name === null;
  return needs === undefined || (name !== null && (needs === 'collection' || documents.size > 0));
}

/** Where the server refuses, nothing has happened. */
async function change({ slot, tally }: Lane, pending: Pending, ask: () => Promise<unknown>, happened?: (docid: string) => boolean): Promise<void> {
  slot.pending = pending;
  await ask();
  slot.settle(happened);
  tally.acknowledged++;
}

function create(lane: Lane): Promise<void> {
  const { client, slot, prng } = lane;
  const name = slot.prefix + NAMES[prng.int(NAMES.length)];
  return change(lane, { name }, () => client.createCollection(slot.tenant, name, slot.kind === 'text' ? TEXT : VECTORS));
}

async function put(lane: Lane): Promise<void> {
  const { client, slot } = lane;
  const { docid, revision, body } = document(lane);
  await change(lane, { documents: new Map([[docid, revision]]) }, () => client.ingestText(slot.tenant, slot.name as string, body as { text: string }));
}

/** Each document of a batch is whole or not at all; the batch is not. */
async function putBatch(lane: Lane): Promise<void> {
  const { client, slot, prng } = lane;
  const documents = new Map(Array.from({ length: 1 + prng.int(BATCH_MAX) }, () => document(lane)).map((made) => [made.docid, made]));
  const stored = new Set<string>();
  const revisions = new Map([...documents.values()].map(({ docid, revision }) => [docid, revision]));
  const send = async (): Promise<void> => {
    const { documents: results } = await client.ingestBatch(slot.tenant, slot.name as string, [...documents.values()].map(({ body }) => body));
    for (const { ok, docid } of results) if (ok && docid !== undefined) stored.add(docid);
  };
  await change(lane, { documents: revisions }, send, (docid) => stored.has(docid));
}

function document({ slot, prng, seed }: Lane): { docid: string; revision: Revision; body: IngestBody } {
  const docid = `d${prng.int(DOCUMENTS)}`;
  const revision = slot.next(docid);
  const content = slot.kind === 'text' ? { text: partsOf(seed, docid, revision.revision).join('') } : { vector: vectorOf(seed, docid, revision.revision) };
  return { docid, revision, body: { docid, metadata: { revision: revision.revision }, ...content } };
}

async function remove(lane: Lane): Promise<void> {
  const { client, slot, prng } = lane;
  const docid = [...slot.documents.keys()][prng.int(slot.documents.size)] as string;
  await change(lane, { documents: new Map([[docid, null]]) }, () => client.deleteDocument(slot.tenant, slot.name as string, docid));
}

/** Whatever was acknowledged is found, and nothing else: nobody writes to the slot meanwhile. */
async function search(lane: Lane): Promise<void> {
  await checkSearch(lane, 'while it is at work');
}

async function rename(lane: Lane): Promise<void> {
  const { client, slot, prng } = lane;
  const others = NAMES.map((name) => slot.prefix + name).filter((name) => name !== slot.name);
  const name = others[prng.int(others.length)] as string;
  await change(lane, { name }, () => client.moveCollection(slot.tenant, slot.name as string, name));
}

async function drop(lane: Lane): Promise<void> {
  await change(lane, { name: null }, () => lane.client.deleteCollection(lane.slot.tenant, lane.slot.name as string));
}
