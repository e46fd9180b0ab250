// After a restart: is everything that was acknowledged there, whole, in its version, and nothing else? A change that was cut off has happened or
// has not, and the model takes over which. Used by the torture program while nobody writes.
import { SheafError } from '../../../src/client/errors.js';
import type { StoredDocument } from '../../../src/contract/api/documents.js';
import { checkSearch, expectedChunks, type Look } from './check-search.js';
import type { Revision, Slot } from './world.js';

const LOOKED_INTO = 2;

/** Checks a slot and settles what is under way in it. */
export async function checkSlot(look: Look, when: string): Promise<void> {
  const { slot, tally } = look;
  const cutOff = slot.pending !== undefined;
  if (!(await settleName(look, when))) return;
  if (slot.name !== null) await settleDocuments(look, when);
  if (cutOff) tally.cutOff++;
  slot.forget();
  if (slot.name === null) return;
  await checkCounts(look, when);
  for (let searches = slot.kind === 'text' ? 3 : 1; searches > 0; searches--) await checkSearch(look, when);
  await checkSome(look, when);
}

/** True where the collections are those that may be there. */
async function settleName({ client, slot, tally }: Look, when: string): Promise<boolean> {
  const { collections } = await client.listCollections(slot.tenant);
  const found = collections.map(({ name }) => name).filter((name) => name.startsWith(slot.prefix));
  const allowed = slot.allowedNames();
  const name = found[0] ?? null;
  if (found.length > 1 || !allowed.includes(name)) {
    tally.violations.push(`${slot.tenant} ${when}: collections ${found.join(', ') || 'none'}, not ${allowed.map((each) => each ?? 'none').join(' or ')}`);
    return false;
  }
  if (allowed.length === 1) return true;
  if (name === allowed[1]) tally.kept++;
  if (name === allowed[1]) slot.settle();
  else slot.forget();
  return true;
}

async function settleDocuments({ client, slot, tally }: Look, when: string): Promise<void> {
  const { documents } = await client.listDocuments(slot.tenant, slot.name as string);
  const versions = new Map(documents.map(({ docid, version }) => [docid, version]));
  const sent = slot.pending && 'documents' in slot.pending ? [...slot.pending.documents.keys()] : [];
  const happened = new Set<string>();
  for (const docid of new Set([...versions.keys(), ...slot.documents.keys(), ...sent])) {
    const found = versions.has(docid) ? revisionIn(await client.getDocument(slot.tenant, slot.name as string, docid)) : null;
    const place = slot.allowed(docid).findIndex((allowed) => isSame(found, allowed));
    if (place < 0) tally.violations.push(`${slot.tenant}/${slot.name} ${when}: ${docid} is ${told(found)}, not ${slot.allowed(docid).map(told).join(' or ')}`);
    if (place === 1) happened.add(docid);
  }
  if (happened.size > 0) tally.kept++;
  slot.settle((docid) => happened.has(docid));
}

const revisionIn = ({ metadata, version }: StoredDocument): Revision => ({ revision: Number(metadata['revision']), version });
const isSame = (a: Revision | null, b: Revision | null): boolean => a?.revision === b?.revision && a?.version === b?.version;
const told = (revision: Revision | null): string => (revision ? `revision ${revision.revision} in version ${revision.version}` : 'absent');

async function checkCounts(look: Look, when: string): Promise<void> {
  const { client, slot, tally } = look;
  const { doc_count: documents, chunk_count: chunks } = await client.collectionDetail(slot.tenant, slot.name as string);
  const expected = expectedChunks(look).size;
  if (documents === slot.documents.size && chunks === expected) return;
  tally.violations.push(`${slot.tenant}/${slot.name} ${when}: counts ${documents} documents and ${chunks} chunks, not ${slot.documents.size} and ${expected}`);
}

/** A few documents by every other way of reading them. */
async function checkSome({ client, slot, prng, seed, tally }: Look, when: string): Promise<void> {
  const docids = [...slot.documents.keys()];
  for (let n = 0; n < Math.min(LOOKED_INTO, docids.length); n++) {
    const docid = docids[prng.int(docids.length)] as string;
    const expected = [...expectedChunks({ slot: only(slot, docid), seed })];
    const { chunks } = await client.listChunks(slot.tenant, slot.name as string, docid);
    if (chunks.map(({ rid }) => rid).join() !== expected.map(([id]) => id).join()) tally.violations.push(`${slot.tenant}/${slot.name} ${when}: ${docid} lists other chunks than ${expected.length}`);
    for (const [id, { text }] of expected) {
      const content = await client.chunkContent(slot.tenant, slot.name as string, id).catch((error: unknown) => (error instanceof SheafError && error.code === 'chunk_content_not_found' ? undefined : String(error)));
      if (content !== text) tally.violations.push(`${slot.tenant}/${slot.name} ${when}: ${id} reads "${String(content).slice(0, 60)}"`);
    }
  }
}

/** The slot with one of its documents. */
function only(slot: Slot, docid: string): Slot {
  const alone = Object.create(slot) as { documents: Map<string, Revision> } & Slot;
  Object.defineProperty(alone, 'documents', { value: new Map([[docid, slot.documents.get(docid) as Revision]]) });
  return alone;
}
