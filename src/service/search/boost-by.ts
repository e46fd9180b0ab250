// `boost_by` of a search: its defaults and checks, and its translation for the engine, in which all times are numbers.
// Pure functions.
import { invalidField } from '../../api/errors.js';
import { isWellFormed } from '../../api/ids.js';
import { K_MAX, RERANK_DEPTH_DEFAULT } from '../../api/limits.js';
import { timeOf } from '../../api/numbers.js';
import type { BoostBy, BoostField, RerankSettings, SearchBody } from '../../api/search.js';
import type { BoostCurve, BoostSettings, BoostedField } from '../../engine/search/params.js';

const NOW = 'now';
const EXTENT = /^(\d+(?:\.\d+)?)([smhdw])$/;
const UNIT_MS: Readonly<Record<string, number>> = { s: 1e3, m: 6e4, h: 36e5, d: 864e5, w: 6048e5 };

/** The fields of a search that `depth` has to reach. */
type Bounds = Pick<SearchBody, 'offset' | 'group_size' | 'diversity'> & { k: number; rerank?: RerankSettings | null };

/** `boost_by` with its depth. Throws a 422 for fields that do not go together. */
export function settledBoost(
  { k, offset, group_size: groupSize, diversity, rerank }: Bounds,
  boostBy: BoostBy,
): BoostBy & { depth: number } {
  const best = Math.max(RERANK_DEPTH_DEFAULT, 5 * k * (groupSize ?? 1), diversity?.candidates ?? 0, rerank?.depth ?? 0);
  const depth = boostBy.depth ?? Math.min(K_MAX, best);
  const least: [string, number] = diversity
    ? ['diversity.candidates', diversity.candidates as number]
    : rerank
      ? ['rerank.depth', rerank.depth]
      : ['offset + k', (offset ?? 0) + k];
  if (depth < least[1])
    throw invalidField(
      ['body', 'boost_by', 'depth'],
      `Should be at least \`${least[0]}\`, which is ${least[1]}${least[1] > K_MAX ? `, and at most ${K_MAX}` : ''}.`,
      'greater_than_equal',
      depth,
    );
  const settled = { ...boostBy, depth };
  boostSettings(settled, 0);
  return settled;
}

/** `nowMs`: the time that `now` stands for. Throws a 422 as `settledBoost` does. */
export const boostSettings = ({ fields, combine, depth }: BoostBy, nowMs: number): BoostSettings => ({
  combine: combine ?? 'multiply',
  depth: depth as number,
  fields: fields.map((field, i) => fieldOf(field, nowMs, ['body', 'boost_by', 'fields', String(i)])),
});

function fieldOf(asked: BoostField, nowMs: number, at: string[]): BoostedField {
  const { field, weight, missing } = asked;
  if (!isWellFormed(field)) throw invalidField([...at, 'field'], 'Should be a name in valid UTF-16.', 'value_error');
  const curve = asked.decay == null ? valueCurve(asked, at) : decayCurve(asked, nowMs, at);
  return { field, weight: weight ?? 1, missing: missing ?? 0, curve };
}

function valueCurve(asked: BoostField, at: string[]): BoostCurve {
  refuse(asked, ['origin', 'scale', 'offset', 'at_scale'], 'applies beside `decay` only', at);
  return { form: asked.modifier ?? 'none', factor: asked.factor ?? 1 };
}

function decayCurve(asked: BoostField, nowMs: number, at: string[]): BoostCurve {
  refuse(asked, ['factor', 'modifier'], 'does not apply beside `decay`', at);
  const { decay, origin, offset } = asked;
  if (origin == null)
    throw invalidField(
      [...at, 'origin'],
      'Give the value with the greatest boost: a number, a time, or `now`.',
      'missing',
    );
  const isTime = typeof origin === 'string';
  const start = isTime ? (origin === NOW ? nowMs : timeOf(origin)) : origin;
  if (start === undefined)
    throw invalidField([...at, 'origin'], 'Should be a number, an ISO 8601 time, or `now`.', 'value_error', origin);
  const extent = (name: 'scale' | 'offset'): number => {
    const value = asked[name];
    const amount = isTime ? msOf(value) : typeof value === 'number' ? value : undefined;
    if (amount !== undefined && Number.isFinite(amount) && (name === 'offset' ? amount >= 0 : amount > 0))
      return amount;
    const form = isTime ? 'a length of time such as `12h`, `30d` or `4w`' : 'a number';
    throw invalidField(
      [...at, name],
      `Should be ${form} ${name === 'offset' ? 'of at least 0' : 'greater than 0'}.`,
      'value_error',
      value,
    );
  };
  return {
    form: decay as 'linear' | 'exponential' | 'gaussian',
    isTime,
    origin: start,
    scale: extent('scale'),
    offset: offset == null ? 0 : extent('offset'),
    atScale: asked.at_scale ?? 0.5,
  };
}

function refuse(asked: BoostField, names: readonly (keyof BoostField)[], problem: string, at: string[]): void {
  const name = names.find((one) => asked[one] != null);
  if (name) throw invalidField([...at, name], `\`${name}\` ${problem}; leave it out.`, 'value_error');
}

/** Milliseconds of a length of time; undefined for any other value. */
function msOf(extent: unknown): number | undefined {
  const [, amount, unit = ''] = (typeof extent === 'string' && EXTENT.exec(extent)) || [];
  return amount === undefined ? undefined : Number(amount) * (UNIT_MS[unit] as number);
}
