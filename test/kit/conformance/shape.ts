// Field tables of the specification as values, and what an answer has against them: a missing field, a wrong type, a
// field that no table knows. Used by every test of test/conformance; knows nothing of the server's own types.

export type FieldType =
  | 'string'
  | 'integer'
  | 'number'
  | 'boolean'
  | 'object'
  | 'true'
  | 'false'
  | 'anything'
  /** A step of a validation entry's `loc`. */
  | 'location'
  /** ISO 8601 with Z. */
  | 'time'
  | 'uuidv7'
  | { readonly list: FieldType }
  | { readonly oneOf: readonly string[] }
  | Shape;

export interface Shape {
  readonly required: Readonly<Record<string, FieldType>>;
  readonly optional?: Readonly<Record<string, FieldType>>;
}

export const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const PLAIN: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  integer: (value) => Number.isInteger(value),
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  object: isObject,
  true: (value) => value === true,
  false: (value) => value === false,
  anything: () => true,
  location: (value) => typeof value === 'string' || Number.isInteger(value),
  time: (value) => typeof value === 'string' && TIME.test(value),
  uuidv7: (value) => typeof value === 'string' && UUID_V7.test(value),
};

/** What is wrong with a value, one line each with its place; empty where it fits. */
export function misfits(value: unknown, type: FieldType, at = 'body'): string[] {
  if (typeof type === 'string')
    return PLAIN[type]?.(value) ? [] : [`${at} should be ${type}, is ${JSON.stringify(value)}`];
  if ('list' in type) return listMisfits(value, type.list as FieldType, at);
  if ('oneOf' in type)
    return (type.oneOf as readonly string[]).includes(value as string)
      ? []
      : [`${at} should be one of ${String(type.oneOf)}, is ${JSON.stringify(value)}`];
  return objectMisfits(value, type as Shape, at);
}

function listMisfits(value: unknown, item: FieldType, at: string): string[] {
  if (!Array.isArray(value)) return [`${at} should be a list, is ${JSON.stringify(value)}`];
  return value.flatMap((entry, i) => misfits(entry, item, `${at}[${i}]`));
}

function objectMisfits(value: unknown, { required, optional = {} }: Shape, at: string): string[] {
  if (!isObject(value)) return [`${at} should be an object, is ${JSON.stringify(value)}`];
  const missing = Object.keys(required)
    .filter((name) => !(name in value))
    .map((name) => `${at}.${name} is missing`);
  const wrong = Object.entries(value).flatMap(([name, field]) => {
    const type = Object.hasOwn(required, name)
      ? required[name]
      : Object.hasOwn(optional, name)
        ? optional[name]
        : undefined;
    return type === undefined
      ? [`${at}.${name} is in no table of the specification`]
      : misfits(field, type, `${at}.${name}`);
  });
  return [...missing, ...wrong];
}

/** One shape with the fields of both. */
export function joined(a: Shape, b: Shape): Shape {
  return { required: { ...a.required, ...b.required }, optional: { ...a.optional, ...b.optional } };
}
