// The bytes of a request body that came compressed (Content-Encoding), as they were before: unpacked as they are
// asked for, by Node's thread pool, and counted against the limit of the route, so that a bomb is refused once it has
// grown over it. Made by body.ts; front thread.
import { pipeline, Readable, type Transform } from 'node:stream';
import zlib, { constants, createBrotliDecompress, createGunzip } from 'node:zlib';
import { AppError } from '../contract/errors.js';
import { overloaded, type Room } from './admission.js';
import type { BodyLimit, BodySource } from './body-source.js';

/** What the readers of a body need of it. */
export type ByteSource = Pick<BodySource, 'next' | 'read' | 'lend' | 'letGo'> & AsyncIterable<Buffer>;

/** Node has zstd from 22.15 on; the types do not know it yet. */
type Zstd = { createZstdDecompress?: (options: object) => Transform };
const { createZstdDecompress } = zlib as Zstd;
/** A window of 8 MiB, which RFC 8878 asks every reader to take, and no more. */
const ZSTD = { chunkSize: 64 * 1024, params: { [(constants as Record<string, number>).ZSTD_d_windowLogMax ?? 0]: 23 } };

const PIECES = { chunkSize: 64 * 1024 };

const DECODERS: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', () => createGunzip(PIECES)],
  ['x-gzip', () => createGunzip(PIECES)],
  ['br', () => createBrotliDecompress(PIECES)],
  ...(createZstdDecompress ? ([['zstd', () => createZstdDecompress(ZSTD)]] as const) : []),
]);
const CODINGS = [...DECODERS.keys()].filter((name) => name !== 'x-gzip').join(', ');

/** Undefined for a body that came as it is. Throws 415 for a coding that is not known, and for several. */
export function decoderFor(contentEncoding: string): (() => Transform) | undefined {
  const coding = contentEncoding.trim().toLowerCase();
  if (coding === '' || coding === 'identity') return undefined;
  const decoder = DECODERS.get(coding);
  if (decoder) return decoder;
  throw new AppError(
    'unsupported_content_encoding',
    `The Content-Encoding of a body is one of ${CODINGS}, or it has none.`,
    { headers: { 'Accept-Encoding': CODINGS } },
  );
}

export class DecodedSource implements ByteSource {
  /** As BodySource has it. */
  heldBytes = 0;
  private unpackedBytes = 0;
  private readonly unpacked: Transform;
  private readonly pieces: AsyncIterator<Buffer>;

  constructor(
    packed: BodySource,
    decoder: () => Transform,
    private readonly limit: BodyLimit,
    private readonly room: Room,
  ) {
    // What goes wrong is thrown where the pieces are awaited.
    this.unpacked = pipeline(Readable.from(fed(packed)), decoder(), () => undefined);
    this.pieces = this.unpacked[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  async next(): Promise<Buffer | undefined> {
    try {
      const { done, value } = await this.pieces.next();
      if (done) return undefined;
      this.unpackedBytes += value.length;
      if (this.unpackedBytes > this.limit.bytesMax) throw this.limit.refusal();
      if (!this.room.hold(value.length)) throw overloaded();
      this.heldBytes += value.length;
      return value;
    } catch (error) {
      this.close();
      throw error instanceof AppError ? error : new AppError('invalid_content_encoding');
    }
  }

  lend(): Promise<Uint8Array | undefined> {
    return this.next();
  }

  async read(take: (bytes: Uint8Array) => void): Promise<boolean> {
    const piece = await this.next();
    if (piece !== undefined) take(piece);
    return piece !== undefined;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    for (let piece = await this.next(); piece !== undefined; piece = await this.next()) yield piece;
  }

  /** Nobody wants more. */
  close(): void {
    this.unpacked.destroy();
  }

  letGo(bytes: number): void {
    this.heldBytes -= bytes;
    this.room.giveBack(bytes);
  }
}

async function* fed(packed: BodySource): AsyncGenerator<Buffer> {
  for await (const chunk of packed) {
    yield chunk;
    packed.letGo(chunk.length);
  }
}
