// Reads LMDB's file without the library, which trusts what it reads and may crash on a damaged page. Pages of the trees
// are read one by one, and every page number, length and offset is checked before it is followed. The result is every
// readable entry, and a report of damage: malformed pages, keys out of order, pages used twice, missing entries. The
// layout is that of LMDB 0.9.70 on 64-bit little-endian machines (struct MDB_meta, MDB_page, MDB_node of mdb.c). Only
// coverPages writes. Use it on a directory that no server has open.
import { closeSync, existsSync, fstatSync, openSync, readSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';

const PAGE_HEAD_BYTES = 16;
const META_BYTES = 136;
const MAGIC = 0xbeefc0de;
const VERSIONS = [1, 999];
const NO_PAGE = 0xffffffffffffffffn;

/** A B-tree of pages: a table, or the list of free pages. */
interface Tree {
  depth: number;
  entries: number;
  /** undefined for an empty tree. */
  root: number | undefined;
}

interface Meta {
  pageBytes: number;
  txn: bigint;
  lastPage: number;
  free: Tree;
  main: Tree;
}

class PageFile {
  private readonly handle: number;
  readonly bytes: number;

  constructor(path: string) {
    this.handle = openSync(path, 'r');
    this.bytes = fstatSync(this.handle).size;
  }

  /** Both meta pages; undefined for one that is malformed. */
  metas(): (Meta | undefined)[] {
    const first = this.read(0, PAGE_HEAD_BYTES + META_BYTES);
    const meta = metaIn(first);
    const pageBytes = meta?.pageBytes ?? 4096;
    return [meta, metaIn(this.read(pageBytes, PAGE_HEAD_BYTES + META_BYTES))];
  }

  /** Consecutive pages; fewer bytes if the file ends before. */
  pages(number: number, count: number, pageBytes: number): Buffer {
    return this.read(number * pageBytes, count * pageBytes);
  }

  close(): void {
    closeSync(this.handle);
  }

  private read(at: number, length: number): Buffer {
    const bytes = Buffer.alloc(length);
    let done = 0;
    for (let read = -1; done < length && read !== 0; done += read)
      read = readSync(this.handle, bytes, done, length - done, at + done);
    return bytes.subarray(0, done);
  }
}

function metaIn(page: Buffer): Meta | undefined {
  if (page.length < PAGE_HEAD_BYTES + META_BYTES) return undefined;
  const body = page.subarray(PAGE_HEAD_BYTES);
  const pageBytes = body.readUInt32LE(24);
  if (body.readUInt32LE(0) !== MAGIC || !VERSIONS.includes(body.readUInt32LE(4))) return undefined;
  if (pageBytes < 512 || pageBytes > 65536 || (pageBytes & (pageBytes - 1)) !== 0) return undefined;
  return {
    pageBytes,
    free: treeIn(body.subarray(24)),
    main: treeIn(body.subarray(72)),
    lastPage: Number(body.readBigUInt64LE(120)),
    txn: body.readBigUInt64LE(128),
  };
}

const TREE_BYTES = 48;

/** Decodes a `struct MDB_db`. */
function treeIn(bytes: Buffer): Tree {
  const root = bytes.readBigUInt64LE(40);
  return {
    depth: bytes.readUInt16LE(6),
    entries: Number(bytes.readBigUInt64LE(32)),
    root: root === NO_PAGE ? undefined : Number(root),
  };
}

/** The meta page of the last complete commit. */
function newestOf(metas: readonly (Meta | undefined)[]): Meta | undefined {
  return metas.filter((meta) => meta !== undefined).sort((a, b) => (a.txn < b.txn ? 1 : -1))[0];
}

// Contents of a page (struct MDB_node): child pages of a branch, entries of a leaf. Every offset is checked against the
// page.

const BRANCH = 1;
const LEAF = 2;
/** Mask of the page kind. The flags for dirty and kept pages have a meaning in memory only. */
const KINDS = 0x0f;
const BIG = 1;
const NODE_HEAD_BYTES = 8;
const KEY_BYTES_MAX = 511;

interface Leaf {
  key: Buffer;
  value: Buffer;
  /** Number of the page that holds the value, if it is not in the leaf. */
  overflow?: number;
  bytes: number;
}

/** The child pages, or a description of the damage. */
function parseBranch(page: Buffer): number[] | string {
  const nodes = nodesOf(page, BRANCH);
  if (typeof nodes === 'string') return nodes;
  return nodes.map(
    (at) => page.readUInt16LE(at) + page.readUInt16LE(at + 2) * 0x10000 + page.readUInt16LE(at + 4) * 0x100000000,
  );
}

/** The entries, or a description of the damage. */
function parseLeaf(page: Buffer): Leaf[] | string {
  const nodes = nodesOf(page, LEAF);
  if (typeof nodes === 'string') return nodes;
  const leaves: Leaf[] = [];
  for (const at of nodes) {
    const bytes = page.readUInt16LE(at) + page.readUInt16LE(at + 2) * 0x10000;
    const isBig = (page.readUInt16LE(at + 4) & BIG) !== 0;
    const keyEnd = at + NODE_HEAD_BYTES + page.readUInt16LE(at + 6);
    const end = keyEnd + (isBig ? 8 : bytes);
    if (end > page.length) return 'has an entry that extends beyond its end';
    const key = page.subarray(at + NODE_HEAD_BYTES, keyEnd);
    leaves.push(
      isBig
        ? { key, value: page.subarray(0, 0), overflow: Number(page.readBigUInt64LE(keyEnd)), bytes }
        : { key, value: page.subarray(keyEnd, end), bytes },
    );
  }
  return leaves;
}

/** Offsets of the nodes of a page of the given kind, or a description of the damage. */
function nodesOf(page: Buffer, kind: number): number[] | string {
  if ((page.readUInt16LE(10) & KINDS) !== kind) return kind === BRANCH ? 'is not a branch page' : 'is not a leaf page';
  const lower = page.readUInt16LE(12);
  const upper = page.readUInt16LE(14);
  if (lower < PAGE_HEAD_BYTES || lower > upper || upper > page.length || (lower - PAGE_HEAD_BYTES) % 2 !== 0)
    return 'has invalid bounds';
  const nodes: number[] = [];
  for (let at = PAGE_HEAD_BYTES; at < lower; at += 2) {
    const node = page.readUInt16LE(at);
    if (node < upper || node + NODE_HEAD_BYTES > page.length) return 'has an offset beyond its end';
    if (
      page.readUInt16LE(node + 6) > KEY_BYTES_MAX ||
      node + NODE_HEAD_BYTES + page.readUInt16LE(node + 6) > page.length
    )
      return 'has a key that is too long';
    nodes.push(node);
  }
  return nodes;
}

/** Maximum depth of a tree in LMDB. */
const DEPTH_MAX = 32;
const FREE_LIST = 'free pages';

export interface ScannedEntry {
  table: string;
  key: Buffer;
  /** The value as stored, with its checksum. */
  sealed: Buffer;
}

/** Damage of the file itself. */
interface PageDamage {
  damage: string;
}

/** A walk through all pages of a file. */
export class PageScan {
  private readonly seen = new Set<number>();

  private constructor(
    private readonly file: PageFile,
    private readonly meta: Meta,
  ) {}

  /** Yields every entry of the file at `path`, and all damage that is found. */
  static *over(path: string): Generator<ScannedEntry | PageDamage> {
    const file = new PageFile(path);
    try {
      const metas = file.metas();
      const meta = newestOf(metas);
      if (metas.some((found) => !found)) yield { damage: 'a meta page is malformed' };
      if (meta) yield* new PageScan(file, meta).everything();
    } finally {
      file.close();
    }
  }

  private *everything(): Generator<ScannedEntry | PageDamage> {
    const tables: { name: string; tree: Tree }[] = [];
    for (const found of this.tree(this.meta.main, 'tables')) {
      if ('damage' in found) yield found;
      else if (found.value.length !== TREE_BYTES)
        yield { damage: `the record of table ${found.key.toString()} has ${found.value.length} bytes` };
      else tables.push({ name: found.key.toString(), tree: treeIn(found.value) });
    }
    for (const { name, tree } of tables) {
      for (const found of this.tree(tree, name))
        yield 'damage' in found ? found : { table: name, key: found.key, sealed: found.value };
    }
    yield* this.freePages();
  }

  /** Checks the list of free pages. A page that is both free and in use would be overwritten by the next commit. */
  private *freePages(): Generator<PageDamage> {
    for (const found of this.tree(this.meta.free, FREE_LIST)) {
      if ('damage' in found) yield found;
      else if (found.value.length < 8 || Number(found.value.readBigUInt64LE(0)) * 8 + 8 > found.value.length)
        yield { damage: 'a list of free pages is too short' };
      else yield* this.freeIn(found.value);
    }
  }

  private *freeIn(list: Buffer): Generator<PageDamage> {
    for (let at = 8, left = Number(list.readBigUInt64LE(0)); left > 0; at += 8, left--) {
      const page = Number(list.readBigUInt64LE(at));
      if (this.seen.has(page)) yield { damage: `page ${page} is in the free list and in use` };
      if (page > this.meta.lastPage)
        yield { damage: `page ${page} is in the free list, but the file has no such page` };
    }
  }

  /** The entries of a tree in the order of its pages. */
  private *tree({ root, depth, entries }: Tree, name: string): Generator<{ key: Buffer; value: Buffer } | PageDamage> {
    if (root === undefined) return;
    if (depth > DEPTH_MAX) return yield { damage: `${name}: the tree has ${depth} levels` };
    let count = 0;
    let before: Buffer | undefined;
    for (const found of this.below(root, depth, name)) {
      if ('damage' in found) {
        yield found;
        continue;
      }
      // Keys of the free list are native numbers, so their byte order says nothing.
      if (before && name !== FREE_LIST && Buffer.compare(before, found.key) >= 0)
        yield { damage: `${name}: keys are out of order at ${found.key.toString('hex')}` };
      before = found.key;
      count++;
      yield found;
    }
    if (count !== entries) yield { damage: `${name}: ${count} of ${entries} entries can be read` };
  }

  private *below(number: number, levels: number, name: string): Generator<{ key: Buffer; value: Buffer } | PageDamage> {
    const page = this.page(number);
    if (typeof page === 'string') return yield { damage: `${name}: page ${number} ${page}` };
    const found = levels > 1 ? parseBranch(page) : parseLeaf(page);
    if (typeof found === 'string') return yield { damage: `${name}: page ${number} ${found}` };
    for (const node of found) {
      if (typeof node === 'number') yield* this.below(node, levels - 1, name);
      else yield this.entry(node, number, name);
    }
  }

  private entry(
    { key, value, overflow, bytes }: Leaf,
    number: number,
    name: string,
  ): { key: Buffer; value: Buffer } | PageDamage {
    if (overflow === undefined) return { key, value };
    const count = Math.ceil((PAGE_HEAD_BYTES + bytes) / this.meta.pageBytes);
    const page = this.page(overflow, count);
    if (typeof page === 'string')
      return { damage: `${name}: page ${overflow}, to which page ${number} refers, ${page}` };
    return { key, value: page.subarray(PAGE_HEAD_BYTES, PAGE_HEAD_BYTES + bytes) };
  }

  /** The bytes of a page, or a description of the damage. */
  private page(number: number, count = 1): Buffer | string {
    const { lastPage, pageBytes } = this.meta;
    if (number < 2 || number + count - 1 > lastPage) return 'is not in the file';
    if (this.seen.has(number)) return 'is used twice';
    const bytes = this.file.pages(number, count, pageBytes);
    if (bytes.length < count * pageBytes) return 'is truncated';
    for (let page = number; page < number + count; page++) this.seen.add(page);
    return Number(bytes.readBigUInt64LE(0)) === number ? bytes : 'has the number of another page';
  }
}

/**
 * Extends LMDB's file to the length that its page count requires. Reading a page beyond the end of a truncated file
 * would end the process (SIGBUS); zeros are damage that LMDB and the checksums detect. LMDB itself may leave out free
 * pages at the end, so a short file alone is no sign of damage. `bytesMax`: upper bound of a file's size, beyond which
 * the page count is considered damaged and ignored.
 */
export function coverPages(directory: string, bytesMax: number): void {
  const path = join(directory, 'data.mdb');
  if (!existsSync(path) || statSync(path).size === 0) return;
  const file = new PageFile(path);
  try {
    const meta = newestOf(file.metas());
    const bytes = meta ? (meta.lastPage + 1) * meta.pageBytes : 0;
    if (bytes > file.bytes && bytes < bytesMax) truncateSync(path, bytes);
  } finally {
    file.close();
  }
}
