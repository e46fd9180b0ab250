// The views through which a thread reads and writes a shard's shared memory: words, floats, bytes. They are renewed as
// the memory grows, by this thread or another. The base of an Instance, and of what reads the memory without one.
const PAGE_BYTES = 65_536;

export class MemoryViews {
  private words = new Uint32Array(0);
  private floats = new Float32Array(0);
  private bytes = Buffer.alloc(0);

  constructor(protected readonly memory: WebAssembly.Memory) {}

  get reservedBytes(): number {
    return this.memory.buffer.byteLength;
  }

  /** Writes a text as UTF-8 with a zero byte and answers the bytes. Requires room for three a character, and one. */
  writeText(at: number, text: string): number {
    const bytes = this.bytes.write(text, at, 'utf8');
    this.bytes[at + bytes] = 0;
    return bytes + 1;
  }

  readText(at: number, bytes: number): string {
    this.reach(at + bytes);
    return this.bytes.toString('utf8', at, at + bytes);
  }

  writeWords(at: number, words: Uint32Array): void {
    this.reach(at + words.byteLength);
    this.words.set(words, at >>> 2);
  }

  writeFloats(at: number, floats: Float32Array): void {
    this.reach(at + floats.byteLength);
    this.floats.set(floats, at >>> 2);
  }

  /** The word at a byte address. */
  word(at: number): number {
    this.reach(at + 4);
    return Atomics.load(this.words, at >>> 2);
  }

  setWord(at: number, value: number): void {
    this.reach(at + 4);
    Atomics.store(this.words, at >>> 2, value);
  }

  copyWords(at: number, count: number): Uint32Array {
    this.reach(at + 4 * count);
    return this.words.slice(at >>> 2, (at >>> 2) + count);
  }

  copyFloats(at: number, count: number): Float32Array {
    this.reach(at + 4 * count);
    return this.floats.slice(at >>> 2, (at >>> 2) + count);
  }

  /** A view of bytes, of no use once the memory has grown. */
  bytesAt(at: number, count: number): Buffer {
    this.reach(at + count);
    return this.bytes.subarray(at, at + count);
  }

  /** Sees to it that the memory has so many bytes; false where it cannot grow to them. */
  growTo(bytes: number): boolean {
    const pages = Math.ceil((bytes - this.memory.buffer.byteLength) / PAGE_BYTES);
    try {
      if (pages > 0) this.memory.grow(pages);
      return true;
    } catch (error) {
      if (error instanceof RangeError) return false;
      throw error;
    }
  }

  /**
   * Views do not grow with the memory: renews them where they end before `end`. Growing by 0 makes this thread see what
   * others added.
   */
  protected reach(end: number): void {
    if (end <= this.words.byteLength) return;
    this.memory.grow(0);
    this.words = new Uint32Array(this.memory.buffer);
    this.floats = new Float32Array(this.memory.buffer);
    this.bytes = Buffer.from(this.memory.buffer);
  }
}
