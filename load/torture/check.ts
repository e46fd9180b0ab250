// After a restart: is everything that was acknowledged there, whole, in its version, and nothing else? A change that
// was cut off has happened or has not, and the model takes over which. Used by the torture program while nobody writes.
import { SheafError } from '../../../src/client/errors.js';
import type { Lane } from './change.js';
import { checkSearch, expectedChunks } from './check-search.js';
import { findJobs } from './find-jobs.js';
import { judge, settle, type Found, type FoundDocument } from './found.js';
import { isLive } from './reindexing.js';
import { count } from './tally.js';
import type { Revision, Slot } from './world.js';

const LOOKED_INTO = 1;

/** Checks a slot and settles what is under way in it. */
export async function checkSlot(lane: Lane, when: string): Promise<void> {
  const { slot, tally } = lane;
  const found = await find(lane);
  const judgement = judge(slot, found);
  tally.violations.push(
    ...judgement.complaints.map((complaint) => `${slot.tenant}/${slot.name ?? slot.prefix} ${when}: ${complaint}`),
  );
  if (slot.pending !== undefined) tally.cutOff++;
  if (slot.pending !== undefined && judgement.happened) tally.kept++;
  if (judgement.complaints.length > 0) return slot.forget();
  const wasLive = isLive(slot.state.reindexing);
  settle(slot, found, judgement);
  if (slot.name === null) return;
  const { job } = slot.state.reindexing;
  if (job && wasLive && !isLive(slot.state.reindexing)) count(tally.jobs, job.status);
  await checkCounts(lane, when);
  for (let searches = slot.kind === 'text' ? 3 : 1; searches > 0; searches--) await checkSearch(lane, when);
  await checkSome(lane, when);
}

async function find({ client, slot }: Lane): Promise<Found> {
  const { tenant } = slot;
  const { collections } = await client.listCollections(tenant);
  const names = collections.map(({ name }) => name).filter((name) => name.startsWith(slot.prefix));
  const [name] = names;
  if (name === undefined) return { names, documents: new Map(), space: '', jobs: [] };
  const documents = await findDocuments({ client, slot }, name);
  return { names, documents, ...(await findJobs(client, tenant, name)) };
}

/**
 * Revisions are looked up where a change was under way or a version is not what it was; of other documents a search
 * tells them.
 */
async function findDocuments(
  { client, slot }: Pick<Lane, 'client' | 'slot'>,
  name: string,
): Promise<Map<string, FoundDocument>> {
  const { documents } = await client.listDocuments(slot.tenant, name);
  const isChanging = slot.pending !== undefined && 'state' in slot.pending;
  const isOpen = (docid: string, version: number): boolean =>
    isChanging || slot.sent.has(docid) || slot.documents.get(docid)?.version !== version;
  const entries = documents.map(async ({ docid, version }): Promise<[string, FoundDocument]> => {
    if (!isOpen(docid, version)) return [docid, { version }];
    const { metadata } = await client.getDocument(slot.tenant, name, docid);
    return [docid, { version, revision: Number(metadata['revision']) }];
  });
  return new Map(await Promise.all(entries));
}

async function checkCounts({ client, slot, seed, tally }: Lane, when: string): Promise<void> {
  const { doc_count: documents, chunk_count: chunks } = await client.collectionDetail(slot.tenant, slot.name as string);
  const expected = expectedChunks(slot.kind, slot.documents, seed).size;
  if (documents === slot.documents.size && chunks === expected) return;
  tally.violations.push(
    `${slot.tenant}/${slot.name} ${when}: counts ${documents} documents and ${chunks} chunks, not ${slot.documents.size} and ${expected}`,
  );
}

/** A few documents by every other way of reading them. */
async function checkSome({ client, slot, prng, seed, tally }: Lane, when: string): Promise<void> {
  const docids = [...slot.documents.keys()];
  for (let n = 0; n < Math.min(LOOKED_INTO, docids.length); n++) {
    const docid = docids[prng.int(docids.length)] as string;
    const revision = slot.documents.get(docid) as Revision;
    const expected = [...expectedChunks(slot.kind, new Map([[docid, revision]]), seed)];
    const { metadata } = await client.getDocument(slot.tenant, slot.name as string, docid);
    if (metadata['revision'] !== revision.revision)
      tally.violations.push(
        `${slot.tenant}/${slot.name} ${when}: ${docid} is revision ${String(metadata['revision'])}, not ${revision.revision}`,
      );
    const { chunks } = await client.listChunks(slot.tenant, slot.name as string, docid);
    if (chunks.map(({ rid }) => rid).join() !== expected.map(([id]) => id).join())
      tally.violations.push(`${slot.tenant}/${slot.name} ${when}: ${docid} lists other chunks than ${expected.length}`);
    for (const [id, { text }] of expected) {
      const content = await contentOf({ client, slot }, id);
      if (content !== text)
        tally.violations.push(`${slot.tenant}/${slot.name} ${when}: ${id} reads "${String(content).slice(0, 60)}"`);
    }
  }
}

/** undefined where it has none. */
async function contentOf(
  { client, slot }: { client: Lane['client']; slot: Slot },
  id: string,
): Promise<string | undefined> {
  try {
    return await client.chunkContent(slot.tenant, slot.name as string, id);
  } catch (error) {
    if (error instanceof SheafError && error.code === 'chunk_content_not_found') return undefined;
    throw error;
  }
}
