// Which stem each word met before has, looked up by the bytes of the word: no string is made of a word that is known.
// Open addressing by linear probing over typed arrays. Used by term-writer.ts, on its thread; it does not know
// languages.
const FIRST_ENTRIES = 1024;
/**
 * With the bytes of so many words and stems it begins anew: a vocabulary of 100,000 words has three quarters of them.
 */
const POOL_BYTES_MAX = 2 * 1024 * 1024;
/**
 * A word that is not found within so many places is not found at all: texts made to have words of one hash cost no more
 * than a stem each.
 */
const PROBES_MAX = 64;
/** Of an entry: hash, and where its word and its stem begin and end in the pool. The stem stands behind the word. */
const FIELDS = 4;

export class StemTable {
  private entries = new Uint32Array(FIRST_ENTRIES * FIELDS);
  /** One more than the number of an entry; 0 where the place is free. At least half are. */
  private places = new Uint32Array(2 * FIRST_ENTRIES);
  private count = 0;
  private pool = Buffer.allocUnsafe(32 * FIRST_ENTRIES);
  private used = 0;

  /** Forgets everything where it has grown too large. Entries hold until this is called. */
  trim(): void {
    if (this.used <= POOL_BYTES_MAX) return;
    this.places.fill(0);
    this.count = 0;
    this.used = 0;
  }

  /** The entry of the word that stands in `bytes` from `from` up to `to`; -1 where it is not known. */
  find(hash: number, bytes: Uint8Array, from: number, to: number): number {
    const mask = this.places.length - 1;
    const first = mixed(hash);
    for (let probe = 0; probe < PROBES_MAX; probe++) {
      const entry = (this.places[(first + probe) & mask] as number) - 1;
      if (entry < 0 || (this.entries[entry * FIELDS] === hash >>> 0 && this.isWord(entry, bytes, from, to)))
        return entry;
    }
    return -1;
  }

  /** The new entry of a word that is not known. `stem` is empty where the word has no stem. */
  add(hash: number, word: Uint8Array, stem: string): number {
    const entry = this.count++;
    this.makeRoom(word.length + 3 * stem.length);
    this.pool.set(word, this.used);
    const wordEnd = this.used + word.length;
    const stemEnd = wordEnd + this.pool.write(stem, wordEnd);
    this.entries.set([hash, this.used, wordEnd, stemEnd], entry * FIELDS);
    this.used = stemEnd;
    this.place(entry);
    return entry;
  }

  /** Bytes of the stem; 0 where there is none. */
  stemBytes(entry: number): number {
    return (this.entries[entry * FIELDS + 3] as number) - (this.entries[entry * FIELDS + 2] as number);
  }

  /** Writes the stem; answers the place behind it. Requires room for its bytes. */
  copyStem(entry: number, to: Uint8Array, at: number): number {
    const end = this.entries[entry * FIELDS + 3] as number;
    let next = at;
    // Stems are a few bytes: a call to copy them takes longer.
    for (let from = this.entries[entry * FIELDS + 2] as number; from < end; from++)
      to[next++] = this.pool[from] as number;
    return next;
  }

  private isWord(entry: number, bytes: Uint8Array, from: number, to: number): boolean {
    const start = this.entries[entry * FIELDS + 1] as number;
    if ((this.entries[entry * FIELDS + 2] as number) - start !== to - from) return false;
    for (let i = from; i < to; i++) if (bytes[i] !== this.pool[start + i - from]) return false;
    return true;
  }

  private makeRoom(bytes: number): void {
    if (this.used + bytes > this.pool.length)
      this.pool = Buffer.concat([this.pool], Math.max(2 * this.pool.length, this.used + bytes));
    if (this.count * FIELDS <= this.entries.length) return;
    const before = this.entries;
    this.entries = new Uint32Array(2 * before.length);
    this.entries.set(before);
    this.places = new Uint32Array(2 * this.places.length);
    for (let entry = 0; entry < this.count - 1; entry++) this.place(entry);
  }

  /** Where all places are taken the entry serves once. */
  private place(entry: number): void {
    const mask = this.places.length - 1;
    const first = mixed(this.entries[entry * FIELDS] as number);
    for (let probe = 0; probe < PROBES_MAX; probe++) {
      const place = (first + probe) & mask;
      if (this.places[place] !== 0) continue;
      this.places[place] = entry + 1;
      return;
    }
  }
}

/** So that the lower bits depend on all. */
const mixed = (hash: number): number => hash ^ (hash >>> 15);
