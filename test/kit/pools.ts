// A batch pool with real workers, requests for it, and a file that keeps one of its parsers busy; and a shard pool with
// real workers whose opening of shards is replaced.
import { after } from 'node:test';
import { createSharedShards } from '../../src/engine/memory/shared-memory.js';
import type { PrepareAnswer, PrepareRequest } from '../../src/extract/messages.js';
import { BatchPool } from '../../src/pool/batch-pool.js';
import { Quarantine } from '../../src/pool/quarantine.js';
import { ShardPool } from '../../src/pool/shard-pool.js';
import { unpackDocument } from '../../src/text/prepared-document.js';
import { pdf } from './extract.js';
import { SILENT } from './log.js';
import { tempDirectory } from './temp.js';

/** What was logged at level error: internal errors. */
export const faults: unknown[] = [];
const log = { ...SILENT, error: (fields: object) => void faults.push(fields) };
export const settings = {
  space: { dim: 4, embedder_type: 'builtin', embed_model: 'm', embedder_config: {}, vector_space_key: 'k' },
  chunking: { strategy: 'none' as const },
  priorityKey: 'p',
  nowMs: 0,
  metadataBytesMax: 65_536,
};

/** Opens a pool with one thread of each kind, which is closed when the test file ends. */
export function open(limits: { timeoutMs?: number; memoryBytesMax?: number }): BatchPool {
  const pool = new BatchPool(1, { timeoutMs: 60_000, memoryBytesMax: 2 ** 29, textBytesMax: 2 ** 28, ...limits }, log);
  after(() => pool.close());
  return pool;
}

export const file = (name: string, bytes: Uint8Array): PrepareRequest => ({
  ...settings,
  body: {
    kind: 'file',
    name,
    type: '',
    docid: '',
    metadata: '',
    csv: { header: 'auto', metaColumns: '', includeColumns: '' },
    bytes,
  },
});
export const json = (text: string): PrepareRequest => ({
  ...settings,
  body: { kind: 'json', bytes: Buffer.from(JSON.stringify({ text })) },
});
export const textOf = (answer: PrepareAnswer): string | undefined => unpackDocument(answer.document).chunks[0]?.text;

/**
 * A PDF that is small on disk and unpacks to endless drawing operators: even on the fastest machine a parser needs
 * minutes to find that they draw nothing.
 */
export const slow = (): Buffer => pdf(new Array<Buffer>(100).fill(Buffer.alloc(40 * 2 ** 20, 'q Q ')));

interface TestPool {
  pool: ShardPool;
  /** How many times a worker was assigned a shard to open. */
  openings: () => number;
  told: string[];
}

/** `opened` and `open` receive the number of openings before this one. */
export function createPool(
  opened: (before: number) => Promise<void>,
  open = async (_: number): Promise<void> => {},
  shards = 1,
): TestPool {
  const told: string[] = [];
  const tell = (_: object, message: string): void => void told.push(message);
  const log = { ...SILENT, error: tell };
  let [openings, before] = [0, 0];
  const pool = new ShardPool({
    shared: createSharedShards(shards, tempDirectory(), { idleSeconds: 0 }),
    quarantine: new Quarantine(() => undefined, log),
    log,
    open: () => open(openings++),
    opened: () => opened(before++),
    tenantOf: () => undefined,
    successorOf: () => undefined,
  });
  return { pool, openings: () => openings, told };
}
