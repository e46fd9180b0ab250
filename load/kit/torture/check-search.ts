// Does a search show a slot as the model has it: every chunk once, with the text and metadata of its revision, scored as brute force scores
// it, and nothing else? Used by operations.ts and check.ts of the torture program.
import type { SearchBody } from '../../../src/contract/api/search.js';
import type { Prng } from '../../../src/base/prng.js';
import type { SheafClient } from '../../../src/client/client.js';
import { partsOf, vectorOf } from './revision.js';
import type { Slot, Tally } from './world.js';

export interface Look {
  client: SheafClient;
  slot: Slot;
  prng: Prng;
  seed: number;
  tally: Tally;
}

/** More chunks than a slot ever has. */
export const ALL = 1000;
const SCORE_ERROR_MAX = 2e-4;
const MODES = ['vector', 'boost', 'hybrid'];

/** Requires that nothing is under way in the slot. */
export async function checkSearch(look: Look, when: string): Promise<void> {
  const { client, slot, prng, tally } = look;
  const question = slot.kind === 'text' ? { q: `d${prng.int(20)} p${prng.int(8)} bafo`, mode: MODES[prng.int(MODES.length)] } : { v: Array.from(vectorOf(prng.int(1000), 'd0', 0)) };
  const { matches } = await client.search(slot.tenant, slot.name as string, { ...question, k: ALL } as SearchBody);
  tally.searches++;
  tally.chunks += matches.length;
  const where = `${slot.tenant}/${slot.name} ${when}`;
  const expected = expectedChunks(look);
  for (const { id, text, meta, score } of matches) {
    const chunk = expected.get(id);
    expected.delete(id);
    if (!chunk) tally.violations.push(`${where}: a search shows ${id} in revision ${String(meta['revision'])}, which is not there`);
    else if (meta['revision'] !== chunk.revision || (text ?? undefined) !== chunk.text) tally.violations.push(`${where}: ${id} is shown with revision ${String(meta['revision'])} and "${String(text).slice(0, 40)}", not ${chunk.revision}`);
    else if (question.v && Math.abs(score - cosine(question.v, chunk.vector as number[])) > SCORE_ERROR_MAX) tally.violations.push(`${where}: ${id} scores ${score}, and by brute force ${cosine(question.v, chunk.vector as number[])}`);
  }
  if (expected.size > 0) tally.violations.push(`${where}: a search (${question.mode ?? 'v'}) misses ${expected.size} chunks, such as ${[...expected.keys()][0]}`);
  if (question.v && matches.some(({ score }, i) => i > 0 && score > (matches[i - 1]?.score ?? 0))) tally.violations.push(`${where}: hits are not in the order of their scores`);
}

interface Chunk {
  revision: number;
  text?: string;
  vector?: number[];
}

/** By chunk id. */
export function expectedChunks({ slot, seed }: Pick<Look, 'slot' | 'seed'>): Map<string, Chunk> {
  const chunks = new Map<string, Chunk>();
  for (const [docid, { revision }] of slot.documents) {
    if (slot.kind === 'vectors') chunks.set(`${docid}::0`, { revision, vector: vectorOf(seed, docid, revision) });
    else partsOf(seed, docid, revision).forEach((text, part) => chunks.set(`${docid}::chunk_${part}`, { revision, text }));
  }
  return chunks;
}

function cosine(a: readonly number[], b: readonly number[]): number {
  const dot = (x: readonly number[], y: readonly number[]): number => x.reduce((sum, value, i) => sum + value * (y[i] as number), 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}
