// A pool of one shard with real workers; what opening the shard asks of them is replaced.
import { Quarantine } from '../../../src/pool/quarantine.js';
import { ShardPool } from '../../../src/pool/shard-pool.js';
import { createSharedShards } from '../../../src/pool/shared-shards.js';
import { tempDirectory } from '../temp.js';

interface TestPool {
  pool: ShardPool;
  /** How often a worker was found that the shard is to be opened by. */
  openings: () => number;
  told: string[];
}

/** One shard. What opens it, and what follows, are given how often that has been before. */
export function createPool(
  opened: (before: number) => Promise<void>,
  open = async (_: number): Promise<void> => {},
): TestPool {
  const told: string[] = [];
  const tell = (_: object, message: string): void => void told.push(message);
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: tell };
  let [openings, before] = [0, 0];
  const pool = new ShardPool({
    shared: createSharedShards(1, tempDirectory(), { idleSeconds: 0 }),
    quarantine: new Quarantine(() => undefined, log),
    log,
    open: () => open(openings++),
    opened: () => opened(before++),
    tenantOf: () => undefined,
  });
  return { pool, openings: () => openings, told };
}
