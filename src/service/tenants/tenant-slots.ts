// What active tenants use of their limits, in memory that all front threads share: a slot for each tenant, with its
// token bucket and its requests in progress. Runs on front threads and on the main thread.
//
// The table has sets of 64 slots; the digest of a name chooses the set. A tenant stays in its slot until the slot is
// idle (no request in progress, bucket full) and another tenant of the set finds no free one. If no slot of the set is
// idle either, the other tenant is refused: nobody is unlimited because the table is full.
//
// 1. A slot is free if its mark is even, taken if it is odd, and being looked at by whoever wants it if it is negative.
//    Each tenant in it has another mark.
// 2. Only the holder of a set's lock changes marks and names. Names are written while the mark is even.
// 3. A thread counts its request in a slot first and looks at the mark then; who looks for an idle slot makes the mark
//    negative first and looks at the counts then. So one of the two steps back, and a slot never changes its tenant
//    while a request counts in it.
// 4. A thread may die anywhere. `release` takes back what it has counted, its lock, and its look at a slot.
import { hash } from 'node:crypto';
import { AppError } from '../../api/errors.js';
import { SharedBuckets } from '../../base/shared-buckets.js';
import { StripedCount } from '../../base/striped-count.js';
import type { BucketRate } from '../../base/token-bucket.js';

const SET = 64;
const NAME_WORDS = 4;
/** Tenants whose slots a thread remembers, to find them without digest and search. */
const REMEMBERED_MAX = 8192;
/** A lock is held for microseconds, unless its holder is not given a core or has died. */
const LOCK_WAIT_MS = 1;
const LOCK_WAITS_MAX = 50;

/** The memory of the table. `stripes`: number of threads that use it. */
export interface TenantSlotsMemory {
  readonly stripes: number;
  readonly tenants: SharedArrayBuffer;
}

/** A slot as a tenant has it; the tenant has left it once the slot has another mark. */
interface Place {
  readonly slot: number;
  readonly mark: number;
}

export interface Entered {
  readonly slot: number;
  /** Requests in progress, this one included; undefined if it is one too many. */
  readonly inFlight: number | undefined;
}

/** Tokens that a tenant has taken, and its requests in progress. Its name is a digest in base64. */
export type Used = readonly [name: string, tokens: number, inFlight?: number];

export class TenantSlots {
  private readonly marks: Int32Array;
  private readonly names: Int32Array;
  /** 0, or 1 and the stripe of the holder. */
  private readonly locks: Int32Array;
  /** For each set 1 if a request has entered it since `used` last looked, or was still in progress then; else 0. */
  private readonly entered: Int32Array;
  private readonly inFlight: StripedCount;
  /** For each slot the requests that are in progress on other nodes, and the number of these nodes. */
  private readonly elsewhere: Int32Array;
  private readonly buckets: SharedBuckets;
  private readonly places = new Map<string, Place>();

  constructor(
    { tenants, stripes }: TenantSlotsMemory,
    private readonly stripe: number,
  ) {
    const slots = slotsIn(tenants.byteLength, stripes);
    let from = 0;
    const part = (bytes: number): number => (from += bytes) - bytes;
    const words = (count: number): Int32Array => new Int32Array(tenants, part(4 * count), count);
    this.buckets = new SharedBuckets(tenants, part(SharedBuckets.bytes(slots)), slots);
    this.marks = words(slots);
    this.names = words(NAME_WORDS * slots);
    this.locks = words(slots / SET);
    this.entered = words(slots / SET);
    this.elsewhere = words(2 * slots);
    this.inFlight = new StripedCount(tenants, part(StripedCount.bytes(slots, stripes)), slots, stripes, stripe);
  }

  /** `tenantsMax` is rounded up to whole sets. */
  static memory(tenantsMax: number, stripes: number): SharedArrayBuffer {
    return new SharedArrayBuffer(Math.ceil(tenantsMax / SET) * bytesOfSet(stripes));
  }

  /**
   * Counts a request of a tenant as in progress, if it is one of `inFlightMax` over all nodes as far as that is known.
   * Throws 503 `overloaded` if there is no slot for the tenant.
   */
  enter(tenant: string, inFlightMax: number, rate: BucketRate, nowMs: number): Entered {
    for (;;) {
      const { slot, mark } = this.placeOf(tenant, rate, nowMs);
      const elsewhere = Atomics.load(this.elsewhere, 2 * slot);
      const inFlight = this.inFlight.tryAdd(slot, this.shareOf(slot, inFlightMax, elsewhere));
      this.noteEntered(slot);
      if (Atomics.load(this.marks, slot) === mark)
        return { slot, inFlight: inFlight === undefined ? undefined : inFlight + elsewhere };
      if (inFlight !== undefined) this.leave(slot);
      this.places.delete(tenant);
    }
  }

  /** Once the request counts: whoever takes the note then sees the request, or the tokens that it has taken. */
  private noteEntered(slot: number): void {
    const set = Math.floor(slot / SET);
    if (Atomics.load(this.entered, set) === 0) Atomics.store(this.entered, set, 1);
  }

  leave(slot: number): void {
    this.inFlight.subtract(slot);
  }

  /** Takes a token while a request of the tenant counts, as SharedBuckets does; a bucket without a rate stays full. */
  take(slot: number, rate: BucketRate, nowMs: number): number {
    return rate.perSecond === Infinity ? rate.capacity : this.buckets.take(slot, rate, nowMs);
  }

  /** Takes tokens in any case, into debt, and returns how many are left. */
  spend(slot: number, tokens: number, rate: BucketRate, nowMs: number): number {
    return rate.perSecond === Infinity ? rate.capacity : this.buckets.spend(slot, tokens, rate, nowMs);
  }

  tokens(slot: number, rate: BucketRate, nowMs: number): number {
    return rate.perSecond === Infinity ? rate.capacity : this.buckets.tokens(slot, rate, nowMs);
  }

  /** Requests in progress, on other nodes too. */
  total(slot: number): number {
    return this.inFlight.total(slot) + Atomics.load(this.elsewhere, 2 * slot);
  }

  /** The tokens that have been taken in this memory since the last call, and the requests in progress. */
  *used(): Generator<Used> {
    for (let set = 0; set < this.entered.length; set++)
      if (Atomics.load(this.entered, set) !== 0 && Atomics.exchange(this.entered, set, 0) !== 0)
        yield* this.usedIn(set);
  }

  private *usedIn(set: number): Generator<Used> {
    for (let slot = set * SET; slot < (set + 1) * SET; slot++) {
      // In this order: a request that does not count any more has taken its tokens.
      const inFlight = isTaken(Atomics.load(this.marks, slot)) ? this.inFlight.total(slot) : 0;
      const tokens = this.buckets.takenFrom(slot);
      if (inFlight > 0) Atomics.store(this.entered, set, 1);
      if (tokens === 0 && inFlight === 0) continue;
      const name = Int32Array.from({ length: NAME_WORDS }, (_, i) => Atomics.load(this.names, NAME_WORDS * slot + i));
      yield [Buffer.from(name.buffer).toString('base64'), tokens, inFlight];
    }
  }

  /** Takes tokens that have been taken elsewhere. A tenant without a slot has a full bucket, and keeps that. */
  charge(name: string, tokens: number, nowMs: number): void {
    const slot = this.slotNamed(name);
    if (slot !== undefined) this.buckets.charge(slot, tokens, nowMs);
  }

  /** Sets how many requests of a tenant are in progress on how many other nodes, if it has a slot. */
  setElsewhere(name: string, inFlight: number, nodes: number): void {
    const slot = this.slotNamed(name);
    if (slot === undefined) return;
    Atomics.store(this.elsewhere, 2 * slot + 1, nodes);
    Atomics.store(this.elsewhere, 2 * slot, inFlight);
  }

  /** Takes back all that the thread of this stripe has left behind. Call it once that thread has ended. */
  release(): void {
    for (let slot = 0; slot < this.marks.length; slot++)
      if (Atomics.load(this.marks, slot) !== 0) this.inFlight.set(slot, 0);
    for (let set = 0; set < this.locks.length; set++) {
      if (Atomics.load(this.locks, set) !== this.stripe + 1) continue;
      for (let slot = set * SET; slot < (set + 1) * SET; slot++)
        Atomics.store(this.marks, slot, Math.abs(Atomics.load(this.marks, slot)));
      this.unlock(set);
    }
  }

  /**
   * How many of `max` requests may be in progress here: what other nodes leave, but at least an equal share, so that
   * nodes which have admitted too many before they heard of each other do not refuse all.
   */
  private shareOf(slot: number, max: number, elsewhere: number): number {
    const nodes = Atomics.load(this.elsewhere, 2 * slot + 1);
    return Math.max(Math.ceil(max / (nodes + 1)), max - elsewhere);
  }

  private slotNamed(name: string): number | undefined {
    const bytes = Uint8Array.from(Buffer.from(name, 'base64'));
    if (bytes.length !== NAME_WORDS * Int32Array.BYTES_PER_ELEMENT) return undefined;
    const words = new Int32Array(bytes.buffer);
    return this.find(this.setOf(words), words)?.slot;
  }

  private placeOf(tenant: string, rate: BucketRate, nowMs: number): Place {
    const remembered = this.places.get(tenant);
    if (remembered) return remembered;
    const digest = hash('sha256', tenant, 'buffer');
    const name = new Int32Array(Uint8Array.from(digest).buffer, 0, NAME_WORDS);
    const set = this.setOf(name);
    const place =
      this.find(set, name) ?? this.locked(set, () => this.find(set, name) ?? this.add(set, name, rate, nowMs));
    if (this.places.size >= REMEMBERED_MAX) this.places.clear();
    this.places.set(tenant, place);
    return place;
  }

  private readonly setOf = (name: Int32Array): number => ((name[0] as number) >>> 0) % this.locks.length;

  private find(set: number, name: Int32Array): Place | undefined {
    for (let slot = set * SET; slot < (set + 1) * SET; slot++) {
      const mark = Atomics.load(this.marks, slot);
      if (!isTaken(mark) || !name.every((word, i) => Atomics.load(this.names, NAME_WORDS * slot + i) === word))
        continue;
      if (Atomics.load(this.marks, slot) === mark) return { slot, mark };
    }
    return undefined;
  }

  /** Gives the tenant a free slot or an idle one. Only with the lock. */
  private add(set: number, name: Int32Array, rate: BucketRate, nowMs: number): Place {
    const slot = this.freeIn(set, nowMs);
    if (slot === undefined) throw new AppError('overloaded', 'Too many tenants are active.', { retryAfterS: 1 });
    for (const [i, word] of name.entries()) Atomics.store(this.names, NAME_WORDS * slot + i, word);
    this.buckets.fill(slot, rate, nowMs);
    for (const word of [0, 1]) Atomics.store(this.elsewhere, 2 * slot + word, 0);
    const mark = following(Atomics.load(this.marks, slot));
    Atomics.store(this.marks, slot, mark);
    return { slot, mark };
  }

  private freeIn(set: number, nowMs: number): number | undefined {
    const slots = Array.from({ length: SET }, (_, i) => set * SET + i);
    return (
      slots.find((slot) => !isTaken(Atomics.load(this.marks, slot))) ??
      slots.find((slot) => this.freeIfIdle(slot, nowMs))
    );
  }

  /** Frees a slot if it is idle. */
  private freeIfIdle(slot: number, nowMs: number): boolean {
    const mark = Atomics.load(this.marks, slot);
    Atomics.store(this.marks, slot, -mark);
    const isIdle = this.inFlight.total(slot) === 0 && this.buckets.isFull(slot, nowMs);
    Atomics.store(this.marks, slot, isIdle ? following(mark) : mark);
    return isIdle;
  }

  private locked<T>(set: number, work: () => T): T {
    for (let waited = 0; ; waited++) {
      const holder = Atomics.compareExchange(this.locks, set, 0, this.stripe + 1);
      if (holder === 0) break;
      if (waited === LOCK_WAITS_MAX) throw new AppError('overloaded');
      Atomics.wait(this.locks, set, holder, LOCK_WAIT_MS);
    }
    try {
      return work();
    } finally {
      this.unlock(set);
    }
  }

  private unlock(set: number): void {
    Atomics.store(this.locks, set, 0);
    Atomics.notify(this.locks, set);
  }
}

const bytesOfSet = (stripes: number): number =>
  SharedBuckets.bytes(SET) + 4 * (SET + NAME_WORDS * SET + 2 * SET + 2) + StripedCount.bytes(SET, stripes);
const slotsIn = (bytes: number, stripes: number): number => (SET * bytes) / bytesOfSet(stripes);

const isTaken = (mark: number): boolean => mark % 2 === 1;
const following = (mark: number): number => (mark + 1) & 0x7fffffff;
