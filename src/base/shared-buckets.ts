// Token buckets in shared memory, from which several threads take. The caller passes the time, in milliseconds of a
// clock that all threads share. Any thread.
//
// A bucket is one number, changed by compare-and-exchange: the time at which it will be full. This is the generic cell
// rate algorithm (ITU-T I.371, "virtual scheduling"). Beside it stands the rate at which it fills. A thread that comes
// with another rate sets that, and the tokens stay. Another thread that comes just then can count with the wrong one of
// the two rates, which makes at most one full bucket too many or too few. What takes has a finite rate.
import type { BucketRate } from './token-bucket.js';

const BYTES = 3 * Float64Array.BYTES_PER_ELEMENT + Int32Array.BYTES_PER_ELEMENT;
/** Stands for a rate of 0: a token in 31 years. */
const SLOWEST_PER_SECOND = 1e-9;
/** Sums of times are not exact: so near to a whole number of tokens it is meant. */
const NEAR = 1e-6;

export class SharedBuckets {
  /** The time at which each bucket is full, as the bits of a float64. */
  private readonly fullAt: BigInt64Array;
  /** Tokens per second and capacity of each bucket. */
  private readonly rates: Float64Array;
  /** Tokens taken from each bucket since `takenFrom` was last called. */
  private readonly taken: Int32Array;
  private readonly number = new Float64Array(1);
  private readonly bits = new BigInt64Array(this.number.buffer);

  constructor(memory: SharedArrayBuffer, from: number, buckets: number) {
    this.fullAt = new BigInt64Array(memory, from, buckets);
    this.rates = new Float64Array(memory, from + buckets * BigInt64Array.BYTES_PER_ELEMENT, 2 * buckets);
    this.taken = new Int32Array(memory, from + 3 * buckets * Float64Array.BYTES_PER_ELEMENT, buckets);
  }

  static bytes(buckets: number): number {
    return buckets * BYTES;
  }

  /** Makes a full bucket. No other thread may use it meanwhile. */
  fill(bucket: number, rate: BucketRate, nowMs: number): void {
    this.setRate(bucket, rate);
    Atomics.store(this.fullAt, bucket, this.bitsOf(nowMs));
  }

  isFull(bucket: number, nowMs: number): boolean {
    return this.timeOf(Atomics.load(this.fullAt, bucket)) <= nowMs;
  }

  /** The tokens in the bucket, with fractions. */
  tokens(bucket: number, rate: BucketRate, nowMs: number): number {
    this.adapt(bucket, rate, nowMs);
    return tokensAt(rate, nowMs, this.timeOf(Atomics.load(this.fullAt, bucket)));
  }

  /** Takes a token and returns how many there were; if that is less than one, nothing was taken. */
  take(bucket: number, rate: BucketRate, nowMs: number): number {
    this.adapt(bucket, rate, nowMs);
    for (;;) {
      const before = Atomics.load(this.fullAt, bucket);
      const fullAtMs = this.timeOf(before);
      const tokens = tokensAt(rate, nowMs, fullAtMs);
      if (tokens < 1) return tokens;
      if (!this.move(bucket, before, Math.max(fullAtMs, nowMs) + msPerToken(rate))) continue;
      Atomics.add(this.taken, bucket, 1);
      return tokens;
    }
  }

  /** Takes whole tokens in any case, into debt, and returns how many are left. */
  spend(bucket: number, tokens: number, rate: BucketRate, nowMs: number): number {
    this.adapt(bucket, rate, nowMs);
    Atomics.add(this.taken, bucket, tokens);
    for (;;) {
      const before = Atomics.load(this.fullAt, bucket);
      const fullAtMs = this.timeOf(before);
      if (this.move(bucket, before, Math.max(fullAtMs, nowMs) + tokens * msPerToken(rate)))
        return tokensAt(rate, nowMs, fullAtMs) - tokens;
    }
  }

  /** How many tokens have been taken since the last call. */
  takenFrom(bucket: number): number {
    return Atomics.load(this.taken, bucket) === 0 ? 0 : Atomics.exchange(this.taken, bucket, 0);
  }

  /**
   * Takes tokens for what others than the threads of this memory have used, so `takenFrom` does not count them. It makes
   * no debt of more than a full bucket.
   */
  charge(bucket: number, tokens: number, nowMs: number): void {
    const rate = { perSecond: this.rates[2 * bucket] as number, capacity: this.rates[2 * bucket + 1] as number };
    if (rate.perSecond === Infinity || !(tokens > 0)) return;
    for (;;) {
      const before = Atomics.load(this.fullAt, bucket);
      const fullAtMs = this.timeOf(before);
      const wanted = Math.max(fullAtMs, nowMs) + tokens * msPerToken(rate);
      const most = Math.max(fullAtMs, nowMs + 2 * rate.capacity * msPerToken(rate));
      if (this.move(bucket, before, Math.min(wanted, most))) return;
    }
  }

  /** Sets another rate, with the tokens that the bucket has. */
  private adapt(bucket: number, rate: BucketRate, nowMs: number): void {
    for (;;) {
      const [perSecond, capacity] = [this.rates[2 * bucket] as number, this.rates[2 * bucket + 1] as number];
      if (perSecond === rate.perSecond && capacity === rate.capacity) return;
      const before = Atomics.load(this.fullAt, bucket);
      const tokens = Math.min(rate.capacity, tokensAt({ perSecond, capacity }, nowMs, this.timeOf(before)));
      if (this.move(bucket, before, nowMs + (rate.capacity - tokens) * msPerToken(rate))) this.setRate(bucket, rate);
    }
  }

  /** Returns false, and changes nothing, if another thread was here since `before` was read. */
  private move(bucket: number, before: bigint, fullAtMs: number): boolean {
    return Atomics.compareExchange(this.fullAt, bucket, before, this.bitsOf(fullAtMs)) === before;
  }

  private setRate(bucket: number, { perSecond, capacity }: BucketRate): void {
    this.rates[2 * bucket] = perSecond;
    this.rates[2 * bucket + 1] = capacity;
  }

  private bitsOf(time: number): bigint {
    this.number[0] = time;
    return this.bits[0] as bigint;
  }

  private timeOf(bits: bigint): number {
    this.bits[0] = bits;
    return this.number[0] as number;
  }
}

const msPerToken = ({ perSecond }: BucketRate): number => 1000 / Math.max(SLOWEST_PER_SECOND, perSecond);

function tokensAt(rate: BucketRate, nowMs: number, fullAtMs: number): number {
  if (rate.perSecond === Infinity) return rate.capacity;
  const tokens = rate.capacity - Math.max(0, fullAtMs - nowMs) / msPerToken(rate);
  const whole = Math.round(tokens);
  return Math.abs(tokens - whole) < NEAR ? whole : tokens;
}
