// The settings of a collection from a create body: defaults, bounds, and comparison with those of an existing
// collection. Pure functions.
import { AppError, invalidField } from '../../api/errors.js';
import { CONTROL_CHARACTERS } from '../../api/ids.js';
import {
  CHUNK_OVERLAP_DEFAULT,
  CHUNK_SIZE_MAX,
  CHUNK_SIZE_MIN,
  DISPLAY_NAME_CHARACTERS_MAX,
} from '../../api/limits.js';
import {
  type ChunkingStrategy,
  type Language,
  PRECISION_DEFAULT,
  type Precision,
  type SearchMode,
} from '../../api/choices.js';
import type { Chunking, Collection, Space } from '../../api/collections.js';
import { asksForEmbedder, type EmbedderChoice } from '../../embedding/spaces.js';
import { defaultMode, servedMode } from '../search/query.js';

/** The create body; null means absent. */
export interface CreateOptions extends EmbedderChoice {
  display_name?: string | null;
  chunking?: { strategy?: ChunkingStrategy | null; size?: number | null; overlap?: number | null } | null;
  priority_key?: string | null;
  search_mode?: string | null;
  language?: Language | null;
  precision?: Precision | null;
  ttl?: number | null;
  partitions?: number | null;
}

export type CollectionSettings = Pick<
  Collection,
  | 'chunking'
  | 'priority_key'
  | 'search_mode'
  | 'language'
  | 'precision'
  | 'ttl'
  | 'spread'
  | 'embedder_type'
  | 'embed_model'
  | 'embedder_config'
  | 'vector_space_key'
  | 'dim'
> & {
  display_name?: string;
};

/** Settings of a collection whose create body does not give them. */
export interface CollectionDefaults {
  readonly chunking: Required<Chunking>;
  /** The search modes that this server serves. */
  readonly modes: readonly SearchMode[];
  readonly language: Language;
  /** The number of shards over which a collection is spread. */
  readonly partitions: number;
  /** The number of chunks that a shard may have of a collection before it is spread further; 0: any number. */
  readonly chunksPerPartition: number;
  /** The number of shards of the data directory. */
  readonly shards: number;
}

const PRIORITY_KEY_DEFAULT = 'prio_boost';

/** `space` is the vector space of the requested embedder. */
export function settingsOf(options: CreateOptions, space: Space, defaults: CollectionDefaults): CollectionSettings {
  const { display_name: label, priority_key: priorityKey } = options;
  return {
    ...space,
    ...(label == null ? {} : { display_name: displayName(label) }),
    chunking: chunkingOf(options.chunking ?? {}, defaults.chunking),
    priority_key: priorityKey ?? PRIORITY_KEY_DEFAULT,
    search_mode: servedMode(options.search_mode ?? defaultMode(defaults.modes), defaults.modes),
    language: options.language ?? defaults.language,
    precision: options.precision ?? PRECISION_DEFAULT,
    ...(options.ttl != null && { ttl: options.ttl }),
    spread: spreadWithin(options.partitions ?? defaults.partitions, defaults.shards),
  };
}

/** The spread for a number of chunks: doubled until no shard has too many of them, or as wide as there are shards. */
export function spreadFor(
  chunks: number,
  {
    partitions,
    chunksPerPartition: most,
    shards,
  }: Pick<CollectionDefaults, 'partitions' | 'chunksPerPartition' | 'shards'>,
): number {
  let spread = Math.min(partitions, shards);
  if (most > 0) while (spread < shards && chunks > spread * most) spread = Math.min(2 * spread, shards);
  return spread;
}

/** Throws a 422 if there are not that many shards. */
export function spreadWithin(partitions: number, shards: number): number {
  if (partitions <= shards) return partitions;
  throw invalidField(
    ['body', 'partitions'],
    `\`storage.partitions\` of this server is ${shards}: choose at most ${shards}.`,
    'less_than_equal',
    partitions,
  );
}

/**
 * Trims the display name. Throws 400 `invalid_display_name` unless it has 1 to 120 characters and no control
 * characters.
 */
export function displayName(raw: string): string {
  const name = raw.trim();
  if (name === '' || [...name].length > DISPLAY_NAME_CHARACTERS_MAX || CONTROL_CHARACTERS.test(name))
    throw new AppError('invalid_display_name');
  return name;
}

/** Fills in the defaults and checks the bounds. Throws 400 `invalid_chunking`. */
export function chunkingOf(asked: NonNullable<CreateOptions['chunking']>, instance: Required<Chunking>): Chunking {
  const strategy = asked.strategy ?? instance.strategy;
  if (strategy === 'none') {
    if (asked.size != null || asked.overlap != null)
      throw new AppError('invalid_chunking', 'Chunking strategy `none` takes neither `size` nor `overlap`.');
    return { strategy };
  }
  const size = asked.size ?? instance.size;
  const overlap =
    asked.overlap ?? (asked.size == null ? instance.overlap : Math.min(CHUNK_OVERLAP_DEFAULT, Math.floor(size / 4)));
  if (size < CHUNK_SIZE_MIN || size > CHUNK_SIZE_MAX)
    throw new AppError(
      'invalid_chunking',
      `Chunk size must be from ${CHUNK_SIZE_MIN} to ${CHUNK_SIZE_MAX} characters.`,
    );
  if (overlap < 0 || overlap > size / 4)
    throw new AppError('invalid_chunking', `Chunk overlap must be from 0 to a quarter of the size (${size / 4}).`);
  return { strategy, size, overlap };
}

export function isSameChunking(a: Chunking, b: Chunking): boolean {
  return a.strategy === b.strategy && a.size === b.size && a.overlap === b.overlap;
}

/** Throws the conflict error of the first given option that differs from the existing collection. */
export function assertSameSettings(options: CreateOptions, asked: CollectionSettings, present: Collection): void {
  if (options.chunking != null && !isSameChunking(asked.chunking, present.chunking))
    throw new AppError('chunking_conflict');
  if (options.search_mode != null && asked.search_mode !== present.search_mode)
    throw new AppError('search_mode_conflict');
  if (options.priority_key != null && asked.priority_key !== present.priority_key)
    throw new AppError('priority_key_conflict');
  if (asksForEmbedder(options) && asked.vector_space_key !== present.vector_space_key) {
    throw new AppError('invalid_embedder_config', 'The collection exists with another embedder.');
  }
  if (options.display_name != null && asked.display_name !== present.display_name)
    throw new AppError('collection_settings_conflict');
  if (options.language != null && asked.language !== present.language)
    throw new AppError('collection_settings_conflict', 'The collection exists with another language.');
  if (options.precision != null && asked.precision !== present.precision)
    throw new AppError('collection_settings_conflict', 'The collection exists with another precision.');
  if (options.ttl != null && options.ttl !== present.ttl)
    throw new AppError('collection_settings_conflict', 'The collection exists with another `ttl`; change it by PATCH.');
}
