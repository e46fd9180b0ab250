// Turns JSON text into MessagePack of the same value, from bytes to bytes, without building the value, in about half the
// time of JSON.parse and msgpackr. Pure.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
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
/** As many digits are exact in any case. */
const DIGITS_MAX = 15;
const POWERS_OF_TEN = Array.from({ length: DIGITS_MAX + 1 }, (_, exponent) => 10 ** exponent);
/** Texts below this size have a head of one byte. */
const SHORT_TEXT_BYTES = 32;

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
  private readonly view: DataView;

  constructor(private readonly json: Buffer) {
    this.out = Buffer.allocUnsafe(Math.ceil(json.length * GROWTH_MAX) + 16);
    this.view = new DataView(this.out.buffer, this.out.byteOffset);
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

  /** Copies a short text while it looks for its end; the end of a longer one is looked for by a call. */
  private text(): void {
    const { json, out } = this;
    const start = this.at + 1;
    const longAt = start + SHORT_TEXT_BYTES;
    let from = start;
    for (let to = this.end + 1; from < longAt; ) {
      const byte = json[from] as number;
      if (byte === BACKSLASH) return this.escaped(start);
      if (byte === QUOTE) {
        out[this.end] = 0xa0 | (from - start);
        this.end = to;
        this.at = from + 1;
        return;
      }
      out[to++] = byte;
      from++;
    }
    const end = json.indexOf(QUOTE, from);
    if (this.backslashAfter(from) < end) return this.escaped(start);
    this.putTextHead(end - start);
    json.copy(out, this.end, start, end);
    this.end += end - start;
    this.at = end + 1;
  }

  private backslashAfter(start: number): number {
    if (this.backslashAt < start) {
      const at = this.json.indexOf(BACKSLASH, start);
      this.backslashAt = at < 0 ? Infinity : at;
    }
    return this.backslashAt;
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

  /** A number of up to 15 digits is a whole number by a power of ten, both exact, so one division rounds it right. */
  private number(first: number): void {
    const { json } = this;
    const start = first === MINUS ? this.at + 1 : this.at;
    let end = start;
    let digits = 0;
    let pointAt = -1;
    for (; ; end++) {
      const byte = json[end] as number;
      if (byte >= ZERO && byte <= NINE) digits = 10 * digits + byte - ZERO;
      else if (byte === POINT) pointAt = end;
      else break;
    }
    if (!isEndOfNumber(json[end]) || end - start > DIGITS_MAX || (digits === 0 && first === MINUS))
      return this.otherNumber();
    this.at = end;
    const value = first === MINUS ? -digits : digits;
    if (pointAt < 0) this.putWhole(value);
    else this.putFloat(value / (POWERS_OF_TEN[end - pointAt - 1] as number));
  }

  private otherNumber(): void {
    const start = this.at;
    while (!isEndOfNumber(this.json[this.at])) this.at++;
    this.putFloat(Number(this.json.toString('latin1', start, this.at)));
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
    this.view.setFloat64(this.end, value);
    this.end += 8;
  }
}

/** Undefined is the end of the text. */
const isEndOfNumber = (byte: number | undefined): boolean =>
  byte === undefined || byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || byte <= 0x20;
