// The colours of points: by document, or by a metadata field whose values are few, or numbers. Pure.
import { docidOf } from '../address.js';
import { ownFields } from '../format.js';

/** A chunk on the map. */
export interface Mapped {
  readonly rid: string;
  readonly meta?: Record<string, unknown>;
}

export interface Colouring {
  /** The CSS colour of each point. */
  readonly colours: readonly string[];
  /** What the colours mean, the most frequent first; empty where each document has its own. */
  readonly legend: readonly { readonly colour: string; readonly words: string }[];
}

const HUES = 360;
/** Hues of values, far from each other in this order. */
const VALUE_HUES = [215, 25, 140, 330, 265, 50, 180, 0, 100];
const OTHER = 'hsl(0 0% 55%)';
/** From the least number to the largest. */
const RAMP = [225, 20] as const;
const RAMP_STEPS = 5;
const FIELDS_MAX = 40;

const colour = (hue: number): string => `hsl(${hue} 62% 52%)`;

/** The hue of a document, the same for all its chunks. */
function hueOf(rid: string): number {
  let sum = 7;
  for (const character of docidOf(rid)) sum = (sum * 31 + character.charCodeAt(0)) % 65_521;
  return (sum * 137) % HUES;
}

/** Fields that several chunks have and by which they can be told apart. */
export function fieldsOf(chunks: readonly Mapped[]): string[] {
  const fields = new Set<string>();
  for (const { meta = {} } of chunks)
    for (const [name, value] of ownFields(meta)) if (isValue(value) && fields.size < FIELDS_MAX) fields.add(name);
  return [...fields].sort();
}

const isValue = (value: unknown): value is string | number | boolean =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';

/** `field`: '' for the document. */
export function colouringOf(chunks: readonly Mapped[], field: string): Colouring {
  if (field === '') return { colours: chunks.map(({ rid }) => colour(hueOf(rid))), legend: [] };
  const values = chunks.map(({ meta }) => meta?.[field]);
  const distinct = new Set(values.filter(isValue));
  const isScale = distinct.size > VALUE_HUES.length && [...distinct].every((value) => typeof value === 'number');
  return isScale ? byRank(values, [...distinct] as number[]) : byValue(values);
}

/** The colour of a number is its place among all, so that a few large ones leave the others apart. */
function byRank(values: readonly unknown[], numbers: number[]): Colouring {
  const sorted = numbers.sort((a, b) => a - b);
  const last = sorted.length - 1;
  const colourAt = (share: number): string => colour(RAMP[0] + (RAMP[1] - RAMP[0]) * share);
  const places = new Map(sorted.map((value, i) => [value, colourAt(i / last)]));
  const legend = Array.from({ length: RAMP_STEPS }, (_, step) => {
    const share = step / (RAMP_STEPS - 1);
    return { colour: colourAt(share), words: String(sorted[Math.round(share * last)]) };
  });
  return { colours: values.map((value) => places.get(value as number) ?? OTHER), legend };
}

function byValue(values: readonly unknown[]): Colouring {
  const counts = new Map<unknown, number>();
  for (const value of values) if (isValue(value)) counts.set(value, (counts.get(value) ?? 0) + 1);
  const ranked = [...counts].sort(([, a], [, b]) => b - a).map(([value]) => value);
  const shown = ranked.slice(0, VALUE_HUES.length);
  const colours = new Map(shown.map((value, i) => [value, colour(VALUE_HUES[i] as number)]));
  const hasOthers = values.some((value) => !colours.has(value));
  return {
    colours: values.map((value) => colours.get(value) ?? OTHER),
    legend: [
      ...shown.map((value) => ({ colour: colours.get(value) as string, words: String(value) })),
      ...(hasOthers ? [{ colour: OTHER, words: ranked.length > shown.length ? 'others' : 'none' }] : []),
    ],
  };
}
