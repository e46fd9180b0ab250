// Parses a JSON list of numbers directly into float32, without a string, list element or double per number. Every value
// equals what JSON.parse and Math.fround give; other lists, and lists with a number that exceeds float32, are left to
// those. WebAssembly parses most numbers (assembly/json-floats.ts), in half the time of a loop in JavaScript; numbers
// of other forms are parsed one by one. A reader has no state between lists and belongs to one thread.
import { readFileSync } from 'node:fs';

const BRACKET_OPEN = 0x5b;
const BRACKET_CLOSE = 0x5d;
const COMMA = 0x2c;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/;
/**
 * Length of most numbers, and maximum length of a number that is parsed here; a list with a longer one is left to
 * JSON.parse.
 */
const CHARACTERS_USUAL = 48;
const CHARACTERS_MAX = 1024;

/** Layout of the module's memory: constants, text, numbers. */
const PAGE_BYTES = 65_536;
const TEXT_AT = PAGE_BYTES;
const NUMBERS_AT = 2 * PAGE_BYTES;
/** Number of bytes that the module reads beyond the text. */
const BEYOND_BYTES = 32;
const TEXT_BYTES = NUMBERS_AT - TEXT_AT - BEYOND_BYTES;

interface Calls {
  readonly memory: WebAssembly.Memory;
  readonly count: WebAssembly.Global;
  read(at: number, end: number, out: number, max: number): number;
}

const compiled = new WebAssembly.Module(readFileSync(new URL('json-floats.wasm', import.meta.url)));

export class JsonFloats {
  /** The offset after the last parsed byte. */
  end = 0;
  private readonly calls = new WebAssembly.Instance(compiled).exports as unknown as Calls;
  private readonly text: Uint8Array;
  private readonly numbers: Float32Array;
  /** The range of the input that is in the module's memory. */
  private textStart = 0;
  private textEnd = 0;

  /** `countMax` is the maximum length of a list. */
  constructor(private readonly countMax: number) {
    const { memory } = this.calls;
    memory.grow(Math.max(0, Math.ceil((NUMBERS_AT + 4 * countMax - memory.buffer.byteLength) / PAGE_BYTES)));
    this.text = new Uint8Array(memory.buffer, TEXT_AT, TEXT_BYTES + BEYOND_BYTES);
    this.numbers = new Float32Array(memory.buffer, NUMBERS_AT, countMax);
  }

  /** Parses the list whose bracket is at `start`; returns undefined if it must be parsed in another way. */
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

  /** Parses numbers with WebAssembly as long as they have the usual form; returns their count. */
  private plainNumbers(bytes: Buffer, count: number): number {
    const { calls, countMax } = this;
    if (this.end >= this.textEnd) this.putText(bytes.subarray(this.end, this.end + TEXT_BYTES));
    const offset = TEXT_AT - this.textStart;
    this.end = calls.read(offset + this.end, offset + this.textEnd, NUMBERS_AT + 4 * count, countMax - count) - offset;
    return calls.count.value as number;
  }

  private putText(bytes: Buffer): void {
    this.text.set(bytes);
    // Clears what follows the text, which could otherwise continue the last number.
    this.text.fill(0, bytes.length, bytes.length + BEYOND_BYTES);
    this.textStart = this.end;
    this.textEnd = this.end + bytes.length;
  }

  /** Parses a number of any form; NaN if there is none. */
  private number(bytes: Buffer, start: number): number {
    let digits = digitsAt(bytes, start, CHARACTERS_USUAL);
    // A sign and an exponent that were cut off take up to two characters.
    if (digits.length > CHARACTERS_USUAL - 3) digits = digitsAt(bytes, start, CHARACTERS_MAX);
    this.end = start + digits.length;
    return digits === '' ? NaN : Math.fround(Number(digits));
  }
}

/** The text of the number at `start`, cut to `charactersMax`; '' if there is none. */
function digitsAt(bytes: Buffer, start: number, charactersMax: number): string {
  const [digits = ''] = NUMBER.exec(bytes.toString('latin1', start, start + charactersMax)) ?? [];
  return digits;
}

/** The first offset from `start` on that is not JSON white space. */
export function afterSpace(bytes: Buffer, start: number): number {
  let at = start;
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at++;
  return at;
}
