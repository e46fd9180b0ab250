// What has to be known of JSON that comes in, and JSON.parse does not tell. Numbers that it would change without a word:
// whole numbers that a double does not hold, such as many 64-bit ids, and those that are too large or too small for any;
// the parsed value no longer tells, so the text is looked at. And how deep lists and objects stand in each other. Pure.

/** Fewer digits always come back as they were written, unless the exponent is large. */
const SUSPECT = /\d[\d.]{15}|[eE][+-]?\d{3}/;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const PARTS = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;

/**
 * The first number of a good JSON text that would not be told again as it was written. A fraction may be rounded, as
 * everywhere. `names`: looks below keys of these names alone, however deep they stand.
 */
export function changedNumber(json: string, names?: ReadonlySet<string>): string | undefined {
  for (const { token } of changedNumbers(json, names)) return token;
  return undefined;
}

/** The same text with these numbers as strings of their digits. */
export function withLongNumbersQuoted(json: string): string {
  let quoted = '';
  let end = 0;
  for (const { at, token } of changedNumbers(json)) {
    quoted += `${json.slice(end, at)}"${token}"`;
    end = at + token.length;
  }
  return quoted + json.slice(end);
}

function* changedNumbers(json: string, names?: ReadonlySet<string>): Generator<{ at: number; token: string }> {
  if (!SUSPECT.test(json)) return;
  let depth = 0;
  /** The depth of the object whose named value this is; Infinity outside of any. */
  let namedAt = names ? Infinity : -1;
  for (let at = 0; at < json.length; ) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfString(json, at);
      if (namedAt === Infinity && isKey(json, end) && names?.has(JSON.parse(json.slice(at, end)) as string))
        namedAt = depth;
      at = end;
    } else if (code === MINUS || isDigit(code)) {
      NUMBER.lastIndex = at;
      const [token] = NUMBER.exec(json) as RegExpExecArray;
      if (depth >= namedAt && isChanged(token)) yield { at, token };
      at += token.length;
    } else {
      const character = json[at++];
      if (character === '{' || character === '[') depth++;
      else if (character === '}' || character === ']') depth--;
      const isOver = depth < namedAt || (character === ',' && depth === namedAt);
      if (names && isOver) namedAt = Infinity;
    }
  }
}

/** Whether what a number is parsed to is told in other digits, its zeros aside. */
function isChanged(token: string): boolean {
  const value = Number(token);
  const written = digitsOf(token);
  if (!Number.isFinite(value)) return true;
  const told = digitsOf(String(value));
  const isWhole = written.digits === '' || written.exponent >= 0;
  if (!isWhole) return value === 0;
  return written.digits !== told.digits || (written.digits !== '' && written.exponent !== told.exponent);
}

/** A number as whole digits without zeros at either end, times ten to the exponent. */
function digitsOf(token: string): { digits: string; exponent: number } {
  const [, whole = '', fraction = '', exponent = '0'] = PARTS.exec(token) ?? [];
  const all = whole + fraction;
  // Not by an expression: one that looks for zeros at the end begins anew at each of them.
  let [start, end] = [0, all.length];
  while (all[start] === '0') start++;
  while (end > start && all[end - 1] === '0') end--;
  return { digits: all.slice(start, end), exponent: Number(exponent) - fraction.length + all.length - end };
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

/** `start` is the opening quote; the answer is behind the closing one. */
function endOfString(json: string, start: number): number {
  for (let quote = json.indexOf('"', start + 1); quote >= 0; quote = json.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (json.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return quote + 1;
  }
  return json.length;
}

/** Whether a colon stands behind a string. */
function isKey(json: string, end: number): boolean {
  let at = end;
  while (json.charCodeAt(at) <= 0x20) at++;
  return json[at] === ':';
}

/**
 * Whether more than `levels` lists and objects stand in each other; a scalar has none. Looks no deeper than that.
 * JSON.parse takes any depth, but JSON.stringify, a structured clone and whatever walks a value by calling itself end
 * with the stack.
 */
export function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeperThan(levels - 1, inner));
}
