// Search hits as text for a terminal: score, source path, chunk and a snippet around the words that were asked for. Called
// by search.ts and demo.ts. Pure.
import type { SearchHit } from '../contract/api/search.js';
import { oneLine } from './output.js';

const SNIPPET_CHARACTERS_MAX = 220;
/** How much of the text before the first matching word is shown. */
const SNIPPET_LEAD = 60;

export function showHits(hits: readonly SearchHit[], query: string): string {
  if (hits.length === 0) return 'No hits.';
  return hits.map((hit, i) => showHit(hit, i + 1, query)).join('\n');
}

function showHit({ id, score, text, meta }: SearchHit, rank: number, query: string): string {
  const separator = id.lastIndexOf('::');
  const path = typeof meta['path'] === 'string' ? meta['path'] : id.slice(0, separator);
  const head = `${String(rank).padStart(2)}. ${score.toFixed(3)}  ${oneLine(path)}  ${oneLine(id.slice(separator + 2))}`;
  return text === undefined ? head : `${head}\n    ${snippet(text, query)}`;
}

/** At most 220 characters of the text on one line, from a little before the first word of the query that occurs in it. */
export function snippet(text: string, query: string): string {
  const flat = oneLine(text);
  const lower = flat.toLowerCase();
  const places = query.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu)?.map((word) => lower.indexOf(word)) ?? [];
  const first = Math.min(...places.filter((place) => place >= 0));
  const start = Number.isFinite(first) && first > SNIPPET_LEAD ? flat.indexOf(' ', first - SNIPPET_LEAD) + 1 : 0;
  const characters = Array.from(flat.slice(start, start + 2 * (SNIPPET_CHARACTERS_MAX + 1)));
  const shown = characters.slice(0, SNIPPET_CHARACTERS_MAX).join('');
  return `${start > 0 ? '… ' : ''}${shown}${characters.length > SNIPPET_CHARACTERS_MAX ? ' …' : ''}`;
}
