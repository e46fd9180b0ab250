// The check after a restart: everything acknowledged is present, complete and in its version, and nothing else is. An
// interrupted change has happened or has not, and the model adopts which.
import type { SearchAnswer, SearchBody } from '../../src/api/search.js';
import { SheafError } from '../../src/client/errors.js';
import { cosine } from '../kit/cosine.js';
import {
  type Documents,
  type Found,
  type FoundDocument,
  type Revision,
  type Slot,
  isLive,
  judge,
  settle,
} from './model.js';
import { FAR, type Worker, count, farVectorOf, findJobs, partsOf, vectorOf } from './writer.js';

// Whether a search shows a slot as the model has it: every chunk once, with the text and metadata of its revision, with
// brute-force scores, and nothing else.

type Match = SearchAnswer['matches'][number];

/** More chunks than a slot ever has. */
const ALL = 1000;
const SCORE_ERROR_MAX = 2e-4;
const MODES = ['vector', 'boost', 'hybrid'];
/** This many scores do not agree by chance. */
const AGREEING_MIN = 4;

interface Question {
  q?: string;
  mode?: string;
  v?: number[];
}

/** Requires that no change is pending in the slot except a job. */
export async function checkSearch(worker: Worker, when: string): Promise<void> {
  const { client, slot, tally } = worker;
  const question = questionFor(worker);
  const { matches } = await client.search(slot.tenant, slot.name as string, { ...question, k: ALL } as SearchBody);
  tally.searches++;
  tally.chunks += matches.length;
  const complain = (complaint: string): void =>
    void tally.violations.push(`${slot.tenant}/${slot.name} ${when}: ${complaint}`);
  const expected = expectedChunks(slot.kind, slot.documents, worker.seed);
  for (const { id, text, meta } of matches) {
    const chunk = expected.get(id);
    expected.delete(id);
    if (!chunk) complain(`a search shows ${id} in revision ${String(meta['revision'])}, which is not there`);
    else if (meta['revision'] !== chunk.revision || (text ?? undefined) !== chunk.text)
      complain(
        `${id} is shown with revision ${String(meta['revision'])} and "${String(text).slice(0, 40)}", not ${chunk.revision}`,
      );
  }
  if (expected.size > 0)
    complain(`a search (${question.mode ?? 'v'}) misses ${expected.size} chunks, such as ${[...expected.keys()][0]}`);
  const complaint = scoreComplaint(worker, question, matches);
  if (complaint !== undefined) complain(complaint);
}

function questionFor({ slot, prng }: Worker): Question {
  if (slot.kind === 'text') return { q: `d${prng.int(20)} p${prng.int(8)} bafo`, mode: MODES[prng.int(MODES.length)] };
  return { v: Array.from(vectorOf(prng.int(1000), 'd0', 0)) };
}

/**
 * Checks that scores are those of brute force in the slot's vector space. While a job is running it may be either of
 * two spaces, but not a mixture.
 */
function scoreComplaint(
  { slot, seed }: Worker,
  { q, mode, v }: Question,
  matches: readonly Match[],
): string | undefined {
  if (mode !== undefined && mode !== 'vector') return undefined;
  if (matches.some(({ score }, i) => i > 0 && score > (matches[i - 1] as Match).score))
    return 'hits are not in the order of their scores';
  const chunks = expectedChunks(slot.kind, slot.documents, seed);
  const exact = matches.map(({ id, text }) =>
    v ? cosine(v, chunks.get(id)?.vector ?? []) : cosine(farVectorOf(q as string), farVectorOf(text ?? '')),
  );
  const wrong = matches.flatMap(({ id, score }, i) =>
    Math.abs(score - (exact[i] as number)) > SCORE_ERROR_MAX
      ? [`${id} scores ${score}, and by brute force ${exact[i]}`]
      : [],
  );
  const { reindexing } = slot.state;
  if (v || (reindexing.space === FAR && !isLive(reindexing))) return wrong[0];
  const agreeing = matches.length - wrong.length;
  return wrong.length > 0 && agreeing >= AGREEING_MIN
    ? `${agreeing} of ${matches.length} hits are scored in another space than the others: ${wrong[0]}`
    : undefined;
}

interface Chunk {
  revision: number;
  text?: string;
  vector?: number[];
}

/** The expected chunks by chunk id. */
function expectedChunks(kind: Slot['kind'], documents: Documents, seed: number): Map<string, Chunk> {
  const chunks = new Map<string, Chunk>();
  for (const [docid, { revision }] of documents) {
    if (kind === 'vectors') chunks.set(`${docid}::0`, { revision, vector: vectorOf(seed, docid, revision) });
    else
      partsOf(seed, docid, revision).forEach((text, part) => chunks.set(`${docid}::chunk_${part}`, { revision, text }));
  }
  return chunks;
}

const LOOKED_INTO = 1;

/** Checks a slot and resolves its pending change. */
export async function checkSlot(worker: Worker, when: string): Promise<void> {
  const { slot, tally } = worker;
  const found = await find(worker);
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
  await checkCounts(worker, when);
  for (let searches = slot.kind === 'text' ? 3 : 1; searches > 0; searches--) await checkSearch(worker, when);
  await checkSome(worker, when);
}

async function find({ client, slot }: Worker): Promise<Found> {
  const { tenant } = slot;
  const { collections } = await client.listCollections(tenant);
  const names = collections.map(({ name }) => name).filter((name) => name.startsWith(slot.prefix));
  const [name] = names;
  if (name === undefined) return { names, documents: new Map(), space: '', jobs: [] };
  const documents = await findDocuments({ client, slot }, name);
  return { names, documents, ...(await findJobs(client, tenant, name)) };
}

/**
 * Looks up revisions where a change was in flight or a version has changed; for other documents a search shows them.
 */
async function findDocuments(
  { client, slot }: Pick<Worker, 'client' | 'slot'>,
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

async function checkCounts({ client, slot, seed, tally }: Worker, when: string): Promise<void> {
  const { doc_count: documents, chunk_count: chunks } = await client.collectionDetail(slot.tenant, slot.name as string);
  const expected = expectedChunks(slot.kind, slot.documents, seed).size;
  if (documents === slot.documents.size && chunks === expected) return;
  tally.violations.push(
    `${slot.tenant}/${slot.name} ${when}: counts ${documents} documents and ${chunks} chunks, not ${slot.documents.size} and ${expected}`,
  );
}

/** Reads a few documents in every other way. */
async function checkSome({ client, slot, prng, seed, tally }: Worker, when: string): Promise<void> {
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

/** The content of a document; undefined where it has none. */
async function contentOf(
  { client, slot }: { client: Worker['client']; slot: Slot },
  id: string,
): Promise<string | undefined> {
  try {
    return await client.chunkContent(slot.tenant, slot.name as string, id);
  } catch (error) {
    if (error instanceof SheafError && error.code === 'chunk_content_not_found') return undefined;
    throw error;
  }
}
