// Reads in the environment of a shard that another thread owns: for the search workers, each on its own thread. The
// owner opens and closes it; between the two it keeps the shard's memory open to readers, and these read here within
// that time only (Kernel.read).
import { Environment } from './lmdb.js';
import { SHARD_TABLES, ShardTxn } from './shard-txn.js';

/** All that was committed before it was taken. It is ended once, by whoever took it. */
export interface Snapshot {
  readonly txn: ShardTxn;
  readonly end: () => void;
}

export class ShardReader {
  private env: Environment<(typeof SHARD_TABLES)[number]> | undefined;
  private incarnation = 0;

  constructor(private readonly directory: string) {}

  /**
   * `incarnation` names the owner who has the environment open now. The handle of an earlier one is left as it is: what
   * it led to was closed by the owner that came next.
   */
  snapshot(incarnation: number): Snapshot {
    if (!this.env || incarnation !== this.incarnation) {
      this.env = Environment.attach(this.directory, SHARD_TABLES);
      this.incarnation = incarnation;
    }
    const { tables, end } = this.env.snapshot();
    return { txn: new ShardTxn(tables), end };
  }
}
