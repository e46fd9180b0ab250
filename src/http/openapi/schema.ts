// JSON schemas as plain objects, and their rewriting into the short forms people read: `type: [string, 'null']` for a
// choice with null, `enum` for a choice of constants, aliases of numbers and strings in place. Used by schemas.ts.
// Pure.

/** A JSON schema of draft 2020-12, as OpenAPI 3.1 has them. */
export interface Schema {
  readonly [keyword: string]: unknown;
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

export type Schemas = Readonly<Record<string, Schema>>;

const REF_START = '#/components/schemas/';

export const refTo = (name: string): Schema => ({ $ref: REF_START + name });

/** The schema, and all inside it, in short forms; `all` are those that its references mean. */
export function shortened(schema: Schema, all: Schemas): Schema {
  const target = schema.$ref === undefined ? undefined : all[schema.$ref.slice(REF_START.length)];
  if (target !== undefined && isInlined(target)) return { ...shortened(target, all), ...described(schema) };
  if (schema.oneOf !== undefined)
    return choice(
      schema.oneOf.map((part) => shortened(part, all)),
      described(schema),
    );
  const { items, properties, ...rest } = schema;
  // What describes a record is TypeScript's own words about records.
  if (rest.additionalProperties !== undefined && Object.keys(properties ?? {}).length === 0) return { type: 'object' };
  return {
    ...rest,
    ...(items && { items: shortened(items, all) }),
    ...(properties && { properties: mapped(properties, (property) => shortened(property, all)) }),
  };
}

/** The names of a schema's components, and of theirs. */
export function reached(names: readonly string[], all: Schemas): Set<string> {
  const found = new Set<string>();
  const pending = [...names];
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (found.has(name)) continue;
    found.add(name);
    for (const [, ref] of JSON.stringify(all[name] ?? {}).matchAll(/"#\/components\/schemas\/([^"]+)"/g))
      pending.push(ref as string);
  }
  return found;
}

export function mapped<T, U>(
  record: Readonly<Record<string, T>>,
  change: (value: T, name: string) => U,
): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value, name)]));
}

/** Objects with fields keep their names; records, numbers, strings and choices stand where they are used. */
const isInlined = ({ type, properties }: Schema): boolean =>
  type !== 'object' || Object.keys(properties ?? {}).length === 0;

const described = ({ description }: Schema): Schema => (description === undefined ? {} : { description });

function choice(parts: readonly Schema[], rest: Schema): Schema {
  const others = parts.filter(({ type }) => type !== 'null');
  const nullable = others.length < parts.length;
  const only = others.length === 1 ? others[0] : constants(others);
  if (only?.type === undefined) return { oneOf: nullable ? [...others, { type: 'null' }] : others, ...rest };
  if (!nullable) return { ...only, ...rest };
  return { ...only, type: [only.type, 'null'].flat(), ...(only.enum && { enum: [...only.enum, null] }), ...rest };
}

/** One schema for a choice of constants or of bare types; undefined where it is neither. */
function constants(parts: readonly Schema[]): Schema | undefined {
  const isBare = parts.every((part) => part.type !== undefined && Object.keys(part).length === 1);
  if (isBare) return { type: parts.flatMap(({ type }) => type ?? []) };
  if (parts.some((part) => part.const === undefined)) return undefined;
  return { type: typeof parts[0]?.const, enum: parts.map((part) => part.const) };
}
