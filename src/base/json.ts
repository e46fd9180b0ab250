// Checks of JSON texts that JSON.parse does not make. Finds numbers that parsing would change silently: integers that a
// double cannot hold, such as many 64-bit ids, and numbers that are too large or too small; the parsed value does not
// show this, so the text is scanned. Also measures the nesting depth. Pure functions.

/** Numbers with fewer digits always survive parsing, unless the exponent is large. */
const SUSPECT = /\d[\d.]{15}|[eE][+-]?\d{3}/;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const PARTS = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;

/**
 * The first number of a valid JSON text that would not be serialized as it was written. Rounded fractions do not count.
 * With `names`, only values under keys of these names are checked, at any depth.
 */
export function changedNumber(json: string, names?: ReadonlySet<string>): string | undefined {
  for (const { token } of changedNumbers(json, names)) return token;
  return undefined;
}

/** The text with these numbers replaced by strings of their digits. */
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
  /** The depth of the object that has the named key; Infinity outside of any. */
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

/** Whether the number would be serialized with other digits, apart from zeros. */
function isChanged(token: string): boolean {
  const value = Number(token);
  const written = digitsOf(token);
  if (!Number.isFinite(value)) return true;
  const told = digitsOf(String(value));
  const isWhole = written.digits === '' || written.exponent >= 0;
  if (!isWhole) return value === 0;
  return written.digits !== told.digits || (written.digits !== '' && written.exponent !== told.exponent);
}

/** The number as an integer without zeros at either end, and a power of ten. */
function digitsOf(token: string): { digits: string; exponent: number } {
  const [, whole = '', fraction = '', exponent = '0'] = PARTS.exec(token) ?? [];
  const all = whole + fraction;
  // A loop instead of a regular expression, which would take quadratic time to find trailing zeros.
  let [start, end] = [0, all.length];
  while (all[start] === '0') start++;
  while (end > start && all[end - 1] === '0') end--;
  return { digits: all.slice(start, end), exponent: Number(exponent) - fraction.length + all.length - end };
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

/** `start` is the opening quote; returns the offset after the closing one. */
function endOfString(json: string, start: number): number {
  for (let quote = json.indexOf('"', start + 1); quote >= 0; quote = json.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (json.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return quote + 1;
  }
  return json.length;
}

/** Whether a colon follows the string. */
function isKey(json: string, end: number): boolean {
  let at = end;
  while (json.charCodeAt(at) <= 0x20) at++;
  return json[at] === ':';
}

/**
 * Whether lists and objects are nested deeper than `levels`; a scalar has depth 0. Does not descend further. JSON.parse
 * accepts any depth, but JSON.stringify, structured clones and recursive functions overflow the stack.
 */
export function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeperThan(levels - 1, inner));
}

/** Whether there is a number in a parsed JSON value, at any depth. */
export function hasNumber(value: unknown): boolean {
  if (typeof value === 'number') return true;
  if (typeof value !== 'object' || value === null) return false;
  for (const name in value) if (hasNumber((value as Record<string, unknown>)[name])) return true;
  return false;
}
