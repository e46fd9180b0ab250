// Values that fit a JSON schema, as an arbitrary of fast-check: the part of JSON schema that the OpenAPI document of
// this server uses. A pattern or a `not` is met by a word that fits most of them; a miss is a nearly valid request,
// which is fine.
import fc from 'fast-check';
import { resolved, type Document, type Schema } from './operations.js';

const DEPTH_MAX = 4;
const ITEMS_MAX = 6;
/** Ids and names out of few, so that requests meet what others made. */
const WORDS = [
  'a',
  'captain',
  'the white whale',
  'c0',
  'c1',
  'd0',
  'd1',
  'identity',
  'builtin',
  '2026-01-01T00:00:00Z',
  'é 日本 😀',
];

export function fitting(document: Document, given: Schema, depth = 0): fc.Arbitrary<unknown> {
  const schema = resolved(document, given);
  if ('const' in schema) return fc.constant(schema.const);
  if (Array.isArray(schema.enum)) return fc.constantFrom(...(schema.enum as unknown[]));
  const branches = (schema.oneOf ?? schema.anyOf) as Schema[] | undefined;
  if (branches && schema.properties === undefined)
    return fc.oneof(...branches.map((branch) => fitting(document, branch, depth + 1)));
  const types = [schema.type ?? 'any'].flat() as string[];
  return fc.oneof(...types.map((type) => ofType(document, type, schema, depth)));
}

function ofType(document: Document, type: string, schema: Schema, depth: number): fc.Arbitrary<unknown> {
  if (type === 'null') return fc.constant(null);
  if (type === 'boolean') return fc.boolean();
  if (type === 'string') return ofText(schema);
  if (type === 'integer') return fc.integer({ min: boundOf(schema.minimum, -3), max: boundOf(schema.maximum, 2000) });
  if (type === 'number')
    return fc.oneof(
      fc.double({ noNaN: true, min: -10, max: 10 }),
      fc.integer({ min: boundOf(schema.minimum, -3), max: Math.min(1000, boundOf(schema.maximum, 3)) }),
    );
  if (type === 'array')
    return fc.array(fitting(document, (schema.items as Schema | undefined) ?? {}, depth + 1), {
      minLength: boundOf(schema.minItems, 0),
      maxLength: ITEMS_MAX,
    });
  if (type === 'object') return ofObject(document, schema, depth);
  return fc.jsonValue({ maxDepth: 2 });
}

const boundOf = (value: unknown, fallback: number): number => (typeof value === 'number' ? value : fallback);

function ofText({ minLength }: Schema): fc.Arbitrary<string> {
  const any = fc.string({ unit: 'binary', minLength: boundOf(minLength, 0), maxLength: 40 });
  return fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...WORDS) }, { weight: 1, arbitrary: any });
}

/** Of a `oneOf` over required fields, one branch is met and the fields of the others left out. */
function ofObject(document: Document, schema: Schema, depth: number): fc.Arbitrary<unknown> {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
  if (properties.length === 0 || depth > DEPTH_MAX) return metadata();
  const branches = ((schema.oneOf ?? schema.anyOf ?? [{}]) as Schema[]).map(
    (branch) => (branch.required ?? []) as string[],
  );
  return fc.constantFrom(...branches).chain((chosen) => {
    const wanted = new Set([...((schema.required ?? []) as string[]), ...chosen]);
    const kept = properties.filter(([name]) => wanted.has(name) || !branches.flat().includes(name));
    const fields = Object.fromEntries(kept.map(([name, field]) => [name, fitting(document, field, depth + 1)]));
    return fc.record(fields, { requiredKeys: [...wanted].filter((name) => name in fields) });
  });
}

/** Objects without a shape of their own: metadata, filters, options. */
function metadata(): fc.Arbitrary<unknown> {
  const name = fc.constantFrom('lang', 'year', 'tags', 'prio_boost', '$and', '$not', '$gt', '__proto__', 'dim', '');
  const scalar = fc.oneof(fc.constantFrom<unknown>('en', '5', 5, true, null, 1870.5), fc.string({ maxLength: 8 }));
  return fc.dictionary(
    name,
    fc.oneof(
      scalar,
      fc.array(scalar, { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('$eq', '$gt', '$in', '$exists', '$wrong'), scalar, { maxKeys: 2 }),
    ),
    { maxKeys: 3, noNullPrototype: true },
  );
}
