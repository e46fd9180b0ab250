// Reads a JSON list of numbers straight into float32, without a string, a list or a double for each. Every number comes
// out as JSON.parse and Math.fround would make it; what is no such list, or has a number that float32 cannot hold, is
// left to them. Most numbers are read in WebAssembly (assembly/json-floats.ts), in half the time that a loop here took;
// those of other forms one by one. A reader keeps nothing between two lists, and belongs to one thread.
import { readFileSync } from 'node:fs';

const BRACKET_OPEN = 0x5b;
const BRACKET_CLOSE = 0x5d;
const COMMA = 0x2c;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/;
/** Of most numbers, and of any that is read here; a list with a longer one is left to JSON.parse. */
const CHARACTERS_USUAL = 48;
const CHARACTERS_MAX = 1024;

/** The memory of the module: its constants, the text, the numbers. */
const PAGE_BYTES = 65_536;
const TEXT_AT = PAGE_BYTES;
const NUMBERS_AT = 2 * PAGE_BYTES;
/** What it looks at beyond the text. */
const BEYOND_BYTES = 32;
const TEXT_BYTES = NUMBERS_AT - TEXT_AT - BEYOND_BYTES;

interface Calls {
  readonly memory: WebAssembly.Memory;
  readonly count: WebAssembly.Global;
  read(at: number, end: number, out: number, max: number): number;
}

const compiled = new WebAssembly.Module(readFileSync(new URL('json-floats.wasm', import.meta.url)));

export class JsonFloats {
  /** Behind what was read last. */
  end = 0;
  private readonly calls = new WebAssembly.Instance(compiled).exports as unknown as Calls;
  private readonly text: Uint8Array;
  private readonly numbers: Float32Array;
  /** Which bytes are the text now. */
  private textStart = 0;
  private textEnd = 0;

  /** Longer lists are not read. */
  constructor(private readonly countMax: number) {
    const { memory } = this.calls;
    memory.grow(Math.max(0, Math.ceil((NUMBERS_AT + 4 * countMax - memory.buffer.byteLength) / PAGE_BYTES)));
    this.text = new Uint8Array(memory.buffer, TEXT_AT, TEXT_BYTES + BEYOND_BYTES);
    this.numbers = new Float32Array(memory.buffer, NUMBERS_AT, countMax);
  }

  /** The list that begins with the bracket at `start`; undefined where it is to be read in another way. */
  read(bytes: Buffer, start: number): Float32Array | undefined {
    const { numbers, countMax } = this;
    if (bytes[start] !== BRACKET_OPEN) return undefined;
    this.end = start + 1;
    this.textEnd = 0;
    for (let count = 0; count < countMax; ) {
      count += this.plainNumbers(bytes, count);
      if (bytes[this.end - 1] === BRACKET_CLOSE) return numbers.slice(0, count);
      if (count === countMax) return undefined;
      const value = this.number(bytes, afterSpace(bytes, this.end));
      if (!(Math.abs(value) < Infinity)) return undefined;
      numbers[count++] = value;
      const next = bytes[(this.end = afterSpace(bytes, this.end))];
      this.end++;
      if (next === BRACKET_CLOSE) return numbers.slice(0, count);
      if (next !== COMMA) return undefined;
    }
    return undefined;
  }

  /** Reads on as long as numbers are plain; how many they are. */
  private plainNumbers(bytes: Buffer, count: number): number {
    const { calls, countMax } = this;
    if (this.end >= this.textEnd) this.putText(bytes.subarray(this.end, this.end + TEXT_BYTES));
    const offset = TEXT_AT - this.textStart;
    this.end = calls.read(offset + this.end, offset + this.textEnd, NUMBERS_AT + 4 * count, countMax - count) - offset;
    return calls.count.value as number;
  }

  private putText(bytes: Buffer): void {
    this.text.set(bytes);
    // What stood there before would go on with the last number.
    this.text.fill(0, bytes.length, bytes.length + BEYOND_BYTES);
    this.textStart = this.end;
    this.textEnd = this.end + bytes.length;
  }

  /** One of any form; NaN for what is none. */
  private number(bytes: Buffer, start: number): number {
    let digits = digitsAt(bytes, start, CHARACTERS_USUAL);
    // A sign and an exponent that were cut off are up to two characters.
    if (digits.length > CHARACTERS_USUAL - 3) digits = digitsAt(bytes, start, CHARACTERS_MAX);
    this.end = start + digits.length;
    return digits === '' ? NaN : Math.fround(Number(digits));
  }
}

/** The number that begins at `start`, as far as `charactersMax` go; '' for what is none. */
function digitsAt(bytes: Buffer, start: number, charactersMax: number): string {
  const [digits = ''] = NUMBER.exec(bytes.toString('latin1', start, start + charactersMax)) ?? [];
  return digits;
}

/** The first place from `start` on that is no white space of JSON. */
export function afterSpace(bytes: Buffer, start: number): number {
  let at = start;
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at++;
  return at;
}
