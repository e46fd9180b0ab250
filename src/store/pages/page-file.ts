// LMDB's file as bytes: its meta pages, and the pages of its trees, read without the library, which trusts what it
// reads and may crash where a page is damaged. The layout is that of LMDB 0.9.70 on 64-bit machines, little-endian
// (struct MDB_meta, MDB_page, MDB_node of mdb.c). Read only. Used by page-walk.ts for `sheaf check` and `sheaf repair`,
// and by cover-pages.ts.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

export const PAGE_HEAD_BYTES = 16;
const META_BYTES = 136;
const MAGIC = 0xbeefc0de;
const VERSIONS = [1, 999];
const NO_PAGE = 0xffffffffffffffffn;

/** A tree of pages: a table, or the list of free pages. */
export interface Tree {
  depth: number;
  entries: number;
  /** undefined for an empty one. */
  root: number | undefined;
}

export interface Meta {
  pageBytes: number;
  txn: bigint;
  lastPage: number;
  free: Tree;
  main: Tree;
}

export class PageFile {
  private readonly handle: number;
  readonly bytes: number;

  constructor(path: string) {
    this.handle = openSync(path, 'r');
    this.bytes = fstatSync(this.handle).size;
  }

  /** Both of them; undefined for one that makes no sense. */
  metas(): (Meta | undefined)[] {
    const first = this.read(0, PAGE_HEAD_BYTES + META_BYTES);
    const meta = metaIn(first);
    const pageBytes = meta?.pageBytes ?? 4096;
    return [meta, metaIn(this.read(pageBytes, PAGE_HEAD_BYTES + META_BYTES))];
  }

  /** Pages in a row; shorter where the file ends. */
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

export const TREE_BYTES = 48;

/** Of a `struct MDB_db`. */
export function treeIn(bytes: Buffer): Tree {
  const root = bytes.readBigUInt64LE(40);
  return {
    depth: bytes.readUInt16LE(6),
    entries: Number(bytes.readBigUInt64LE(32)),
    root: root === NO_PAGE ? undefined : Number(root),
  };
}

/** The one that the last whole commit wrote. */
export function newestOf(metas: readonly (Meta | undefined)[]): Meta | undefined {
  return metas.filter((meta) => meta !== undefined).sort((a, b) => (a.txn < b.txn ? 1 : -1))[0];
}
