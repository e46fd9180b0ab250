// A file on a disk whose power may go: what was synced is there, and of each write since then any piece may be, torn at
// sectors. Pure. Used by power-cut.ts.
import type { Prng } from '../../../src/base/prng.js';

const PAGE_BYTES = 4096;
const SECTOR_BYTES = 512;

/**
 * What becomes of what was not synced: nothing of it is there, all, whole writes by chance, pages by chance, sectors by
 * chance.
 */
export type CutMode = 'none' | 'all' | 'writes' | 'pages' | 'sectors';

/** A part of a write, within a page. */
interface Piece {
  write: number;
  at: number;
  data: Buffer;
}

export class DiskFile {
  /** By page, in the order in which they were written. */
  private readonly pending = new Map<number, Piece[]>();
  private writes = 0;

  constructor(private durable: Buffer = Buffer.alloc(0)) {}

  write(at: number, data: Buffer): void {
    this.writes++;
    for (const piece of split(at, data, PAGE_BYTES)) {
      const page = Math.floor(piece.at / PAGE_BYTES);
      const pieces = this.pending.get(page) ?? [];
      pieces.push({ ...piece, data: Buffer.from(piece.data), write: this.writes });
      this.pending.set(page, pieces);
    }
  }

  /** As O_DSYNC does: the pages concerned go to the disk with what was in them before. */
  writeDurably(at: number, data: Buffer): void {
    this.write(at, data);
    for (let page = Math.floor(at / PAGE_BYTES); page * PAGE_BYTES < at + data.length; page++) this.settlePage(page);
  }

  sync(): void {
    for (const page of [...this.pending.keys()].sort((a, b) => a - b)) this.settlePage(page);
  }

  /** After a sync that failed, a kernel takes the pages for clean: they are not written any more. */
  forget(): void {
    this.pending.clear();
  }

  /** The new length is on the disk at once: the worst, where what comes in place of the old content is not. */
  truncate(bytes: number): void {
    this.durable = bytes <= this.durable.length ? this.durable.subarray(0, bytes) : grown(this.durable, bytes);
    for (const page of this.pending.keys()) if (page * PAGE_BYTES >= bytes) this.pending.delete(page);
  }

  get hasPending(): boolean {
    return this.pending.size > 0;
  }

  /** What is found after the cut. */
  cut(prng: Prng, mode: CutMode): Buffer {
    if (mode === 'none' || this.pending.size === 0) return this.durable;
    const survives = new Map<number, boolean>();
    const found = new DiskFile(Buffer.from(this.durable));
    for (const pieces of this.pending.values()) {
      for (const piece of pieces) {
        const ofWrite = survives.get(piece.write) ?? prng.int(2) === 0;
        survives.set(piece.write, ofWrite);
        for (const part of split(piece.at, piece.data, mode === 'sectors' ? SECTOR_BYTES : PAGE_BYTES)) {
          if (mode === 'all' || (mode === 'writes' ? ofWrite : prng.int(2) === 0)) found.put(part.at, part.data);
        }
      }
    }
    return found.durable;
  }

  private settlePage(page: number): void {
    for (const { at, data } of this.pending.get(page) ?? []) this.put(at, data);
    this.pending.delete(page);
  }

  private put(at: number, data: Buffer): void {
    if (at + data.length > this.durable.length) this.durable = grown(this.durable, at + data.length);
    data.copy(this.durable, at);
  }
}

function* split(at: number, data: Buffer, unit: number): Generator<{ at: number; data: Buffer }> {
  for (let from = 0; from < data.length; ) {
    const to = Math.min(data.length, from + unit - ((at + from) % unit));
    yield { at: at + from, data: data.subarray(from, to) };
    from = to;
  }
}

/** With room behind it, so that a file that grows by pages is not copied for each. */
function grown(bytes: Buffer, length: number): Buffer {
  const whole = new Uint8Array(bytes.buffer, bytes.byteOffset);
  const isSpare = spare.get(bytes.buffer as ArrayBuffer) === true && whole.length >= length;
  if (isSpare) return Buffer.from(bytes.buffer, bytes.byteOffset, length);
  const roomy = Buffer.from(new ArrayBuffer(Math.max(PAGE_BYTES, length * 2)));
  spare.set(roomy.buffer as ArrayBuffer, true);
  bytes.copy(roomy);
  return roomy.subarray(0, length);
}

const spare = new WeakMap<ArrayBuffer, boolean>();
