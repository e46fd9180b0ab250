// Use case that ingests an NDJSON stream of any length. A reader takes bytes from the socket while the buffer has
// space, a few slices of lines are processed at a time, and their results are emitted in order. Each stage waits for
// the next: a client that does not read its results stops the reading. Runs on the main thread.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError, abandoned } from '../../api/errors.js';
import type { CollectionName, Tenant } from '../../api/ids.js';
import { Signal } from '../../base/signals.js';
import { NEWLINE, SLICE_BYTES_MAX, SLICE_LINES_MAX, isSpace, sliceOf } from '../../extract/batch-body.js';
import type { LineSlice } from '../../extract/messages.js';
import { BatchIngest, type ItemResult, SLICES_UNDERWAY_MAX } from './batch.js';
import type { IngestContext } from './document.js';

/** A line that exceeds the size limit. */
interface RefusedLine {
  lines: 1;
  clientError: AppError;
}

/** A slice with too many bytes to be joined without yielding the thread. */
interface LongSlice {
  lines: number;
  bytesLength: number;
  /** Joins the lines, and yields the thread after each large piece. */
  joined: () => Promise<LineSlice>;
}

const JOINED_BYTES_MAX = 1024 * 1024;
const LARGE_PIECE_BYTES = 64 * 1024;

/** The pieces of a line, as they arrived. */
type Line = Uint8Array[];

const lengthOf = (line: Line): number => line.reduce((sum, { length }) => sum + length, 0);

/**
 * Cuts a stream of bytes into slices of lines on demand; bytes that are not requested yet stay as they arrived. Leading
 * white space and blank lines are skipped on arrival. A line over the limit is discarded on arrival and reported.
 */
export class LineSlicer {
  private readonly chunks: Uint8Array[] = [];
  /** Offset of the next line in the first chunk. */
  private at = 0;
  /** Index of the first chunk with a line break of the next line; the number of chunks if there is none. */
  private breakIn = 0;
  private waitingBytes = 0;
  /** True within a line that is too long; its bytes are discarded. */
  private isDropping = false;
  private hasEnded = false;
  /** A rejected line that is reported after the lines before it. */
  private refused: RefusedLine | undefined;

  constructor(private readonly lineBytesMax: number) {}

  /** Whether a full slice is buffered; the reader then waits. */
  get isFull(): boolean {
    return this.waitingBytes >= SLICE_BYTES_MAX && this.breakIn < this.chunks.length;
  }

  /** Adds bytes; copies what it keeps. */
  add(chunk: Uint8Array): void {
    const isFirst = this.chunks.length === 0;
    const wanted = chunk.subarray(isFirst && !this.isDropping ? spaceEnd(chunk, 0) : 0);
    if (wanted.length === 0 || (isFirst && this.isDropping && wanted.indexOf(NEWLINE) < 0)) return;
    this.chunks.push(Buffer.from(wanted));
    this.waitingBytes += wanted.length;
    this.findBreak();
  }

  /** Ends the stream; what is left is the last line. */
  end(): void {
    this.hasEnded = true;
  }

  /** Returns the next slice, or undefined while no line is complete. */
  take(): LineSlice | LongSlice | RefusedLine | undefined {
    const lines: Line[] = [];
    let bytes = 0;
    while (lines.length < SLICE_LINES_MAX && bytes < SLICE_BYTES_MAX && !this.refused) {
      const line = this.nextLine();
      if (!line) break;
      if (line.length === 0) break;
      lines.push(line);
      bytes += lengthOf(line);
    }
    if (bytes > JOINED_BYTES_MAX)
      return { lines: lines.length, bytesLength: bytes, joined: () => joinedInTurns(lines) };
    if (lines.length > 0) return sliceOf(lines);
    const { refused } = this;
    this.refused = undefined;
    return refused;
  }

  /** Returns the next line; an empty array stands for a rejected line. */
  private nextLine(): Line | undefined {
    const chunk = this.chunks[this.breakIn];
    if (chunk) return this.cut(chunk.indexOf(NEWLINE, this.breakIn === 0 ? this.at : 0));
    const isLeft = this.hasEnded && (this.waitingBytes > 0 || this.isDropping);
    return isLeft ? this.cut(0) : undefined;
  }

  /**
   * Takes the line that ends at `end` in the chunk with the line break or, without such a chunk, everything that is
   * left.
   */
  private cut(end: number): Line {
    const rest = this.chunks[this.breakIn];
    const pieces: Line = this.chunks.splice(0, this.breakIn);
    if (rest) pieces.push(rest.subarray(0, end));
    if (pieces[0]) pieces[0] = pieces[0].subarray(this.at);
    this.waitingBytes -= lengthOf(pieces) + (rest ? 1 : 0);
    this.at = rest ? end + 1 : 0;
    this.breakIn = 0;
    const admitted = this.admitted(pieces);
    this.skipSpace();
    this.findBreak();
    return admitted;
  }

  private admitted(line: Line): Line {
    const isTooLong = this.isDropping || lengthOf(line) > this.lineBytesMax;
    this.isDropping = false;
    if (!isTooLong) return line;
    const clientError = new AppError('request_too_large', `A line must have at most ${this.lineBytesMax} bytes.`, {
      details: { limit_bytes: this.lineBytesMax },
    });
    this.refused = { lines: 1, clientError };
    return [];
  }

  /** Advances to the next byte that is not white space; does nothing within a discarded line. */
  private skipSpace(): void {
    if (this.isDropping) return;
    for (let chunk = this.chunks[0]; chunk; chunk = this.chunks[0]) {
      const at = spaceEnd(chunk, this.at);
      this.waitingBytes -= at - this.at;
      this.at = at;
      if (at < chunk.length) return;
      this.chunks.shift();
      this.at = 0;
    }
  }

  private findBreak(): void {
    const has = (chunk: Uint8Array, from: number): boolean => chunk.indexOf(NEWLINE, from) >= 0;
    while (
      this.breakIn < this.chunks.length &&
      !has(this.chunks[this.breakIn] as Uint8Array, this.breakIn === 0 ? this.at : 0)
    )
      this.breakIn++;
    if (this.breakIn < this.chunks.length || this.waitingBytes <= this.lineBytesMax) return;
    this.chunks.length = 0;
    this.at = this.breakIn = this.waitingBytes = 0;
    this.isDropping = true;
  }
}

/** Joins the lines with line breaks; the lines contain none. */
async function joinedInTurns(lines: readonly Line[]): Promise<LineSlice> {
  const joined = Buffer.allocUnsafeSlow(lines.reduce((sum, line) => sum + lengthOf(line) + 1, 0));
  let at = 0;
  for (const line of lines) {
    for (const piece of line) {
      joined.set(piece, at);
      at += piece.length;
      if (piece.length > LARGE_PIECE_BYTES) await nextTurn();
    }
    joined[at++] = NEWLINE;
  }
  return { bytes: joined, lines: lines.length };
}

/** Returns the index of the first byte from `at` on that is not white space. */
function spaceEnd(bytes: Uint8Array, at: number): number {
  let end = at;
  while (end < bytes.length && isSpace(bytes[end] as number)) end++;
  return end;
}

/** Maximum number of bytes of the slices in progress; a single slice may have more. */
const UNDERWAY_BYTES_MAX = 1024 * 1024;
/** Bytes that are scanned for lines before other requests get the thread. */
const TURN_BYTES_MAX = 256 * 1024;

interface Underway {
  bytes: number;
  results?: ItemResult[];
}

type Slice = NonNullable<ReturnType<LineSlicer['take']>>;

/**
 * Yields the results of the items in order. Rejects with AppError if ingest cannot begin; the generator throws if the
 * body breaks off. `signal`, `key`: as in `ingestBatch`. The generator must be read, or the signal be aborted.
 */
export async function ingestLines(
  context: IngestContext,
  tenant: Tenant,
  name: CollectionName,
  body: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
  key?: string,
): Promise<AsyncGenerator<ItemResult[]>> {
  // Throws `not_ready` before the first line is read, so that it becomes the status of the reply.
  context.catalog.find(tenant, name);
  const keyed = key === undefined ? undefined : await context.keyed.items(tenant, name, key);
  const ingest = new BatchIngest(context, tenant, name, signal, keyed);
  const lines = new LineIngest(ingest, context.limits.lineBytesMax, () => keyed?.release());
  const stop = (): void => lines.stop();
  signal?.addEventListener('abort', stop, { once: true });
  if (signal?.aborted) stop();
  return lines.run(body);
}

class LineIngest {
  private readonly slicer: LineSlicer;
  private readonly changed = new Signal();
  private readonly underway: Underway[] = [];
  private reading: 'open' | 'ended' | 'stopped' = 'open';
  private failure: { error: unknown } | undefined;

  constructor(
    private readonly ingest: BatchIngest,
    lineBytesMax: number,
    private readonly ended: () => void,
  ) {
    this.slicer = new LineSlicer(lineBytesMax);
  }

  async *run(body: AsyncIterable<Uint8Array>): AsyncGenerator<ItemResult[]> {
    void this.read(body);
    try {
      for (;;) {
        this.startSlices();
        const first = this.underway[0];
        if (this.failure) throw this.failure.error;
        if (first?.results) {
          this.underway.shift();
          yield first.results;
        } else if (this.reading === 'ended' && !first) return;
        else if (this.reading === 'stopped') throw abandoned();
        else await this.changed.next();
      }
    } finally {
      this.stop();
    }
  }

  /** Ends `run` and the reader, whatever they wait for. */
  stop(): void {
    this.reading = 'stopped';
    this.changed.send();
    this.ended();
  }

  /** Never rejects; an error ends `run`. */
  private async read(body: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      let turnBytes = 0;
      for await (const chunk of body) {
        this.slicer.add(chunk);
        if ((turnBytes += chunk.length) > TURN_BYTES_MAX) {
          turnBytes = 0;
          await new Promise(setImmediate);
        }
        this.changed.send();
        while (this.slicer.isFull && this.reading === 'open') await this.changed.next();
        if (this.reading === 'stopped') return;
      }
      if (this.reading === 'stopped') return;
      this.slicer.end();
      this.reading = 'ended';
    } catch (error) {
      this.failure = { error };
    }
    this.changed.send();
  }

  private startSlices(): void {
    while (
      this.underway.length < SLICES_UNDERWAY_MAX &&
      this.underway.reduce((sum, { bytes }) => sum + bytes, 0) < UNDERWAY_BYTES_MAX
    ) {
      const slice = this.slicer.take();
      if (!slice) return;
      const entry: Underway = { bytes: bytesOf(slice) };
      this.underway.push(entry);
      void this.resultsOf(slice).then((results) => {
        entry.results = results;
        this.changed.send();
      });
      // Wakes the reader, because the buffer has space again.
      this.changed.send();
    }
  }

  private async resultsOf(slice: Slice): Promise<ItemResult[]> {
    if ('clientError' in slice) {
      this.ingest.number(slice.lines);
      return [{ ok: false, code: slice.clientError.code, error: slice.clientError.message }];
    }
    return this.ingest.ingest(slice.lines, 'joined' in slice ? slice.joined() : slice);
  }
}

function bytesOf(slice: Slice): number {
  if ('clientError' in slice) return 0;
  return 'joined' in slice ? slice.bytesLength : slice.bytes.length;
}
