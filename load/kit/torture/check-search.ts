// Does a search show a slot as the model has it: every chunk once, with the text and metadata of its revision, scored
// as brute force scores it, and nothing else? Used by operations.ts and check.ts of the torture program.
import type { SearchAnswer, SearchBody } from '../../../src/contract/api/search.js';
import { cosine } from '../cosine.js';
import type { Lane } from './change.js';
import { isLive } from './reindexing.js';
import { partsOf, vectorOf } from './revision.js';
import { FAR, farVectorOf } from './spaces.js';
import type { Documents, Slot } from './world.js';

type Match = SearchAnswer['matches'][number];

/** More chunks than a slot ever has. */
const ALL = 1000;
const SCORE_ERROR_MAX = 2e-4;
const MODES = ['vector', 'boost', 'hybrid'];
/** So many scores do not agree by chance. */
const AGREEING_MIN = 4;

interface Question {
  q?: string;
  mode?: string;
  v?: number[];
}

/** Requires that nothing is under way in the slot but a job. */
export async function checkSearch(lane: Lane, when: string): Promise<void> {
  const { client, slot, tally } = lane;
  const question = questionFor(lane);
  const { matches } = await client.search(slot.tenant, slot.name as string, { ...question, k: ALL } as SearchBody);
  tally.searches++;
  tally.chunks += matches.length;
  const complain = (complaint: string): void =>
    void tally.violations.push(`${slot.tenant}/${slot.name} ${when}: ${complaint}`);
  const expected = expectedChunks(slot.kind, slot.documents, lane.seed);
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
  const complaint = scoreComplaint(lane, question, matches);
  if (complaint !== undefined) complain(complaint);
}

function questionFor({ slot, prng }: Lane): Question {
  if (slot.kind === 'text') return { q: `d${prng.int(20)} p${prng.int(8)} bafo`, mode: MODES[prng.int(MODES.length)] };
  return { v: Array.from(vectorOf(prng.int(1000), 'd0', 0)) };
}

/**
 * Scores are those of brute force in the one space that the slot is in; while a job is at work in either, but never in
 * both.
 */
function scoreComplaint({ slot, seed }: Lane, { q, mode, v }: Question, matches: readonly Match[]): string | undefined {
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

/** By chunk id. */
export function expectedChunks(kind: Slot['kind'], documents: Documents, seed: number): Map<string, Chunk> {
  const chunks = new Map<string, Chunk>();
  for (const [docid, { revision }] of documents) {
    if (kind === 'vectors') chunks.set(`${docid}::0`, { revision, vector: vectorOf(seed, docid, revision) });
    else
      partsOf(seed, docid, revision).forEach((text, part) => chunks.set(`${docid}::chunk_${part}`, { revision, text }));
  }
  return chunks;
}
