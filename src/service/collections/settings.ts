// The settings of a collection out of a create body: defaults, bounds, and whether they agree with one that exists.
// Pure.
import { AppError } from '../../api/errors.js';
import { CONTROL_CHARACTERS } from '../../api/ids.js';
import {
  CHUNK_OVERLAP_DEFAULT,
  CHUNK_SIZE_MAX,
  CHUNK_SIZE_MIN,
  DISPLAY_NAME_CHARACTERS_MAX,
} from '../../api/limits.js';
import { type Language, PRECISION_DEFAULT, type Precision, type SearchMode } from '../../api/choices.js';
import type { Chunking, Collection, Space } from '../../api/collections.js';
import { asksForEmbedder, type EmbedderChoice } from '../../embedding/spaces.js';
import { defaultMode, servedMode } from '../search/query.js';

/** The create body; null and undefined are absent. */
export interface CreateOptions extends EmbedderChoice {
  display_name?: string | null;
  chunking?: { strategy?: 'fixed' | 'none' | null; size?: number | null; overlap?: number | null } | null;
  priority_key?: string | null;
  search_mode?: string | null;
  language?: Language | null;
  precision?: Precision | null;
}

export type CollectionSettings = Pick<
  Collection,
  | 'chunking'
  | 'priority_key'
  | 'search_mode'
  | 'language'
  | 'precision'
  | 'embedder_type'
  | 'embed_model'
  | 'embedder_config'
  | 'vector_space_key'
  | 'dim'
> & {
  display_name?: string;
};

/** What the server gives to a collection that does not say. */
export interface CollectionDefaults {
  readonly chunking: Required<Chunking>;
  /** Search modes that are served. */
  readonly modes: readonly SearchMode[];
  readonly language: Language;
}

const PRIORITY_KEY_DEFAULT = 'prio_boost';

/** `space`: what the embedder that is asked for gives. */
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
  };
}

/** Trimmed; 1 to 120 characters without control characters, else 400 `invalid_display_name`. */
export function displayName(raw: string): string {
  const name = raw.trim();
  if (name === '' || [...name].length > DISPLAY_NAME_CHARACTERS_MAX || CONTROL_CHARACTERS.test(name))
    throw new AppError('invalid_display_name');
  return name;
}

/** Fills in the defaults and checks the bounds; throws 400 `invalid_chunking`. */
export function chunkingOf(asked: NonNullable<CreateOptions['chunking']>, instance: Required<Chunking>): Chunking {
  const strategy = asked.strategy ?? instance.strategy;
  if (strategy === 'none') {
    if (asked.size != null || asked.overlap != null)
      throw new AppError('invalid_chunking', 'Strategy none takes neither size nor overlap.');
    return { strategy };
  }
  const size = asked.size ?? instance.size;
  const overlap =
    asked.overlap ?? (asked.size == null ? instance.overlap : Math.min(CHUNK_OVERLAP_DEFAULT, Math.floor(size / 4)));
  if (size < CHUNK_SIZE_MIN || size > CHUNK_SIZE_MAX)
    throw new AppError('invalid_chunking', `Chunk size is from ${CHUNK_SIZE_MIN} to ${CHUNK_SIZE_MAX} characters.`);
  if (overlap < 0 || overlap > size / 4)
    throw new AppError('invalid_chunking', `Chunk overlap is from 0 to a quarter of the size (${size / 4}).`);
  return { strategy, size, overlap };
}

export function isSameChunking(a: Chunking, b: Chunking): boolean {
  return a.strategy === b.strategy && a.size === b.size && a.overlap === b.overlap;
}

/** Throws the conflict code of the first option that was given and is not what the collection has. */
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
}
