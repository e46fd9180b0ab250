// Turns JSON text into MessagePack of the same value, from bytes to bytes, without building the value, in about half the
// time of JSON.parse and msgpackr. Pure.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const LOWER_F = 0x66;
const LOWER_N = 0x6e;
const LOWER_T = 0x74;

/** A number such as `1.5,` takes four bytes of JSON and nine of MessagePack. */
const GROWTH_MAX = 2.5;
/** Digits that are always exact. */
const DIGITS_MAX = 15;
/** Shorter texts are scanned and copied in a loop, which is faster than a call. */
const IN_LOOP_MAX = 24;

/** `json` must be one valid JSON text in UTF-8; half of a surrogate pair in an escape becomes U+FFFD. */
export function msgpackOfJson(json: Buffer): Buffer {
  return new Transcoder(json).whole();
}

/** The head of a list of `length` items, which follow it. */
export function listHead(length: number): Buffer {
  const head = Buffer.allocUnsafe(5);
  head[0] = 0xdd;
  head.writeUInt32BE(length, 1);
  return head;
}

class Transcoder {
  private at = 0;
  private end = 0;
  /** The first backslash at or behind the text that was read last; -1 before the first text. */
  private backslashAt = -1;
  private readonly out: Buffer;

  constructor(private readonly json: Buffer) {
    this.out = Buffer.allocUnsafe(Math.ceil(json.length * GROWTH_MAX) + 16);
  }

  whole(): Buffer {
    this.value();
    return this.out.subarray(0, this.end);
  }

  private value(): void {
    const byte = this.next();
    if (byte === QUOTE) return this.text();
    if (byte === OPEN_BRACE) return this.map();
    if (byte === OPEN_BRACKET) return this.list();
    if (byte === LOWER_T) return this.constant(0xc3, 4);
    if (byte === LOWER_F) return this.constant(0xc2, 5);
    if (byte === LOWER_N) return this.constant(0xc0, 4);
    this.number(byte);
  }

  /** The next byte that is not white space. */
  private next(): number {
    const { json } = this;
    while ((json[this.at] as number) <= 0x20) this.at++;
    return json[this.at] as number;
  }

  private constant(byte: number, characters: number): void {
    this.out[this.end++] = byte;
    this.at += characters;
  }

  private map(): void {
    const head = this.end++;
    let count = 0;
    this.at++;
    while (this.next() !== CLOSE_BRACE) {
      if (this.json[this.at] === COMMA) this.at++;
      this.next();
      this.text();
      this.next();
      this.at++; // The colon.
      this.value();
      count++;
    }
    this.at++;
    this.putHead(head, count, 0x80, 0xde);
  }

  private list(): void {
    const head = this.end++;
    let count = 0;
    this.at++;
    while (this.next() !== CLOSE_BRACKET) {
      if (this.json[this.at] === COMMA) this.at++;
      this.value();
      count++;
    }
    this.at++;
    this.putHead(head, count, 0x90, 0xdc);
  }

  /** Writes the head of a map or list, whose content stands behind the one byte that was left for it. */
  private putHead(head: number, count: number, short: number, long: number): void {
    const { out } = this;
    if (count < 16) {
      out[head] = short | count;
      return;
    }
    const more = count < 0x1_0000 ? 2 : 4;
    out.copyWithin(head + 1 + more, head + 1, this.end);
    out[head] = more === 2 ? long : long + 1;
    out.writeUIntBE(count, head + 1, more);
    this.end += more;
  }

  private text(): void {
    const { json } = this;
    const start = this.at + 1;
    let end = start;
    while (json[end] !== QUOTE && end - start < IN_LOOP_MAX) end++;
    if (json[end] !== QUOTE) end = json.indexOf(QUOTE, end);
    if (this.backslashAfter(start) < end) return this.escaped(start);
    this.at = end + 1;
    this.putTextHead(end - start);
    this.copy(start, end);
  }

  private backslashAfter(start: number): number {
    if (this.backslashAt < start) {
      const at = this.json.indexOf(BACKSLASH, start);
      this.backslashAt = at < 0 ? Infinity : at;
    }
    return this.backslashAt;
  }

  private copy(start: number, end: number): void {
    const { json, out } = this;
    if (end - start > IN_LOOP_MAX) json.copy(out, this.end, start, end);
    else for (let from = start, to = this.end; from < end; ) out[to++] = json[from++] as number;
    this.end += end - start;
  }

  private escaped(start: number): void {
    const { json } = this;
    let end = start;
    while (json[end] !== QUOTE) end += json[end] === BACKSLASH ? 2 : 1;
    const text = JSON.parse(json.toString('utf8', start - 1, end + 1)) as string;
    this.at = end + 1;
    this.putTextHead(Buffer.byteLength(text));
    this.end += this.out.write(text, this.end);
  }

  private putTextHead(bytes: number): void {
    const { out } = this;
    if (bytes < 32) out[this.end++] = 0xa0 | bytes;
    else if (bytes < 0x100) {
      out[this.end++] = 0xd9;
      out[this.end++] = bytes;
    } else this.put(bytes < 0x1_0000 ? 0xda : 0xdb, bytes, bytes < 0x1_0000 ? 2 : 4);
  }

  private put(lead: number, value: number, bytes: number): void {
    this.out[this.end++] = lead;
    this.end = this.out.writeUIntBE(value, this.end, bytes);
  }

  private number(first: number): void {
    const { json } = this;
    const start = this.at;
    let end = first === MINUS ? start + 1 : start;
    let whole = 0;
    for (; (json[end] as number) >= ZERO && (json[end] as number) <= NINE; end++)
      whole = 10 * whole + (json[end] as number) - ZERO;
    const isWhole = isEndOfNumber(json[end]) && end - start <= DIGITS_MAX && !(first === MINUS && whole === 0);
    if (isWhole) {
      this.at = end;
      return this.putWhole(first === MINUS ? -whole : whole);
    }
    while (!isEndOfNumber(json[end])) end++;
    this.at = end;
    this.putFloat(Number(json.toString('latin1', start, end)));
  }

  private putWhole(value: number): void {
    if (value >= 0) {
      if (value < 0x80) this.out[this.end++] = value;
      else if (value < 0x100) this.put(0xcc, value, 1);
      else if (value < 0x1_0000) this.put(0xcd, value, 2);
      else if (value <= 0xffff_ffff) this.put(0xce, value, 4);
      else this.putFloat(value);
    } else if (value >= -0x20) this.out[this.end++] = value & 0xff;
    else if (value >= -0x8000_0000) {
      this.out[this.end++] = 0xd2;
      this.end = this.out.writeInt32BE(value, this.end);
    } else this.putFloat(value);
  }

  private putFloat(value: number): void {
    this.out[this.end++] = 0xcb;
    this.end = this.out.writeDoubleBE(value, this.end);
  }
}

/** Undefined is the end of the text. */
const isEndOfNumber = (byte: number | undefined): boolean =>
  byte === undefined || byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || byte <= 0x20;
