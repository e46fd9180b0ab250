// Evaluates a parsed filter on metadata. Compiled once a search into closures. Pure; called by the shard workers for
// each chunk that a search considers.
import { createComparison } from './compare-values.js';
import type { FieldTest, Filter } from '../contract/filter.js';
import { ScalarSet } from './scalar-set.js';

/** Metadata in layers: a key of an earlier one hides that of a later one. A hit's are chunk, then document. */
export type MetaLayers = readonly Readonly<Record<string, unknown>>[];
export type MetaTest = (meta: MetaLayers) => boolean;

export function compileFilter(filter: Filter): MetaTest {
  if ('all' in filter) {
    const tests = filter.all.map(compileFilter);
    return (meta) => tests.every((test) => test(meta));
  }
  if ('any' in filter) {
    const tests = filter.any.map(compileFilter);
    return (meta) => tests.some((test) => test(meta));
  }
  if ('not' in filter) {
    const test = compileFilter(filter.not);
    return (meta) => !test(meta);
  }
  const read = fieldReader(filter.field);
  const fits = compileTest(filter.test);
  return (meta) => fits(read(meta));
}

/** `value` is undefined where the field is absent; of a list any element may fit. */
function compileTest(test: FieldTest): (value: unknown) => boolean {
  if (test.op === 'exists') return (value) => value !== undefined;
  if (test.op === 'in') {
    const set = new ScalarSet(test.values);
    return (value) => (value === undefined ? set.hasNull : anyOf(value, (one) => set.has(one)));
  }
  const fits = test.op === 'compare' ? createComparison(test.by, test.value) : textTest(test.op, test.text);
  return (value) => anyOf(value, fits);
}

function textTest(op: 'prefix' | 'suffix' | 'contains', text: string): (value: unknown) => boolean {
  const method = ({ prefix: 'startsWith', suffix: 'endsWith', contains: 'includes' } as const)[op];
  return (value) => typeof value === 'string' && value[method](text);
}

const anyOf = (value: unknown, fits: (one: unknown) => boolean): boolean =>
  Array.isArray(value) ? value.some(fits) : fits(value);

/**
 * Reads a field: the key as it is written, else the path that its dots make. Through a list of objects it reads them
 * all.
 */
export function fieldReader(field: string): (meta: MetaLayers) => unknown {
  const [top, ...path] = field.split('.') as [string, ...string[]];
  return (meta) => {
    const literal = valueIn(meta, field);
    return literal !== undefined || path.length === 0 ? literal : descend(valueIn(meta, top), path);
  };
}

function valueIn(meta: MetaLayers, key: string): unknown {
  for (const layer of meta) if (Object.hasOwn(layer, key)) return layer[key];
  return undefined;
}

function descend(value: unknown, path: readonly string[]): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (Array.isArray(value)) {
    const found = value
      .map((one: unknown) => (Array.isArray(one) ? undefined : descend(one, path)))
      .filter((one) => one !== undefined);
    return found.length === 0 ? undefined : found.flat();
  }
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return descend((value as Record<string, unknown>)[key], rest);
}
