// After a restart: is every acknowledged document there, whole, with the right text in each chunk, and found by search?
// Called by load/kill.ts while nothing writes.
import type { SheafClient } from '../../../src/client/client.js';
import { SheafError } from '../../../src/client/errors.js';
import { KILL_TARGET } from './churn.js';
import type { Ledger, Revision } from './ledger.js';
import { partsOf } from './revision.js';

const CHECKS_AT_A_TIME = 8;
const { tenant, collection } = KILL_TARGET;

export interface Check {
  client: SheafClient;
  ledger: Ledger;
  seed: number;
  violations: string[];
}

/** Checks the documents one by one, then the counts of the collection; returns how many chunks were read. */
export async function checkDocuments(check: Check, docids: readonly string[]): Promise<number> {
  const queue = docids.values();
  let chunks = 0;
  const work = async (): Promise<void> => {
    for (const docid of queue) {
      const read = await checkDocument(check, docid);
      chunks += read;
    }
  };
  await Promise.all(Array.from({ length: CHECKS_AT_A_TIME }, work));
  return chunks;
}

/** The collection holds the documents of the ledger and no other. Requires: every document has been checked since the restart. */
export async function checkCollection({ client, ledger, seed, violations }: Check): Promise<void> {
  const present = ledger.docids().filter((docid) => ledger.isPresent(docid));
  const chunkCount = present.reduce((sum, docid) => sum + partsOf(seed, docid, ledger.allowed(docid)[0]!).length, 0);
  const { doc_count, chunk_count } = await client.collectionDetail(tenant, collection);
  if (doc_count !== present.length) violations.push(`the collection counts ${doc_count} documents, ${present.length} are there`);
  if (chunk_count !== chunkCount) violations.push(`the collection counts ${chunk_count} chunks, ${chunkCount} are there`);
  const { documents } = await client.listDocuments(tenant, collection);
  const listed = documents.map(({ docid }) => docid).sort();
  if (listed.join() !== present.sort().join()) violations.push(`the listing has ${listed.length} documents, not the ${present.length} that are there`);
}

async function checkDocument({ client, ledger, seed, violations }: Check, docid: string): Promise<number> {
  const revision = await findRevision(client, docid);
  const allowed = ledger.allowed(docid);
  if (!allowed.includes(revision)) violations.push(`${docid} has revision ${revision}, not ${allowed.join(' or ')}`);
  ledger.settle(docid, revision);
  const parts = revision === 0 ? [] : partsOf(seed, docid, revision);
  const { chunks } = await client.listChunks(tenant, collection, docid);
  const expected = parts.map((_, part) => `${docid}::chunk_${part}`);
  if (chunks.map(({ rid }) => rid).join() !== expected.join()) violations.push(`${docid} r${revision} lists ${chunks.length} chunks, not ${parts.length}`);
  for (const [part, text] of parts.entries()) {
    const content = await client.chunkContent(tenant, collection, `${docid}::chunk_${part}`).catch(String);
    if (content !== text) violations.push(`${docid} r${revision} p${part} reads "${content.slice(0, 80)}"`);
  }
  if (parts.length > 0) await checkFound({ client, violations }, docid, parts);
  return parts.length;
}

/** The revision the document's metadata names, with the counts of the same answer; 0 when there is no such document. */
async function findRevision(client: SheafClient, docid: string): Promise<Revision> {
  try {
    const { metadata, chunk_count, chunk_ids } = await client.getDocument(tenant, collection, docid);
    return chunk_count === chunk_ids.length ? Number(metadata['revision']) : NaN;
  } catch (error) {
    if (error instanceof SheafError && error.code === 'document_not_found') return 0;
    throw error;
  }
}

/** A search for the text of the last part finds that very chunk: it was the last to be written. */
async function checkFound({ client, violations }: Pick<Check, 'client' | 'violations'>, docid: string, parts: readonly string[]): Promise<void> {
  const { matches } = await client.search(tenant, collection, { q: parts.at(-1)!, k: 5 });
  const hit = matches.find(({ id }) => id === `${docid}::chunk_${parts.length - 1}`);
  if (hit?.text !== parts.at(-1)) violations.push(`a search for the text of ${docid}::chunk_${parts.length - 1} does not find it`);
}
