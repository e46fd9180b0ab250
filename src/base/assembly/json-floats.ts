// AssemblyScript: reads numbers of a JSON list into float32, those of the form that vectors are made of: one digit, or
// one and up to 22 more behind a point. No digit is looked at alone: what ends a number is found in 32 bytes at once,
// and its digits come from the 16 before that, and the 16 before those, which are right-aligned then. Loaded by
// ../json-floats.ts, which reads what this leaves; one instance, one thread.

const POWERS = memory.data<f64>([
  1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
  1e21, 1e22,
]);
/** Vectors that are loaded: V8 makes a constant anew wherever it stands. */
const ZEROS = memory.data<u8>(
  [0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30],
  16,
);
const NINES = memory.data<u8>([9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9], 16);
const EVEN = memory.data<u16>([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], 16);
const TENS = memory.data<u16>([10, 10, 10, 10, 10, 10, 10, 10], 16);
const HUNDREDS = memory.data<u16>([100, 1, 100, 1, 100, 1, 100, 1], 16);
/** From an offset on, so many of the last places. */
const PLACES = memory.data<u64>([0, 0, -1, -1], 16);
const SCALE_MAX: u32 = 22;
/** Up to here integers are exact. */
const EXACT_MAX: f64 = 9007199254740991;
/** More, in proportion, than the roundings of so many digits add up to: 2^-48. */
const DOUBT: f64 = 3.552713678800501e-15;
const SPACE = 0x20;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO: i8 = 0x30;
const BRACKET_CLOSE = 0x5d;

/** How many numbers the last call has read. */
export let count: i32 = 0;

/**
 * Reads up to `max` numbers from `at` on, each with the comma or bracket behind it, to the first that has another form,
 * or to the end of the list or the text. Answers where it has stopped. The text may be looked at 32 bytes beyond both
 * ends.
 */
export function read(at: usize, end: usize, out: usize, max: i32): usize {
  count = 0;
  for (let last = 0; at < end && count < max && last != BRACKET_CLOSE; count++) {
    if (load<u8>(at) == SPACE) at++;
    const isNegative = load<u8>(at) == MINUS;
    const first = at + usize(isNegative);
    const hasPoint = load<u8>(first, 1) == DOT;
    const behind = hasPoint ? fractionEnd(at) : first + 1;
    const scale = hasPoint ? <u32>(behind - first) - 2 : 0;
    last = <i32>load<u8>(behind);
    const isPlain =
      isDigit(first) &&
      (!hasPoint || isDigit(first + 2)) &&
      (last == COMMA || last == BRACKET_CLOSE) &&
      scale <= SCALE_MAX;
    const value = isPlain ? valueOf(first, behind, scale) : <f32>NaN;
    if (value != value) break;
    // The sign bit, and no branch: signs of vectors cannot be foretold.
    store<u32>(out + ((<usize>count) << 2), reinterpret<u32>(value) | (u32(isNegative) << 31));
    at = behind + 1;
  }
  return at;
}

/** @inline */
function isDigit(at: usize): bool {
  return <u32>(load<u8>(at) - ZERO) <= 9;
}

/**
 * What ends the digits of a fraction, where the number begins at `at`: it stands behind its first three bytes, which
 * are not looked at, for the next number waits for this one's end. 32 further on where there is none.
 * @inline
 */
function fractionEnd(at: usize): usize {
  const low = nonDigits(at) & ~7;
  return at + <usize>(low != 0 ? ctz(low) : ctz((nonDigits(at + 16) << 16) | 0x100000000));
}

/** A bit for each of 16 bytes that is no digit. @inline */
function nonDigits(at: usize): u64 {
  return <u64>(~i8x16.bitmask(i8x16.le_u(i8x16.sub(v128.load(at), v128.load(ZEROS)), v128.load(NINES))) & 0xffff);
}

/**
 * The float32 nearest to a digit and `scale` digits behind its point, as JSON.parse and Math.fround make it: a mantissa
 * that is exact is rounded once, as Number does it (Clinger, 1990). One that is not may be off by a little: NaN where
 * that little decides.
 * @inline
 */
function valueOf(first: usize, behind: usize, scale: u32): f32 {
  const power = load<f64>(POWERS + ((<usize>scale) << 3));
  const low = digits(behind, scale < 16 ? scale : 16);
  const high = scale > 16 ? 1e16 * digits(behind - 16, scale - 16) : 0;
  const mantissa = <f64>(<i32>load<u8>(first) - ZERO) * power + (high + low);
  const value = mantissa / power;
  const near = <f32>value;
  const isCertain = mantissa <= EXACT_MAX || (<f32>(value * (1 - DOUBT)) == near && <f32>(value * (1 + DOUBT)) == near);
  return isCertain ? near : <f32>NaN;
}

/** The `length` digits before `behind`, up to 16, as a number. @inline */
function digits(behind: usize, length: u32): f64 {
  const bytes = v128.and(i8x16.sub(v128.load(behind - 16), v128.load(ZEROS)), v128.load(PLACES + length));
  const pairs = i16x8.add(i16x8.mul(v128.and(bytes, v128.load(EVEN)), v128.load(TENS)), i16x8.shr_u(bytes, 8));
  const fours = i32x4.dot_i16x8_s(pairs, v128.load(HUNDREDS));
  const high = i32x4.extract_lane(fours, 0) * 10_000 + i32x4.extract_lane(fours, 1);
  const low = i32x4.extract_lane(fours, 2) * 10_000 + i32x4.extract_lane(fours, 3);
  return <f64>high * 1e8 + <f64>low;
}
