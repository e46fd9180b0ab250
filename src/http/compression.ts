// Response compression: negotiates a coding and compresses at low levels, large bodies in Node's thread pool. Streams
// are compressed block by block with a flush after each, so that no finished data waits in the compressor. Runs on
// front threads and on the main thread.
import { promisify } from 'node:util';
import {
  type BrotliCompress,
  type Gzip,
  brotliCompress,
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createGzip,
  gzip,
  gzipSync,
} from 'node:zlib';
import { weightsOf } from './content-negotiation.js';
import { type Answer, BLOCK_WAIT_MS, type Piece, PieceBlocks } from './envelope.js';

// Content-coding negotiation (RFC 9110, 12.5.3). Pure.

type Coding = 'br' | 'gzip';

/** In order of preference: brotli compresses the same text better in the same time. */
const CODINGS: readonly Coding[] = ['br', 'gzip'];

/**
 * The coding with the highest q-value in an `Accept-Encoding` header. Undefined if the client accepts none of ours or
 * prefers an uncompressed reply.
 */
export function codingFor(acceptEncoding: string): Coding | undefined {
  if (acceptEncoding === '') return undefined;
  const weights = weightsOf(acceptEncoding);
  const weightOf = (coding: string): number | undefined => weights.get(coding) ?? weights.get('*');
  let best: Coding | undefined;
  let bestWeight = weights.get('identity') ?? 0;
  for (const coding of CODINGS) {
    const weight = (coding === 'gzip' ? weights.get('x-gzip') : undefined) ?? weightOf(coding) ?? 0;
    if (weight > bestWeight || (best === undefined && weight > 0 && weight === bestWeight))
      [best, bestWeight] = [coding, weight];
  }
  return best;
}

/** Compressing smaller replies saves no packet. */
const BYTES_MIN = 1024;
/**
 * Bodies up to this size compress in less than 0.1 ms, about the cost of a thread pool round trip (200 kB take 0.5 ms).
 */
const AT_ONCE_BYTES_MAX = 16 * 1024;
const GZIP = { level: 4 };
const BROTLI = { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT };
/** Bytes passed to the compressor at a time; its output buffer has space for all that results from them. */
const SLICE_BYTES = 64 * 1024;
const ROOM_BYTES = 1024 * 1024;

const COMPRESSIBLE =
  /^(text\/(?!event-stream)|application\/(json|x-ndjson|javascript|xml|yaml|openapi\+json))|[+]json\b/;
const NOTHING = Buffer.alloc(0);
const VARY = { Vary: 'Accept-Encoding' };

const gzipped = promisify<Uint8Array, object, Buffer>(gzip);
const brotlied = promisify<Uint8Array, object, Buffer>(brotliCompress);

/** Whether a reply depends on the client's `Accept-Encoding`. */
export function isCompressible({ contentType, headers, body, rest }: Answer): boolean {
  const isLong = rest !== undefined || body.length > BYTES_MIN;
  return isLong && COMPRESSIBLE.test(contentType) && headers?.['Content-Encoding'] === undefined;
}

/** Compresses a compressible answer as the client prefers. Never rejects: a failed compression sends the plain body. */
export async function negotiated(answer: Answer, acceptEncoding: string): Promise<Answer> {
  const coding = codingFor(acceptEncoding);
  if (coding === undefined) return { ...answer, headers: { ...answer.headers, ...VARY } };
  const headers = { ...answer.headers, ...VARY, 'Content-Encoding': coding };
  const { body, rest } = answer;
  if (rest !== undefined)
    return { ...answer, headers, body: NOTHING, rest: new PieceBlocks(compressedPieces(body, rest, coding)) };
  return compressed(body, coding).then(
    (bytes) => ({ ...answer, headers, body: bytes }),
    () => ({ ...answer, headers: { ...answer.headers, ...VARY } }),
  );
}

async function compressed(body: Uint8Array, coding: Coding): Promise<Buffer> {
  const isSmall = body.length <= AT_ONCE_BYTES_MAX;
  if (coding === 'gzip') return isSmall ? gzipSync(body, GZIP) : gzipped(body, GZIP);
  const options = { params: { ...BROTLI, [constants.BROTLI_PARAM_SIZE_HINT]: body.length } };
  return isSmall ? brotliCompressSync(body, options) : brotlied(body, options);
}

/** Compresses `first` and all of `rest`. Closing the iterator closes `rest`, even if nothing has been read. */
function compressedPieces(first: Uint8Array, rest: PieceBlocks, coding: Coding): AsyncIterable<Piece> {
  const pieces = compress(first, rest, coding);
  const close = async (): Promise<IteratorResult<Piece>> => {
    await pieces.return(undefined);
    await rest.return();
    return { done: true, value: undefined };
  };
  return { [Symbol.asyncIterator]: () => ({ next: () => pieces.next(), return: close }) };
}

async function* compress(first: Uint8Array, rest: PieceBlocks, coding: Coding): AsyncGenerator<Piece, void> {
  const compressor = createCompressor(coding);
  try {
    for (let bytes = first, isLast = false; ; { bytes, isLast } = await rest.next(BLOCK_WAIT_MS)) {
      for (let at = 0; at < bytes.length; at += SLICE_BYTES)
        yield await pressed(compressor, bytes.subarray(at, at + SLICE_BYTES));
      if (isLast) break;
    }
    compressor.end();
    yield* compressor as AsyncIterable<Buffer>;
  } finally {
    compressor.destroy();
  }
}

function createCompressor(coding: Coding): BrotliCompress | Gzip {
  const room = { readableHighWaterMark: ROOM_BYTES };
  const brotli = { params: BROTLI, flush: constants.BROTLI_OPERATION_FLUSH, ...room };
  const compressor =
    coding === 'br' ? createBrotliCompress(brotli) : createGzip({ ...GZIP, flush: constants.Z_SYNC_FLUSH, ...room });
  // Errors surface where the compressed bytes are awaited.
  return compressor.on('error', () => undefined);
}

/** Compresses one slice and returns its flushed output. */
function pressed(compressor: BrotliCompress | Gzip, bytes: Uint8Array): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    compressor.write(bytes, (error) =>
      error ? reject(error) : resolve((compressor.read() as Buffer | null) ?? NOTHING),
    );
  });
}
