// A metadata filter after parsing: plain data, checked, with every shorthand written out. Types only.
// Made by rank/parse-filter.ts on the front thread, evaluated by rank/match-filter.ts in the shard workers.

export type Scalar = string | number | boolean | null;
export type Comparison = 'gt' | 'gte' | 'lt' | 'lte';

/** `all` of none holds, `any` of none does not. A field is a top-level key, or a path of keys joined by dots. */
export type Filter =
  | { readonly all: readonly Filter[] }
  | { readonly any: readonly Filter[] }
  | { readonly not: Filter }
  | { readonly field: string; readonly test: FieldTest };

/** Holds where any of a field's values fits; `exists` where there is the field at all. */
export type FieldTest =
  | { readonly op: 'in'; readonly values: readonly Scalar[] }
  | { readonly op: 'compare'; readonly by: Comparison; readonly value: number | string }
  | { readonly op: 'prefix' | 'suffix' | 'contains'; readonly text: string }
  | { readonly op: 'exists' };
