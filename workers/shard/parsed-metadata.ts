// Parsed metadata of chunks, kept from one search to the next, so that a filter does not read and parse the records of a whole
// collection each time. Bounded for the whole shard: in two generations, of which the older is let go when the younger is
// full. An entry holds for the stamp it was read at, so no write has to tell of itself. Shard worker only.
import type { CollectionId } from '../../src/contract/ids.js';
import type { MetaLayers } from '../../src/rank/match-filter.js';

/** Characters of JSON in one generation; objects take about four times that in bytes. */
const GENERATION_CHARACTERS_MAX = 8 * 1024 * 1024;

interface Entry {
  readonly stamp: number;
  readonly layers: MetaLayers;
  readonly characters: number;
}

type Generation = Map<CollectionId, Map<number, Entry>>;

export class ParsedMetadata {
  private young: Generation = new Map();
  private old: Generation = new Map();
  private youngCharacters = 0;

  constructor(private readonly charactersMax = GENERATION_CHARACTERS_MAX) {}

  /** The metadata of a chunk, chunk before document; undefined where it is not known for this stamp. */
  get(id: CollectionId, ordinal: number, stamp: number): MetaLayers | undefined {
    const young = this.young.get(id)?.get(ordinal);
    if (young?.stamp === stamp) return young.layers;
    const old = this.old.get(id)?.get(ordinal);
    if (old?.stamp !== stamp) return undefined;
    this.put(id, ordinal, old);
    return old.layers;
  }

  put(id: CollectionId, ordinal: number, entry: Entry): void {
    if (this.youngCharacters + entry.characters > this.charactersMax) {
      [this.old, this.young] = [this.young, new Map()];
      this.youngCharacters = 0;
    }
    let ofPart = this.young.get(id);
    if (!ofPart) this.young.set(id, (ofPart = new Map()));
    ofPart.set(ordinal, entry);
    this.youngCharacters += entry.characters;
  }
}
