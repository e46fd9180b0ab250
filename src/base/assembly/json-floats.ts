// AssemblyScript: parses the numbers of a JSON list into float32, if they have the usual form in vectors: one digit,
// optionally a point and up to 22 digits. Instead of looping over digits, SIMD finds the end of a number within 32
// bytes, and converts the (up to 16 + 16) digits before the end, which are right-aligned. ../json-floats.ts loads this
// module and parses all other numbers. Each instance belongs to one thread.

const POWERS = memory.data<f64>([
  1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
  1e21, 1e22,
]);
/** SIMD constants in memory, because V8 rebuilds a constant wherever it is used. */
const ZEROS = memory.data<u8>(
  [0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30],
  16,
);
const NINES = memory.data<u8>([9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9], 16);
const EVEN = memory.data<u16>([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], 16);
const TENS = memory.data<u16>([10, 10, 10, 10, 10, 10, 10, 10], 16);
const HUNDREDS = memory.data<u16>([100, 1, 100, 1, 100, 1, 100, 1], 16);
/** Loaded at offset n, a mask of the last n bytes. */
const PLACES = memory.data<u64>([0, 0, -1, -1], 16);
const SCALE_MAX: u32 = 22;
/** Up to this value, integers are exact in a double. */
const EXACT_MAX: f64 = 9007199254740991;
/** 2^-48, which is more than the accumulated relative rounding error of so many digits. */
const DOUBT: f64 = 3.552713678800501e-15;
const SPACE = 0x20;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO: i8 = 0x30;
const BRACKET_CLOSE = 0x5d;

/** The number of values that the last call of `read` has parsed. */
export let count: i32 = 0;

/**
 * Parses up to `max` numbers from `at` on, each with the comma or bracket after it, until one has another form or the
 * list or text ends. Returns where it stopped. Reads up to 32 bytes beyond both ends of the text.
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
    // Sets the sign bit without a branch, because the signs of vectors are unpredictable.
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
 * Returns the end of the digits of a fraction whose number begins at `at`, or 32 bytes further on if there is none. The
 * first three bytes are skipped, because this result is on the critical path of the next number. @inline
 */
function fractionEnd(at: usize): usize {
  const low = nonDigits(at) & ~7;
  return at + <usize>(low != 0 ? ctz(low) : ctz((nonDigits(at + 16) << 16) | 0x100000000));
}

/** A bit for each of 16 bytes that is not a digit. @inline */
function nonDigits(at: usize): u64 {
  return <u64>(~i8x16.bitmask(i8x16.le_u(i8x16.sub(v128.load(at), v128.load(ZEROS)), v128.load(NINES))) & 0xffff);
}

/**
 * The float32 nearest to a digit and `scale` fraction digits, equal to JSON.parse followed by Math.fround. An exact
 * mantissa is rounded once, as Number does it (Clinger, 1990). Otherwise the result may be slightly off, and NaN is
 * returned if that could change the float32. @inline
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
