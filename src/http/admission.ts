// Admission control: how many requests and how many body bytes the server holds at a time. Above a bound, and while the
// server drains, a request fails at once instead of joining a queue that only grows. One `Admission` per front thread,
// shared by all its exchanges; they count together in shared memory. Runs on front threads and on the main thread.
import { AppError } from '../api/errors.js';
import { StripedCount } from '../base/striped-count.js';

// Reusable blocks into which large body pieces are copied as they come off the socket. uWebSockets.js keeps reading
// without yielding to the event loop for as long as a client fills its buffer, so the work per piece must be short. The
// first touch of new memory is most of the cost of a copy (five times the rest, measured), which reuse avoids. One pool
// per server. Runs on front threads and on the main thread.

/** The largest piece that uWebSockets.js delivers in one callback. */
const BLOCK_BYTES = 512 * 1024;
/** Blocks kept for reuse: 8 MiB together. */
const FREE_MAX = 16;

export class ReceiveBlocks {
  private readonly free: Uint8Array[] = [];

  /**
   * Copies `bytes` into a block. The caller owns the block until `giveBack`; a block that is never given back is
   * garbage collected.
   */
  copyOf(bytes: Uint8Array): Uint8Array {
    const isLarger = bytes.length > BLOCK_BYTES;
    const block = (isLarger ? undefined : this.free.pop()) ?? new Uint8Array(Math.max(bytes.length, BLOCK_BYTES));
    block.set(bytes);
    return block.subarray(0, bytes.length);
  }

  /** Returns a copy made by `copyOf` to the pool. The caller must not read it afterwards. */
  giveBack(copy: Uint8Array): void {
    if (this.free.length < FREE_MAX && copy.buffer.byteLength === BLOCK_BYTES)
      this.free.push(new Uint8Array(copy.buffer));
  }
}

/** The budget of body bytes that all requests share. */
export type BodyMemory = Pick<Admission, 'hold' | 'giveBack' | 'blocks'>;

/** The memory of an admission. `stripes`: number of threads that use it. */
export interface AdmissionMemory {
  readonly stripes: number;
  readonly admission: SharedArrayBuffer;
}

/** The first word of the memory says whether the server stops; the counts follow. */
const STATE = 0;
const STATES = { open: 0, stopping: 1, closed: 2 } as const;
const COUNTS = { inFlight: 0, heldKib: 1 } as const;
const COUNTS_FROM = 8;
const KIB = 1024;

export class Admission {
  private readonly state: Int32Array;
  private readonly counts: StripedCount;
  /** Bytes that this thread holds. Other threads see them in whole KiB. */
  private ownBytes = 0;
  /** Blocks that hold large body pieces until a reader takes them. */
  readonly blocks = new ReceiveBlocks();

  /** `stripe`: the index of this thread. */
  constructor(
    { admission, stripes }: AdmissionMemory,
    stripe: number,
    private readonly max: { readonly inFlightMax: number; readonly heldBytesMax: number },
  ) {
    this.state = new Int32Array(admission, 0, 1);
    this.counts = countsIn({ admission, stripes }, stripe);
  }

  static memory(stripes: number): SharedArrayBuffer {
    return new SharedArrayBuffer(COUNTS_FROM + StripedCount.bytes(2, stripes));
  }

  /** Takes back what the thread of this stripe has left behind. Call it once that thread has ended. */
  static release(memory: AdmissionMemory, stripe: number): void {
    const counts = countsIn(memory, stripe);
    for (const count of Object.values(COUNTS)) counts.set(count, 0);
  }

  get isClosed(): boolean {
    return Atomics.load(this.state, STATE) === STATES.closed;
  }

  /** Whether connections are closed after their next reply. */
  get isStopping(): boolean {
    return Atomics.load(this.state, STATE) !== STATES.open;
  }

  /** The body bytes that all threads hold. */
  get bytesHeld(): number {
    const othersKib = this.counts.total(COUNTS.heldKib) - this.counts.get(COUNTS.heldKib);
    return this.ownBytes + othersKib * KIB;
  }

  /** Requests are served, but each connection is closed after its next reply, on all threads. */
  stopSoon(): void {
    Atomics.compareExchange(this.state, STATE, STATES.open, STATES.stopping);
  }

  /** Refuses every new request from now on, on all threads. */
  close(): void {
    Atomics.store(this.state, STATE, STATES.closed);
  }

  /** Throws 503 `shutting_down` once closed. */
  checkOpen(): void {
    if (this.isClosed) throw new AppError('shutting_down');
  }

  /** Counts a request as in flight, or throws 503 `overloaded`. Each successful call is paired with one `leave`. */
  enter(): void {
    if (this.counts.tryAdd(COUNTS.inFlight, this.max.inFlightMax) === undefined) throw overloaded();
  }

  leave(): void {
    this.counts.subtract(COUNTS.inFlight);
  }

  /** Counts body bytes as held until `giveBack`. Returns false, and counts nothing, if they exceed the budget. */
  hold(bytes: number): boolean {
    this.setOwn(this.ownBytes + bytes);
    const fits = this.bytesHeld <= this.max.heldBytesMax;
    if (!fits) this.setOwn(this.ownBytes - bytes);
    return fits;
  }

  giveBack(bytes: number): void {
    this.setOwn(this.ownBytes - bytes);
  }

  private setOwn(bytes: number): void {
    this.ownBytes = bytes;
    this.counts.set(COUNTS.heldKib, Math.ceil(bytes / KIB));
  }
}

const countsIn = ({ admission, stripes }: AdmissionMemory, stripe: number): StripedCount =>
  new StripedCount(admission, COUNTS_FROM, Object.keys(COUNTS).length, stripes, stripe);

export function overloaded(message?: string): AppError {
  return new AppError('overloaded', message);
}
