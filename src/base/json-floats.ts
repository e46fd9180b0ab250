// Reads a JSON list of numbers straight into float32, without a string, a list or a double for each. Every number comes out as JSON.parse
// and Math.fround would make it; what is no such list, or has a number that float32 cannot hold, is left to them. Keeps nothing between
// two lists. Used for the vectors of searches (http/search-body.ts), on the front thread.

/** Powers of ten that a double holds exactly. */
const POWERS = Float64Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));
const SCALE_MAX = 22;
/** Of a number; more are read by Number. */
const CHARACTERS_MAX = 24;
/** More, in proportion, than the roundings of so many digits add up to. */
const DOUBT = 2 ** -48;
const BRACKET_OPEN = 0x5b;
const BRACKET_CLOSE = 0x5d;
const COMMA = 0x2c;
const MINUS = 0x2d;
const PLUS = 0x2b;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const LOWER_E = 0x65;
const CASE_BIT = 0x20;

export class JsonFloats {
  /** Behind what was read last. */
  end = 0;
  private readonly numbers: Float32Array;

  /** Longer lists are not read. */
  constructor(private readonly countMax: number) {
    this.numbers = new Float32Array(countMax);
  }

  /** The list that begins with the bracket at `start`; undefined where it is to be read in another way. */
  read(bytes: Buffer, start: number): Float32Array | undefined {
    const { numbers, countMax } = this;
    if (bytes[start] !== BRACKET_OPEN) return undefined;
    this.end = start;
    for (let count = 0; count < countMax; ) {
      const value = this.number(bytes, afterSpace(bytes, this.end + 1));
      if (!(Math.abs(value) < Infinity)) return undefined;
      numbers[count++] = value;
      const next = bytes[(this.end = afterSpace(bytes, this.end))];
      if (next === COMMA) continue;
      this.end++;
      return next === BRACKET_CLOSE ? numbers.slice(0, count) : undefined;
    }
    return undefined;
  }

  /** NaN for what is none. */
  private number(bytes: Buffer, start: number): number {
    const isNegative = bytes[start] === MINUS;
    const first = isNegative ? start + 1 : start;
    let at = first;
    let mantissa = 0;
    let scale = 0;
    let byte = bytes[at] as number;
    for (; byte >= ZERO && byte <= NINE; byte = bytes[++at] as number) mantissa = mantissa * 10 + (byte - ZERO);
    if (at === first || (bytes[first] === ZERO && at > first + 1)) return NaN;
    if (byte === DOT) {
      const point = at;
      for (byte = bytes[++at] as number; byte >= ZERO && byte <= NINE; byte = bytes[++at] as number) mantissa = mantissa * 10 + (byte - ZERO);
      scale = at - point - 1;
      if (scale === 0) return NaN;
    }
    this.end = at;
    const isPlain = (byte | CASE_BIT) !== LOWER_E && scale <= SCALE_MAX && at - first <= CHARACTERS_MAX;
    const value = isPlain ? nearest(mantissa / (POWERS[scale] as number), mantissa) : NaN;
    if (Number.isNaN(value)) return this.slowly(bytes, start);
    return isNegative ? -value : value;
  }

  /** A number of which all but the exponent has been looked at. */
  private slowly(bytes: Buffer, start: number): number {
    if (((bytes[this.end] as number) | CASE_BIT) === LOWER_E) {
      const sign = bytes[++this.end];
      if (sign === MINUS || sign === PLUS) this.end++;
      const first = this.end;
      while ((bytes[this.end] as number) >= ZERO && (bytes[this.end] as number) <= NINE) this.end++;
      if (this.end === first) return NaN;
    }
    return Math.fround(Number(bytes.toString('latin1', start, this.end)));
  }
}

/**
 * `value` as float32: the nearest to the number that its digits say. A mantissa that is exact has been rounded once, as Number does it
 * (Clinger, 1990). One that is not may be off by a little: NaN where that little decides.
 */
function nearest(value: number, mantissa: number): number {
  const near = Math.fround(value);
  const isCertain = mantissa <= Number.MAX_SAFE_INTEGER || (Math.fround(value * (1 - DOUBT)) === near && Math.fround(value * (1 + DOUBT)) === near);
  return isCertain ? near : NaN;
}

/** The first place from `start` on that is no white space of JSON. */
export function afterSpace(bytes: Buffer, start: number): number {
  let at = start;
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at++;
  return at;
}
