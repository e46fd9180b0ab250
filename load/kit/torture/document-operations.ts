// Operations on the documents of a slot: each comes, is replaced or goes by itself, in a batch too.
// Entries of the table in operations.ts.
import type { IngestBody } from '../../../src/contract/api/documents.js';
import { change, type Lane } from './change.js';
import { partsOf, vectorOf } from './revision.js';
import type { Revision } from './world.js';

const DOCUMENTS = 20;
const BATCH_MAX = 8;

export async function put(lane: Lane): Promise<void> {
  const { client, slot } = lane;
  const { docid, revision, body } = document(lane);
  await change(lane, { documents: new Map([[docid, revision]]) }, () =>
    client.ingestText(slot.tenant, slot.name as string, body as { text: string }),
  );
}

/** Each document of a batch is whole or not at all; the batch is not. */
export async function putBatch(lane: Lane): Promise<void> {
  const { client, slot, prng } = lane;
  const documents = new Map(
    Array.from({ length: 1 + prng.int(BATCH_MAX) }, () => document(lane)).map((made) => [made.docid, made]),
  );
  const stored = new Set<string>();
  const revisions = new Map([...documents.values()].map(({ docid, revision }) => [docid, revision]));
  const send = async (): Promise<void> => {
    const { documents: results } = await client.ingestBatch(
      slot.tenant,
      slot.name as string,
      [...documents.values()].map(({ body }) => body),
    );
    for (const { ok, docid } of results) if (ok && docid !== undefined) stored.add(docid);
  };
  await change(lane, { documents: revisions }, send, (docid) => stored.has(docid));
}

function document({ slot, prng, seed }: Lane): { docid: string; revision: Revision; body: IngestBody } {
  const docid = `d${prng.int(DOCUMENTS)}`;
  const revision = slot.next(docid);
  const content =
    slot.kind === 'text'
      ? { text: partsOf(seed, docid, revision.revision).join('') }
      : { vector: vectorOf(seed, docid, revision.revision) };
  return { docid, revision, body: { docid, metadata: { revision: revision.revision }, ...content } };
}

export async function remove(lane: Lane): Promise<void> {
  const { client, slot, prng } = lane;
  const docid = [...slot.documents.keys()][prng.int(slot.documents.size)] as string;
  await change(lane, { documents: new Map([[docid, null]]) }, () =>
    client.deleteDocument(slot.tenant, slot.name as string, docid),
  );
}
