// Whether a document id has been seen before, for millions of them in little memory: 64 bits of a digest of each, in an
// open hash table that grows. Two ids of ten million would be taken for one by chance in one archive of 400,000.
// Archive process only; used by verify.ts.
import { createHash } from 'node:crypto';

const CAPACITY_MIN = 1024;
const NOTHING = 0n;

export class DocidSet {
  private table: BigUint64Array;
  private count = 0;

  /** `expected`: ids that it makes room for; more are taken. */
  constructor(expected: number) {
    this.table = new BigUint64Array(
      CAPACITY_MIN << Math.max(0, Math.min(16, Math.ceil(Math.log2(Math.max(1, expected) / CAPACITY_MIN)) + 1)),
    );
  }

  /** False where it is in already. */
  add(docid: string): boolean {
    if (this.count * 2 > this.table.length) this.grow();
    const digest = createHash('sha256').update(docid).digest().readBigUInt64LE(0) || 1n;
    const place = placeOf(this.table, digest);
    if (this.table[place] === digest) return false;
    this.table[place] = digest;
    this.count++;
    return true;
  }

  private grow(): void {
    const grown = new BigUint64Array(this.table.length * 2);
    for (const digest of this.table) if (digest !== NOTHING) grown[placeOf(grown, digest)] = digest;
    this.table = grown;
  }
}

/** Where the digest is, or the free place where it goes. */
function placeOf(table: BigUint64Array, digest: bigint): number {
  let place = Number(digest & BigInt(table.length - 1));
  while (table[place] !== NOTHING && table[place] !== digest) place = (place + 1) % table.length;
  return place;
}
