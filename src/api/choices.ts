// The closed choices of the API: the values that a field accepts, and defaults. Plain constants, so that the console
// and the workers can import them.

/**
 * How a search ranks: `vector` by vector, `boost` by vector with a bonus for query terms, `hybrid` by both vector and
 * BM25.
 */
export const SEARCH_MODES = ['vector', 'boost', 'hybrid'] as const;

export type SearchMode = (typeof SEARCH_MODES)[number];

/**
 * The precision of vectors in memory; the store keeps them as they were sent. `int16`: about 1 KB for a vector of 384
 * dimensions. `int8`: about 0.6 KB, with cosines within about .005.
 */
export const PRECISIONS = ['int16', 'int8'] as const;

export type Precision = (typeof PRECISIONS)[number];

/** The default precision, also of records written before the choice existed. */
export const PRECISION_DEFAULT: Precision = 'int16';

/**
 * What a key or token permits. `search`: search, and read documents. `ingest`: write and delete documents. `manage`:
 * create, change, archive and delete collections, and read and replay the searches of everybody.
 */
export const SCOPES = ['search', 'ingest', 'manage'] as const;

export type Scope = (typeof SCOPES)[number];

/**
 * How texts are cut into chunks. `fixed`: overlapping windows of characters. `sentence`: whole sentences, as many as fit.
 * `paragraph`: whole paragraphs, as many as fit. `none`: each text is one chunk.
 */
export const CHUNKING_STRATEGIES = ['fixed', 'sentence', 'paragraph', 'none'] as const;

export type ChunkingStrategy = (typeof CHUNKING_STRATEGIES)[number];

/** Languages whose stemming and stop words text ranking can use. `none`: terms are indexed unchanged. */
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

/** The default of a server that configures no language; docs/benchmarks.md#languages has the reason. */
export const LANGUAGE_DEFAULT: Language = 'english';
