// Simulates a power cut: reconstructs a directory from its earlier state and the journal of the fault layer. Synced
// data is present; of the rest, contents and names, anything may be missing. Follows the strictest reading of POSIX: a
// name is durable only once its directory is synced.
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  readdirSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import type { Prng } from '../../src/base/prng.js';

const PAGE_BYTES = 4096;
const SECTOR_BYTES = 512;

/** What survives of unsynced data: none, all, random whole writes, random pages, or random sectors. */
type CutMode = 'none' | 'all' | 'writes' | 'pages' | 'sectors';

/** The part of a write within one page. */
interface Piece {
  write: number;
  at: number;
  data: Buffer;
}

/**
 * A file on a disk that may lose power: synced data is durable, and of each later write any piece may survive, torn at
 * sectors.
 */
export class DiskFile {
  /** Unsynced pieces by page, in order of writing. */
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

  /** Like O_DSYNC: the pages concerned become durable, including earlier unsynced writes to them. */
  writeDurably(at: number, data: Buffer): void {
    this.write(at, data);
    for (let page = Math.floor(at / PAGE_BYTES); page * PAGE_BYTES < at + data.length; page++) this.settlePage(page);
  }

  sync(): void {
    for (const page of [...this.pending.keys()].sort((a, b) => a - b)) this.settlePage(page);
  }

  /** Models a failed sync, after which a kernel considers the pages clean and does not write them again. */
  forget(): void {
    this.pending.clear();
  }

  /** The new length is durable at once, which is the worst case if the content that replaces the old one is not. */
  truncate(bytes: number): void {
    this.durable = bytes <= this.durable.length ? this.durable.subarray(0, bytes) : grown(this.durable, bytes);
    for (const page of this.pending.keys()) if (page * PAGE_BYTES >= bytes) this.pending.delete(page);
  }

  get hasPending(): boolean {
    return this.pending.size > 0;
  }

  /** The content after the cut. */
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

/** Allocates spare space, so that a file that grows by pages is not copied for each. */
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

// Reads the journal of the fault layer (`struct record` of shim.c): every change to a directory, in order.

const MAGIC = 0x4c4e524a;
const HEAD_BYTES = 32;
const BLOCK_BYTES = 4 << 20;
const OPS = ['create', 'open', 'write', 'sync', 'truncate', 'rename', 'unlink', 'mkdir', 'rmdir'] as const;
const DURABLE = 1;
const FAILED = 2;

interface JournalRecord {
  op: (typeof OPS)[number];
  /** Inode of the changed file. */
  ino: bigint;
  /** Offset of a write; new length of a truncation. */
  offset: number;
  path: string;
  /** Target of a rename. */
  path2: string;
  data: Buffer;
  /** Whether the write is durable when it returns. */
  isDurable: boolean;
  /** Whether the sync was reported as failed. */
  hasFailed: boolean;
}

/**
 * Reads the records. An incomplete last record is ignored, since the process may have been killed while it wrote it.
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

/** End of the record at `at`; undefined if the record is incomplete. */
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

type Node = DiskFile | Folder;

class Folder {
  readonly durable = new Map<string, Node>();
  readonly present = new Map<string, Node>();
  /** Changes of names since the last sync; null removes a name. */
  pending: [string, Node | null][] = [];

  set(name: string, node: Node | null): void {
    this.pending.push([name, node]);
    place(this.present, name, node);
  }

  sync(): void {
    for (const [name, node] of this.pending) place(this.durable, name, node);
    this.pending = [];
  }
}

function place(names: Map<string, Node>, name: string, node: Node | null): void {
  if (node) names.set(name, node);
  else names.delete(name);
}

/** Summary of a cut, for the report. */
interface Cut {
  mode: CutMode;
  /** Files with unsynced writes. */
  unsyncedFiles: number;
}

export class Disk {
  private readonly root: Folder;
  private readonly byIno = new Map<bigint, Node>();

  /** Starts from the content of `from`, which counts as synced. `path` is its path in the journal. */
  constructor(
    from: string,
    private readonly path = from,
  ) {
    this.root = load(from);
  }

  /** Applies a journal. `isHeeded` selects the records that the disk has received. */
  replay(journal: string, isHeeded: (record: JournalRecord) => boolean = () => true): void {
    for (const record of readJournal(journal)) if (isHeeded(record)) this.apply(record);
  }

  /** Writes the state after the cut to an empty directory. */
  cutTo(directory: string, prng: Prng): Cut {
    const mode = (['none', 'all', 'writes', 'pages', 'sectors'] as const)[prng.int(5)] as CutMode;
    const cut: Cut = { mode, unsyncedFiles: 0 };
    save(this.root, directory, prng, cut);
    return cut;
  }

  private apply(record: JournalRecord): void {
    const node = this.byIno.get(record.ino);
    switch (record.op) {
      case 'create':
        return this.enter(record, new DiskFile());
      case 'open':
        return void this.byIno.set(record.ino, this.find(record.path));
      case 'mkdir':
        return this.name(record.path, new Folder());
      case 'rmdir':
      case 'unlink':
        return this.name(record.path, null);
      case 'rename':
        return this.rename(record.path, record.path2);
      case 'sync':
        return record.hasFailed ? (node as DiskFile).forget() : node?.sync();
      case 'truncate':
        return (node as DiskFile).truncate(record.offset);
      case 'write':
        return (node as DiskFile)[record.isDurable ? 'writeDurably' : 'write'](record.offset, record.data);
    }
  }

  private enter({ path, ino }: JournalRecord, node: Node): void {
    this.byIno.set(ino, node);
    this.name(path, node);
  }

  private name(path: string, node: Node | null): void {
    (this.find(dirname(path)) as Folder).set(basename(path), node);
  }

  private rename(from: string, to: string): void {
    const node = this.find(from);
    this.name(from, null);
    this.name(to, node);
  }

  private find(path: string): Node {
    let node: Node = this.root;
    for (const name of relative(this.path, path)
      .split(sep)
      .filter((part) => part !== '')) {
      const next: Node | undefined = (node as Folder).present.get(name);
      if (!next) throw new Error(`The journal tells of ${path}, which is not there`);
      node = next;
    }
    return node;
  }
}

function load(path: string): Folder {
  const folder = new Folder();
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const node = entry.isDirectory()
      ? load(join(path, entry.name))
      : new DiskFile(readFileSync(join(path, entry.name)));
    folder.set(entry.name, node);
  }
  folder.sync();
  return folder;
}

function save(folder: Folder, directory: string, prng: Prng, cut: Cut): void {
  mkdirSync(directory, { recursive: true });
  const names = new Map(folder.durable);
  for (const [name, node] of folder.pending)
    if (cut.mode === 'all' || (cut.mode !== 'none' && prng.int(2) === 0)) place(names, name, node);
  for (const [name, node] of names) {
    if (node instanceof Folder) {
      save(node, join(directory, name), prng, cut);
    } else {
      if (node.hasPending) cut.unsyncedFiles++;
      writeFileSync(join(directory, name), node.cut(prng, cut.mode));
    }
  }
}
