// Splits plain text into tokens: ASCII letters and digits in lower case, and behind them the compounds, marked. A fast path for what
// most texts are: src/text/rank-terms.ts says what tokens are, and a test holds this against it. The owner's thread only.
import { FULL, SCRATCH_INPUT } from '../../layout';
import { areaAt } from '../scratch';
import { addTokens } from './add';

/** Adds the chunk whose text is the input, which has room for three times as much behind it. Answers as addWords, or NOT_PLAIN with nothing changed. */
export function addPlain(scratch: usize, root: usize, ordinal: u32, bytes: u32): i32 {
  const text = areaAt(scratch, SCRATCH_INPUT);
  const end = text + bytes;
  const words = copyWords(text, end, end);
  if (!words) return NOT_PLAIN;
  const all = copyCompounds(text, end, words);
  return addTokens(scratch, root, ordinal, countTokens(end, all), end, <u32>(all - end));
}

const NOT_PLAIN: i32 = FULL - 2;
/** Of rank-terms.ts. */
const MARK: u8 = 1;

@inline function isWordByte(byte: u32): bool {
  return (byte | 32) - 97 < 26 || byte - 48 < 10;
}

@inline function lower(byte: u32): u32 {
  return byte - 65 < 26 ? byte | 32 : byte;
}

/** The end of the word that begins here, which may be empty. */
function wordEnd(at: usize, end: usize): usize {
  while (at < end && isWordByte(load<u8>(at))) at++;
  return at;
}

/** Whether a joint (`-`, `_` or `.`) and a further word follow. */
@inline function continues(at: usize, end: usize): bool {
  if (at + 1 >= end) return false;
  const byte: u32 = load<u8>(at);
  return (byte == 45 || byte == 46 || byte == 95) && isWordByte(load<u8>(at, 1));
}

/** The end of the words that begin here and are joined by one joint each. */
function compoundEnd(at: usize, end: usize): usize {
  let stop = wordEnd(at, end);
  while (stop > at && continues(stop, end)) stop = wordEnd(stop + 1, end);
  return stop;
}

/** Copies the words of a text; answers the place behind them, or 0 where it is not plain. */
function copyWords(text: usize, end: usize, to: usize): usize {
  for (let at = text; at < end; ) {
    if (load<u8>(at) >= 0x80) return 0;
    const stop = wordEnd(at, end);
    if (stop > at) to = copyLower(at, stop, to);
    at = stop > at ? stop : at + 1;
  }
  return to;
}

function copyCompounds(text: usize, end: usize, to: usize): usize {
  for (let at = text; at < end; at++) {
    const stop = compoundEnd(at, end);
    if (stop > wordEnd(at, end)) {
      store<u8>(to, MARK);
      to = copyLower(at, stop, to + 1);
    }
    at = stop;
  }
  return to;
}

/** Copies letters and digits in lower case, and a zero byte; answers the place behind it. */
function copyLower(at: usize, stop: usize, to: usize): usize {
  for (; at < stop; at++) store<u8>(to++, <u8>lower(load<u8>(at)));
  store<u8>(to, 0);
  return to + 1;
}

function countTokens(from: usize, to: usize): u32 {
  let tokens: u32 = 0;
  for (; from < to; from++) tokens += load<u8>(from) ? 0 : 1;
  return tokens;
}
