// Reads the journal that the fault layer keeps (`struct record` of shim.c): every change to a directory, in order.
// Used by power-cut.ts, once the process is dead.
import { closeSync, existsSync, openSync, readSync } from 'node:fs';

const MAGIC = 0x4c4e524a;
const HEAD_BYTES = 32;
const BLOCK_BYTES = 4 << 20;
const OPS = ['create', 'open', 'write', 'sync', 'truncate', 'rename', 'unlink', 'mkdir', 'rmdir'] as const;
const DURABLE = 1;
const FAILED = 2;

export interface JournalRecord {
  op: (typeof OPS)[number];
  /** Of the file that is changed. */
  ino: bigint;
  /** Of a write: where; of a truncation: to how many bytes. */
  offset: number;
  path: string;
  /** What a rename leads to. */
  path2: string;
  data: Buffer;
  /** A write that is on the disk when it returns. */
  isDurable: boolean;
  /** A sync that was told to have failed. */
  hasFailed: boolean;
}

/**
 * The process may have been killed while it wrote the last record: half of one is none. Or before it began to write.
 */
export function* readJournal(path: string): Generator<JournalRecord> {
  if (!existsSync(path)) return;
  const handle = openSync(path, 'r');
  try {
    let held: Buffer = Buffer.alloc(0);
    for (;;) {
      const block = Buffer.alloc(BLOCK_BYTES);
      const read = readSync(handle, block, 0, BLOCK_BYTES, null);
      if (read === 0) return;
      held = Buffer.concat([held, block.subarray(0, read)]);
      let at = 0;
      for (let end = endOf(held, at); end !== undefined; at = end, end = endOf(held, at))
        yield parse(held.subarray(at, end));
      held = held.subarray(at);
    }
  } finally {
    closeSync(handle);
  }
}

/** Of the record at `at`; undefined where it is not whole. */
function endOf(bytes: Buffer, at: number): number | undefined {
  if (bytes.length - at < HEAD_BYTES) return undefined;
  if (bytes.readUInt32LE(at) !== MAGIC) throw new Error('The journal of the fault layer makes no sense');
  const end = at + HEAD_BYTES + bytes.readUInt16LE(at + 6) + bytes.readUInt16LE(at + 8) + bytes.readUInt32LE(at + 12);
  return end <= bytes.length ? end : undefined;
}

function parse(bytes: Buffer): JournalRecord {
  const flags = bytes.readUInt8(5);
  const pathEnd = HEAD_BYTES + bytes.readUInt16LE(6);
  const path2End = pathEnd + bytes.readUInt16LE(8);
  return {
    op: OPS[bytes.readUInt8(4) - 1] as JournalRecord['op'],
    ino: bytes.readBigUInt64LE(16),
    offset: Number(bytes.readBigUInt64LE(24)),
    path: bytes.toString('utf8', HEAD_BYTES, pathEnd),
    path2: bytes.toString('utf8', pathEnd, path2End),
    data: bytes.subarray(path2End),
    isDurable: (flags & DURABLE) !== 0,
    hasFailed: (flags & FAILED) !== 0,
  };
}
