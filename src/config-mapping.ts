// Checks one mapping of a list in the configuration against a table of its fields. Throws ConfigError with the place of
// what is wrong. Used by the config files whose keys are lists of mappings, at start.
import { ConfigError } from './config-tenant-keys.js';

export interface Field {
  kind: 'text' | 'integer' | 'boolean' | 'texts';
  /** Of integers. */
  min?: number;
  max?: number;
  /** Of texts: the only ones. */
  of?: readonly string[];
  /** Of texts: whether '' is one. */
  mayBeEmpty?: boolean;
  /** Absent: the field is wanted. */
  fallback?: unknown;
}

const FITS: Readonly<
  Record<Field['kind'], { fits: (value: unknown, field: Field) => boolean; wanted: (field: Field) => string }>
> = {
  text: {
    fits: (value, { of, mayBeEmpty = false }) =>
      typeof value === 'string' && (of?.includes(value) ?? (mayBeEmpty || value !== '')),
    wanted: ({ of }) => (of ? `one of ${of.join(', ')}` : 'text (in YAML: in quotes)'),
  },
  integer: {
    fits: (value, { min = -Infinity, max = Infinity }) =>
      Number.isInteger(value) && (value as number) >= min && (value as number) <= max,
    wanted: ({ min, max }) => `a whole number from ${min} to ${max}`,
  },
  boolean: { fits: (value) => typeof value === 'boolean', wanted: () => 'true or false' },
  texts: {
    fits: (value) =>
      Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string' && item !== ''),
    wanted: () => 'a list of texts',
  },
};

/** Every field with its value or fallback. `at`: the place in the configuration, such as `embedder.instances[0]`. */
export function checkedMapping(
  at: string,
  mapping: Record<string, unknown>,
  fields: Readonly<Record<string, Field>>,
): Record<string, unknown> {
  for (const name of Object.keys(mapping)) {
    if (!Object.hasOwn(fields, name))
      throw new ConfigError(`${at}.${name}: there is no such field; there are ${Object.keys(fields).join(', ')}`);
  }
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => {
      const value = mapping[name] ?? undefined;
      if (value === undefined && !('fallback' in field)) throw new ConfigError(`${at}.${name} is missing`);
      if (value === undefined) return [name, field.fallback];
      const { fits, wanted } = FITS[field.kind];
      if (!fits(value, field))
        throw new ConfigError(`${at}.${name} should be ${wanted(field)}, not ${JSON.stringify(value)}`);
      return [name, value];
    }),
  );
}
