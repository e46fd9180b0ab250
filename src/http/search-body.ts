// The bodies of searches and of batches of searches, in JSON and in MessagePack. A vector, which is most of such a
// body, goes straight into float32; the rest, whose size is bounded, is parsed like other bodies. Runs on front threads
// and on the main thread.
import { randomUUID } from 'node:crypto';
import { AppError, invalidField } from '../api/errors.js';
import { DIM_MAX, JSON_BODY_SHAPE, SEARCHES_MAX, SEARCH_BODY_SHAPE, SEARCH_MSGPACK_SHAPE } from '../api/limits.js';
import { MSGPACK_TYPE, readMsgpack } from '../api/msgpack.js';
import { vectorOfBase64 } from '../api/numbers.js';
import { checkCollectionsSearchBody, checkSearchBody } from '../api/search.js';
import { mediaTypeOf } from '../base/http-headers.js';
import { JsonFloats, afterSpace } from '../base/json-floats.js';
import { batchItems } from '../extract/batch-body.js';
import type { CollectionsSearch } from '../service/query-log/collections-search.js';
import { type SearchInput, settledInput } from '../service/search/input.js';
import { fitting, parseJson, parsedInTurns, stringEnd } from './json-body.js';
import type { Body } from './route.js';

const QUOTE = 0x22;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

interface SearchBodyText {
  /** The unvalidated body. The field of its vector is null if `vector` is set. */
  body: unknown;
  vector?: Float32Array | undefined;
}

export class SearchBodyReader {
  private readonly floats = new JsonFloats(DIM_MAX);
  /** A placeholder for the extracted vector in the JSON text. It is random, so no client can send it. */
  private readonly mark = randomUUID();
  private readonly markJson = Buffer.from(JSON.stringify(this.mark));

  /** The body of a search with its defaults. Throws what `read`, `readPacked` and `settledInput` throw. */
  async input(body: Body): Promise<SearchInput> {
    const bytes = await body.bytes();
    return settled(isMsgpack(body) ? readPacked(bytes) : this.read(bytes));
  }

  /** The body of a search of several collections. Throws as `input` does. */
  async collectionsSearch(body: Body): Promise<CollectionsSearch> {
    const bytes = await body.bytes();
    const { body: read, vector } = isMsgpack(body) ? readPacked(bytes) : this.read(bytes);
    const { collections, merge, ...search } = fitting(checkCollectionsSearchBody(read), 'body');
    return { collections, merge: merge ?? undefined, input: settledInput(search, 'body', vector) };
  }

  /**
   * The searches of a batch, each with its defaults or with the error that it has. Throws AppError if the body is not a
   * batch; in JSON also if a search is not JSON, for then the body is not.
   */
  async inputs(body: Body): Promise<(SearchInput | AppError)[]> {
    const packed = isMsgpack(body);
    const bytes = await body.bytes();
    const items = batchItems(bytes, { field: 'searches', itemsMax: SEARCHES_MAX, isMsgpack: packed });
    return parsedInTurns(items as Buffer[], (item) => this.inputOf(item, packed));
  }

  private inputOf(item: Buffer, packed: boolean): SearchInput | AppError {
    try {
      return settled(packed ? readPacked(item) : this.read(item));
    } catch (error) {
      if (error instanceof AppError && error.code !== 'invalid_json') return error;
      throw error;
    }
  }

  /**
   * Parses JSON. Throws 400 `invalid_json`, 413 for a body over the bounds of a search, and 422 for a long list that is
   * not a vector of plain numbers.
   */
  read(bytes: Buffer): SearchBodyText {
    const found = vectorIn(bytes);
    if (found?.field === 'v' && bytes[found.start] === OPEN_BRACKET) return this.readNumbers(bytes, found.start);
    if (found?.field === 'v_base64' && bytes[found.start] === QUOTE) return this.readBase64(bytes, found.start);
    return { body: parseJson(bytes, false, SEARCH_BODY_SHAPE) };
  }

  private readNumbers(bytes: Buffer, start: number): SearchBodyText {
    const vector = this.floats.read(bytes, start);
    return vector ? this.withVector('v', bytes, start, this.floats.end, () => vector) : { body: parseUnread(bytes) };
  }

  private readBase64(bytes: Buffer, start: number): SearchBodyText {
    const end = bytes.indexOf(QUOTE, start + 1);
    const text = bytes.toString('latin1', start + 1, end);
    if (end < 0 || text.includes('\\')) return { body: parseJson(bytes, false, SEARCH_BODY_SHAPE) };
    return this.withVector('v_base64', bytes, start, end + 1, () => vectorOfBase64(text, ['body', 'v_base64']));
  }

  /** Parses the rest of a body, whose `field` has a vector in [start, end). */
  private withVector(
    field: VectorField,
    bytes: Buffer,
    start: number,
    end: number,
    vector: () => Float32Array,
  ): SearchBodyText {
    const rest = Buffer.concat([bytes.subarray(0, start), this.markJson, bytes.subarray(end)]);
    const body = parseJson(rest, false, SEARCH_BODY_SHAPE) as Record<string, unknown>;
    // If a field occurs twice, the last one counts.
    if (body[field] !== this.mark) return { body };
    body[field] = null;
    return { body, vector: vector() };
  }
}

const isMsgpack = ({ contentType }: Body): boolean => mediaTypeOf(contentType) === MSGPACK_TYPE;

const settled = ({ body, vector }: SearchBodyText): SearchInput =>
  settledInput(fitting(checkSearchBody(body), 'body'), 'body', vector);

/** Parses MessagePack. Throws as `readMsgpack` does. */
function readPacked(bytes: Buffer): SearchBodyText {
  const body = readMsgpack(bytes, SEARCH_MSGPACK_SHAPE, 'v') as { v?: unknown } | null;
  const vector = body?.v;
  if (!body || !(vector instanceof Float32Array)) return { body };
  body.v = null;
  return { body, vector };
}

/**
 * Parses a body whose vector has other forms of numbers or no numbers: a short one like any other JSON, a long one
 * fails.
 */
function parseUnread(bytes: Buffer): unknown {
  try {
    return parseJson(bytes, false, JSON_BODY_SHAPE);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'request_too_large') throw error;
    const msg = `Should be a list of at most ${DIM_MAX} plain numbers that float32 can hold.`;
    throw invalidField(['body', 'v'], msg, 'list_type');
  }
}

type VectorField = 'v' | 'v_base64';

const FIELDS: readonly (readonly [VectorField, Buffer])[] = [
  ['v', Buffer.from('"v"')],
  ['v_base64', Buffer.from('"v_base64"')],
];

/**
 * The first field with a vector in the outermost object, and the start of its value. Undefined if there is none, or if
 * the text is not in a plain form.
 */
function vectorIn(bytes: Buffer): { field: VectorField; start: number } | undefined {
  let at = afterSpace(bytes, 0);
  if (bytes[at] !== OPEN_BRACE) return undefined;
  do {
    const name = afterSpace(bytes, at + 1);
    const nameEnd = stringEnd(bytes, name);
    const colon = afterSpace(bytes, nameEnd);
    if (bytes[name] !== QUOTE || bytes[colon] !== COLON) return undefined;
    const start = afterSpace(bytes, colon + 1);
    for (const [field, quoted] of FIELDS)
      if (nameEnd - name === quoted.length && quoted.equals(bytes.subarray(name, nameEnd))) return { field, start };
    at = valueEnd(bytes, start);
  } while (bytes[at] === COMMA);
  return undefined;
}

/** The position of the comma or brace after a value of the outermost object. */
function valueEnd(bytes: Buffer, start: number): number {
  for (let at = start, depth = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = stringEnd(bytes, at) - 1;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++;
    else if (depth === 0 && (byte === COMMA || byte === CLOSE_BRACE)) return at;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--;
  }
  return bytes.length;
}
