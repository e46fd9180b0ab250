// Walks LMDB's file page by page without the library, and believes nothing: every page number, length and offset is
// checked before it is followed. Gives the entries that can be read, and tells of each page that makes no sense, of
// keys out of order, of pages used twice, and of entries that are missing. Used by `sheaf check` and `sheaf repair`
// (src/store/check), on a directory that no server has open.
import { parseBranch, parseLeaf, type Leaf } from './page-nodes.js';
import { newestOf, PAGE_HEAD_BYTES, PageFile, TREE_BYTES, treeIn, type Meta, type Tree } from './page-file.js';

/** Of a tree of pages; LMDB goes no deeper. */
const DEPTH_MAX = 32;
const FREE_LIST = 'free pages';

export interface WalkedEntry {
  table: string;
  key: Buffer;
  /** As it is stored, with its checksum. */
  sealed: Buffer;
}

/** Something that is wrong with the file itself. */
export interface PageDamage {
  damage: string;
}

export class PageWalk {
  private readonly seen = new Set<number>();

  private constructor(
    private readonly file: PageFile,
    private readonly meta: Meta,
  ) {}

  /** Everything in the file at `path`. */
  static *over(path: string): Generator<WalkedEntry | PageDamage> {
    const file = new PageFile(path);
    try {
      const metas = file.metas();
      const meta = newestOf(metas);
      if (metas.some((found) => !found)) yield { damage: 'a meta page makes no sense' };
      if (meta) yield* new PageWalk(file, meta).everything();
    } finally {
      file.close();
    }
  }

  private *everything(): Generator<WalkedEntry | PageDamage> {
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

  /** A page that is free and in use would be overwritten by the next commit. */
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
      if (this.seen.has(page)) yield { damage: `page ${page} is free and in use` };
      if (page > this.meta.lastPage) yield { damage: `page ${page} is free, and the file has none` };
    }
  }

  /** The entries of a tree in the order of its pages. */
  private *tree({ root, depth, entries }: Tree, name: string): Generator<{ key: Buffer; value: Buffer } | PageDamage> {
    if (root === undefined) return;
    if (depth > DEPTH_MAX) return yield { damage: `${name}: a tree of ${depth} levels` };
    let count = 0;
    let before: Buffer | undefined;
    for (const found of this.below(root, depth, name)) {
      if ('damage' in found) {
        yield found;
        continue;
      }
      // Keys of the list of free pages are numbers.
      if (before && name !== FREE_LIST && Buffer.compare(before, found.key) >= 0)
        yield { damage: `${name}: keys are out of order at ${found.key.toString('hex')}` };
      before = found.key;
      count++;
      yield found;
    }
    if (count !== entries) yield { damage: `${name}: ${count} entries can be read of ${entries}` };
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
      return { damage: `${name}: page ${overflow}, which page ${number} leads to, ${page}` };
    return { key, value: page.subarray(PAGE_HEAD_BYTES, PAGE_HEAD_BYTES + bytes) };
  }

  /** Its bytes, or what is wrong with it. */
  private page(number: number, count = 1): Buffer | string {
    const { lastPage, pageBytes } = this.meta;
    if (number < 2 || number + count - 1 > lastPage) return 'is none of the file';
    if (this.seen.has(number)) return 'is used twice';
    const bytes = this.file.pages(number, count, pageBytes);
    if (bytes.length < count * pageBytes) return 'is cut off';
    for (let page = number; page < number + count; page++) this.seen.add(page);
    return Number(bytes.readBigUInt64LE(0)) === number ? bytes : 'has the number of another';
  }
}
