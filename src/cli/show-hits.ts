// Search hits as text for a terminal: score, source path, chunk, and the best passage with what was found in it. Called
// by search.ts, replay.ts and demo.ts. Pure.
import type { Highlight, SearchHit } from '../contract/api/search.js';
import { oneLine } from './output.js';
import { PLAIN, type Style } from './style.js';

const SNIPPET_CHARACTERS_MAX = 220;
/** How much of the text before the first matching word is shown. */
const SNIPPET_LEAD = 60;

export function showHits(hits: readonly SearchHit[], query: string, style: Style = PLAIN): string {
  if (hits.length === 0) return 'No hits.';
  return hits.map((hit, i) => showHit(hit, i + 1, query, style)).join('\n');
}

function showHit(
  { id, score, text, meta, highlight, explain, match_reason }: SearchHit,
  rank: number,
  query: string,
  style: Style,
): string {
  const separator = id.lastIndexOf('::');
  const path = typeof meta['path'] === 'string' ? meta['path'] : id.slice(0, separator);
  const head = `${String(rank).padStart(2)}. ${score.toFixed(3)}  ${oneLine(path)}  ${style.weak(oneLine(id.slice(separator + 2)))}`;
  const passage = highlight ? [highlighted(highlight, style)] : text === undefined ? [] : [snippet(text, query)];
  const reasons = explain ? [style.weak(oneLine(match_reason)), style.weak(oneLine(JSON.stringify(explain)))] : [];
  return [head, ...[...passage, ...reasons].map((each) => `    ${each}`)].join('\n');
}

/**
 * The passage on one line, cut around its first match. Positions are in code points, so nothing may be joined before
 * they are used.
 */
function highlighted({ text, matches, offset }: Highlight, style: Style): string {
  const characters = Array.from(text, (character) => (/[\s\p{Cc}]/u.test(character) ? ' ' : character));
  const first = matches[0]?.[0] ?? 0;
  const start = first > SNIPPET_LEAD && characters.length > SNIPPET_CHARACTERS_MAX ? first - SNIPPET_LEAD : 0;
  const end = Math.min(characters.length, start + SNIPPET_CHARACTERS_MAX);
  let shown = '';
  let at = start;
  for (const [from, to] of matches) {
    if (from < at || to > end) continue;
    shown += characters.slice(at, from).join('') + style.strong(characters.slice(from, to).join(''));
    at = to;
  }
  shown += characters.slice(at, end).join('');
  return `${start + offset > 0 ? '… ' : ''}${shown.replace(/ {2,}/g, ' ').trim()}${end < characters.length ? ' …' : ''}`;
}

/**
 * At most 220 characters of the text on one line, from a little before the first word of the query that occurs in it.
 */
export function snippet(text: string, query: string): string {
  const flat = oneLine(text);
  const lower = flat.toLowerCase();
  const places =
    query
      .toLowerCase()
      .match(/[\p{L}\p{N}]{4,}/gu)
      ?.map((word) => lower.indexOf(word)) ?? [];
  const first = Math.min(...places.filter((place) => place >= 0));
  const start = Number.isFinite(first) && first > SNIPPET_LEAD ? flat.indexOf(' ', first - SNIPPET_LEAD) + 1 : 0;
  const characters = Array.from(flat.slice(start, start + 2 * (SNIPPET_CHARACTERS_MAX + 1)));
  const shown = characters.slice(0, SNIPPET_CHARACTERS_MAX).join('');
  return `${start > 0 ? '… ' : ''}${shown}${characters.length > SNIPPET_CHARACTERS_MAX ? ' …' : ''}`;
}
