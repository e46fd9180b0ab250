// The closed choices of the interface: the names that a field may have, and the default where there is one. Constants of
// nothing but text, so that the console and the workers may take them as values.

/** How a search ranks: by vector, by vector with a gain for words, or by both. */
export const SEARCH_MODES = ['vector', 'boost', 'hybrid'] as const;

export type SearchMode = (typeof SEARCH_MODES)[number];

/**
 * In how many bits the vectors of a collection stand in memory; the store always has the numbers as they came.
 * `int16`: about 1 KB for a vector of 384 numbers. `int8`: about 0.6 KB, its cosines within about .005.
 */
export const PRECISIONS = ['int16', 'int8'] as const;

export type Precision = (typeof PRECISIONS)[number];

/** Of a collection that names none, and of records from the time before there was a choice. */
export const PRECISION_DEFAULT: Precision = 'int16';

/**
 * What a key or token may be used for. `search`: search, and read documents; `ingest`: write and delete documents;
 * `manage`: make, change, archive and delete collections, and read and replay the searches of everybody.
 */
export const SCOPES = ['search', 'ingest', 'manage'] as const;

export type Scope = (typeof SCOPES)[number];

/** The languages whose words a collection can be ranked by. `none`: words are ranked as they stand. */
export const LANGUAGES = [
  'none',
  'arabic',
  'armenian',
  'danish',
  'dutch',
  'english',
  'finnish',
  'french',
  'german',
  'greek',
  'hindi',
  'hungarian',
  'indonesian',
  'irish',
  'italian',
  'lithuanian',
  'nepali',
  'norwegian',
  'portuguese',
  'romanian',
  'russian',
  'serbian',
  'spanish',
  'swedish',
  'tamil',
  'turkish',
] as const;

export type Language = (typeof LANGUAGES)[number];

/** Of an instance that names none: docs/benchmarks.md#languages says why. */
export const LANGUAGE_DEFAULT: Language = 'english';
