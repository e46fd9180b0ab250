// Kinds of configuration values: which values are valid, how they are converted, and the errors for others. Both the
// configuration keys (keys.ts) and the fields of lists (checkedMapping) use them. Pure functions.
import { OperatorError } from '../base/operator-error.js';

/** An error in the configuration. */
export class ConfigError extends OperatorError {
  override readonly name = 'ConfigError';
}

export interface Kind<T = unknown> {
  /** Completes "should be …" in the message for an invalid value. */
  readonly wanted: string;
  /**
   * Returns the converted value, or undefined if it is invalid. `at` is its place in the configuration, for kinds that
   * throw a ConfigError themselves.
   */
  read(value: unknown, at: string): T | undefined;
  /** Whether an environment variable contains the value verbatim; other kinds are written as YAML there. */
  readonly isText?: true;
  /** Whether messages must not show the value. */
  readonly isSecret?: true;
}

/** The kind with a conversion of its values. */
const mapped = <T, U>({ read, ...kind }: Kind<T>, map: (value: T) => U): Kind<U> => ({
  ...kind,
  read: (value, at) => {
    const found = read(value, at);
    return found === undefined ? undefined : map(found);
  },
});

const fitting = <T>(wanted: string, fits: (value: unknown) => boolean): Kind<T> => ({
  wanted,
  read: (value) => (fits(value) ? (value as T) : undefined),
});

const isText = (value: unknown): value is string => typeof value === 'string';
const isFilled = (value: unknown): boolean => isText(value) && value !== '';
const isMapping = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);
const isListOf = (value: unknown, fits: (item: unknown) => boolean): boolean =>
  Array.isArray(value) && value.length > 0 && value.every(fits);

export const text: Kind<string> = { ...fitting('text (in YAML: in quotes)', isText), isText: true };
export const filledText: Kind<string> = { ...text, ...fitting(text.wanted, isFilled) };
export const slug: Kind<string> = {
  ...text,
  ...fitting('a name of letters, digits, - and _', (value) => isText(value) && /^[\w-]{1,64}$/.test(value)),
};
export const address: Kind<string> = {
  ...text,
  ...fitting(
    'an address and a port, such as 10.0.0.5:8090',
    (value) => isText(value) && /^((\[[\da-fA-F:]+\]|[\w.-]+):\d{1,5})?$/.test(value),
  ),
};
export const secret: Kind<string> = { ...text, isSecret: true };
export const flag: Kind<boolean> = fitting('true or false', (value) => typeof value === 'boolean');
export const texts: Kind<string[]> = fitting('a list of texts', (value) => isListOf(value, isFilled));
export const mappings: Kind<Record<string, unknown>[]> = fitting(
  'a list of mappings',
  (value) => Array.isArray(value) && value.every(isMapping),
);

export const choice = <T extends string>(...of: readonly T[]): Kind<T> => ({
  ...fitting(`one of ${of.join(', ')}`, (value) => of.some((one) => one === value)),
  isText: true,
});

export const choices = <T extends string>(...of: readonly T[]): Kind<T[]> =>
  fitting(`a list out of ${of.join(', ')}`, (value) => isListOf(value, (item) => of.some((one) => one === item)));

type Bounded = Kind<number> & { readonly min: number; readonly max: number };

export const number = (min: number, max: number): Bounded => ({
  ...fitting(`a number from ${min} to ${max}`, (value) => typeof value === 'number' && value >= min && value <= max),
  min,
  max,
});

export const integer = (min: number, max: number): Bounded => ({
  ...fitting(
    `a whole number from ${min} to ${max}`,
    (value) => Number.isInteger(value) && (value as number) >= min && (value as number) <= max,
  ),
  min,
  max,
});

/** Whole seconds in the configuration, milliseconds in the server. */
export const seconds = (min: number, max: number): Kind<number> => mapped(integer(min, max), (value) => value * 1000);

export const MIB = 2 ** 20;

/** Whole mebibytes in the configuration, bytes in the server. */
export const hours = (min: number, max: number): Kind<number> =>
  mapped(integer(min, max), (value) => value * 3_600_000);
export const mebibytes = (min: number, max: number): Kind<number> => mapped(integer(min, max), (value) => value * MIB);

/** A list, or a text with commas; each entry, by itself or after http://, must form a URL. */
export const addresses = (wanted: string, form: RegExp, map: (address: string) => string): Kind<string[]> => ({
  wanted,
  read: (value) => {
    const listed: unknown = isText(value) ? value.split(/[\s,]+/).filter((part) => part !== '') : value;
    const isAddress = (part: unknown): boolean =>
      isText(part) && form.test(part) && URL.canParse(part.includes('://') ? part : `http://${part}`);
    return Array.isArray(listed) && listed.every(isAddress) ? listed.map(map) : undefined;
  },
});

/** Throws ConfigError for an invalid value; `at` is its place in the configuration. */
export function checkedValue<T>({ read, wanted, isSecret }: Kind<T>, value: unknown, at: string, names = at): T {
  const found = read(value, at);
  if (found !== undefined) return found;
  throw new ConfigError(`${names} should be ${wanted}${isSecret ? '' : `, not ${JSON.stringify(value)}`}`);
}

/** A field of a mapping; one without a fallback is required. */
type Field<T = unknown, D = unknown> = Kind<T> & { readonly fallback?: D };
type Fields = Readonly<Record<string, Field>>;
type FieldValue<F> = F extends Kind<infer T> ? T | (F extends { readonly fallback: infer D } ? D : never) : never;
export type Values<F extends Fields> = { -readonly [N in keyof F]: FieldValue<F[N]> };

/** A field that defaults to `fallback`. */
export const or = <K extends Kind, D>(kind: K, fallback: D): K & { readonly fallback: D } => ({ ...kind, fallback });
export const optional = <K extends Kind>(kind: K): K & { readonly fallback: undefined } => or(kind, undefined);

/**
 * Returns every field with its value or fallback; null counts as absent. `at` is the place in the configuration, such
 * as `embedder.instances[0]`. Throws ConfigError with the location of an error.
 */
export function checkedMapping<F extends Fields>(at: string, mapping: Record<string, unknown>, fields: F): Values<F> {
  for (const name of Object.keys(mapping)) {
    if (!Object.hasOwn(fields, name))
      throw new ConfigError(`${at}.${name}: there is no such field; the fields are ${Object.keys(fields).join(', ')}`);
  }
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => {
      const value = mapping[name] ?? undefined;
      if (value !== undefined) return [name, checkedValue(field, value, `${at}.${name}`)];
      if (!('fallback' in field)) throw new ConfigError(`${at}.${name} is missing`);
      return [name, field.fallback];
    }),
  ) as Values<F>;
}

type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> };
type NeverAbsent<T> = { [K in keyof T]-?: undefined extends T[K] ? never : K }[keyof T];

/** Omits the fields that are undefined. */
export const given = <T extends object>(fields: T): Given<T> & Pick<T, NeverAbsent<T>> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given<T> &
    Pick<T, NeverAbsent<T>>;
