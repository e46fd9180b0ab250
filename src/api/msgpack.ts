// Reads bodies in MessagePack as strictly as bodies in JSON are read: numbers are finite and exact, texts are UTF-8, keys
// are texts, and there are no extension types. Binary values are vectors. A reader checks bounds before it builds
// anything, and does not recurse further than they permit. Pure.
import { isAscii } from 'node:buffer';
import { AppError, invalidField } from './errors.js';
import { vectorOfBytes } from './numbers.js';

export const MSGPACK_TYPE = 'application/msgpack';

/** Bounds on one value, as those on the JSON of a body. */
export interface MsgpackShape {
  readonly namesMax: number;
  readonly valuesMax: number;
  readonly levelsMax: number;
}

type Kind = 'null' | 'false' | 'true' | 'number' | 'wide' | 'text' | 'binary' | 'list' | 'map';

/** The first byte of a value that is followed by its length or its number. */
const NIL = 0xc0;
const FALSE = 0xc2;
const TRUE = 0xc3;
const BIN_8 = 0xc4;
const BIN_32 = 0xc6;
const FLOAT_32 = 0xca;
const FLOAT_64 = 0xcb;
const UINT_8 = 0xcc;
const UINT_64 = 0xcf;
const INT_8 = 0xd0;
const INT_64 = 0xd3;
const STR_8 = 0xd9;
const STR_32 = 0xdb;
const ARRAY_16 = 0xdc;
const ARRAY_32 = 0xdd;
const MAP_16 = 0xde;
const MAP_32 = 0xdf;

const malformed = (): AppError => new AppError('invalid_msgpack', 'The body is not well-formed MessagePack.');

/** Walks over values. `number`, `wide` and `length` belong to the head that was read last. */
class Heads {
  at = 0;
  number = 0;
  wide = 0n;
  length = 0;

  constructor(protected readonly bytes: Buffer) {}

  /** Reads the head of a value: the whole value, or its kind and length. */
  head(): Kind {
    const lead = this.bytes[this.taken(1)] as number;
    if (lead < 0x80) return this.whole(lead);
    if (lead >= 0xe0) return this.whole(lead - 0x100);
    if (lead < 0x90) return this.sized('map', lead & 0x0f);
    if (lead < 0xa0) return this.sized('list', lead & 0x0f);
    if (lead < NIL) return this.sized('text', lead & 0x1f);
    if (lead === NIL) return 'null';
    if (lead === FALSE || lead === TRUE) return lead === TRUE ? 'true' : 'false';
    if (lead >= BIN_8 && lead <= BIN_32) return this.sized('binary', this.unsigned(1 << (lead - BIN_8)));
    if (lead === FLOAT_32) return this.whole(this.bytes.readFloatBE(this.taken(4)));
    if (lead === FLOAT_64) return this.whole(this.bytes.readDoubleBE(this.taken(8)));
    if (lead >= UINT_8 && lead < UINT_64) return this.whole(this.unsigned(1 << (lead - UINT_8)));
    if (lead === UINT_64) return this.long(this.bytes.readBigUInt64BE(this.taken(8)));
    if (lead >= INT_8 && lead < INT_64) return this.whole(this.signed(1 << (lead - INT_8)));
    if (lead === INT_64) return this.long(this.bytes.readBigInt64BE(this.taken(8)));
    if (lead >= STR_8 && lead <= STR_32) return this.sized('text', this.unsigned(1 << (lead - STR_8)));
    if (lead === ARRAY_16 || lead === ARRAY_32) return this.sized('list', this.unsigned(2 << (lead - ARRAY_16)));
    if (lead === MAP_16 || lead === MAP_32) return this.sized('map', this.unsigned(2 << (lead - MAP_16)));
    throw new AppError('invalid_msgpack', 'The body has an extension type or a byte that MessagePack does not use.');
  }

  /** Passes over `values` values without building them. */
  skip(values: number): void {
    for (let left = values; left > 0; left--) {
      const kind = this.head();
      if (kind === 'text' || kind === 'binary') this.taken(this.length);
      else if (kind === 'list') left += this.length;
      else if (kind === 'map') left += 2 * this.length;
    }
  }

  /** Takes the next bytes and returns their offset. */
  protected taken(bytes: number): number {
    const { at } = this;
    this.at = at + bytes;
    if (this.at > this.bytes.length) throw malformed();
    return at;
  }

  private whole(number: number): Kind {
    this.number = number;
    return 'number';
  }

  private long(wide: bigint): Kind {
    this.wide = wide;
    return 'wide';
  }

  /** Each value of a list has a byte at least, so a length beyond the end is refused before anything is built. */
  private sized(kind: Kind, length: number): Kind {
    if (length > this.bytes.length - this.at) throw malformed();
    this.length = length;
    return kind;
  }

  private unsigned(bytes: number): number {
    return this.bytes.readUIntBE(this.taken(bytes), bytes);
  }

  private signed(bytes: number): number {
    return this.bytes.readIntBE(this.taken(bytes), bytes);
  }
}

class ValueReader extends Heads {
  private names = 0;
  private values = 0;

  constructor(
    bytes: Buffer,
    private readonly shape: MsgpackShape,
    /** The field of the outermost map that may be binary. */
    private readonly vectorField: string | undefined,
  ) {
    super(bytes);
  }

  get isAtEnd(): boolean {
    return this.at === this.bytes.length;
  }

  read(level: number, field: string): unknown {
    const kind = this.head();
    switch (kind) {
      case 'null':
        return null;
      case 'false':
      case 'true':
        return kind === 'true';
      case 'number':
        if (!Number.isFinite(this.number)) throw notFinite(field, this.number);
        return this.number;
      case 'wide':
        return exact(this.wide, field);
      case 'text':
        return this.text();
      case 'binary':
        return this.vector(level, field);
      case 'list':
        return this.list(level, field);
      case 'map':
        return this.map(level);
    }
  }

  private list(level: number, field: string): unknown[] {
    const { length } = this;
    this.count(length, level);
    const values: unknown[] = [];
    for (let i = 0; i < length; i++) values.push(this.read(level + 1, field));
    return values;
  }

  private map(level: number): Record<string, unknown> {
    const { length } = this;
    this.count(length, level);
    this.names += length;
    if (this.names > this.shape.namesMax) throw tooMany('names', this.shape.namesMax);
    const value: Record<string, unknown> = {};
    for (let i = 0; i < length; i++) {
      if (this.head() !== 'text') throw new AppError('invalid_msgpack', 'The keys of a map should be texts.');
      const name = this.text();
      if (name === '__proto__') throw new AppError('invalid_msgpack', 'A key must not be `__proto__`.');
      value[name] = this.read(level + 1, level === 0 ? name : '');
    }
    return value;
  }

  private text(): string {
    const start = this.taken(this.length);
    const bytes = this.bytes.subarray(start, this.at);
    if (isAscii(bytes)) return bytes.toString('latin1');
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      throw new AppError('invalid_msgpack', 'A text is not UTF-8.');
    }
  }

  private vector(level: number, field: string): Float32Array {
    const start = this.taken(this.length);
    if (level !== 1 || field !== this.vectorField)
      throw invalidField(placeOf(field), 'Should not be binary; only vectors are.', 'type_error');
    return vectorOfBytes(this.bytes.subarray(start, this.at), ['body', field]);
  }

  private count(values: number, level: number): void {
    const { valuesMax, levelsMax } = this.shape;
    this.values += values;
    if (this.values > valuesMax) throw tooMany('values', valuesMax);
    if (level >= levelsMax) throw tooMany('levels', levelsMax);
  }
}

const placeOf = (field: string): string[] => (field === '' ? ['body'] : ['body', field]);

const notFinite = (field: string, value: number): AppError =>
  invalidField(placeOf(field), 'Should be a finite number.', 'finite_number', String(value));

function exact(wide: bigint, field: string): number {
  const number = Number(wide);
  if (BigInt(number) === wide) return number;
  throw invalidField(
    placeOf(field),
    `${wide} is not exact as a 64-bit float and would not be kept as it is written: send it as a text.`,
    'number_not_exact',
    String(wide),
  );
}

function tooMany(what: 'names' | 'values' | 'levels', most: number): AppError {
  return new AppError('request_too_large', `The MessagePack of this body has at most ${most} ${what}.`, {
    details: { [`limit_${what}`]: most },
  });
}

/**
 * The value of a body. In the outermost map, `vectorField` may be binary and is then a Float32Array. Throws
 * `invalid_msgpack`, 413 for a value beyond `shape`, and 422 for numbers and binary values that are not permitted.
 */
export function readMsgpack(bytes: Buffer, shape: MsgpackShape, vectorField?: string): unknown {
  const reader = new ValueReader(bytes, shape, vectorField);
  const value = reader.read(0, '');
  if (!reader.isAtEnd) throw malformed();
  return value;
}

/** The bytes of each of the values that follow one another in `bytes`, as views. */
export function msgpackValues(bytes: Buffer): Buffer[] {
  const heads = new Heads(bytes);
  const values: Buffer[] = [];
  while (heads.at < bytes.length) values.push(nextValue(heads, bytes));
  return values;
}

function nextValue(heads: Heads, bytes: Buffer): Buffer {
  const start = heads.at;
  heads.skip(1);
  return bytes.subarray(start, heads.at);
}

interface MsgpackList {
  /** The body with an empty list in place of the list. */
  readonly skeleton: unknown;
  readonly count: number;
  /** The bytes of each item, as views; empty if there are more than `itemsMax`. */
  readonly items: Buffer[];
}

const SKELETON_SHAPE: MsgpackShape = { namesMax: 64, valuesMax: 64, levelsMax: 4 };
const EMPTY_LIST = 0x90;

/** Splits a body `{field: [...]}` into the items of its list without building them. Throws as `readMsgpack` does. */
export function splitMsgpack(bytes: Buffer, field: string, itemsMax: number): MsgpackList {
  const heads = new Heads(bytes);
  const list = heads.head() === 'map' ? listIn(heads, bytes, field) : undefined;
  if (!list) return { skeleton: readMsgpack(bytes, SKELETON_SHAPE), count: 0, items: [] };
  const { start, length } = list;
  const items: Buffer[] = [];
  if (length > itemsMax) heads.skip(length);
  else for (let i = 0; i < length; i++) items.push(nextValue(heads, bytes));
  const skeleton = Buffer.concat([bytes.subarray(0, start), Buffer.of(EMPTY_LIST), bytes.subarray(heads.at)]);
  return { skeleton: readMsgpack(skeleton, SKELETON_SHAPE), count: length, items };
}

/** Goes to the first item of the list under `field` in the map whose head was read. */
function listIn(heads: Heads, bytes: Buffer, field: string): { start: number; length: number } | undefined {
  for (let left = heads.length; left > 0; left--) {
    const key = nextValue(heads, bytes);
    const start = heads.at;
    const isField = key.length === field.length + 1 && key.toString('latin1', 1) === field;
    if (isField && heads.head() === 'list') return { start, length: heads.length };
    heads.at = start;
    heads.skip(1);
  }
  return undefined;
}
