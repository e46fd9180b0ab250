// A directory as a power cut leaves it: made from what it was and the journal of the fault layer. What was synced is
// there; of the rest, be it content or names, anything may be missing. The rules are those of POSIX at their strictest:
// a name is there for sure once its directory was synced. Used by the torture program.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import type { Prng } from '../../../src/base/prng.js';
import { DiskFile, type CutMode } from './disk-file.js';
import { readJournal, type JournalRecord } from './journal.js';

type Node = DiskFile | Folder;

class Folder {
  readonly durable = new Map<string, Node>();
  readonly present = new Map<string, Node>();
  /** Changes of names since the last sync; null takes one away. */
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

/** What a cut did, for the report. */
export interface Cut {
  mode: CutMode;
  /** Files with writes that were not synced. */
  unsyncedFiles: number;
}

export class Disk {
  private readonly root: Folder;
  private readonly byIno = new Map<bigint, Node>();

  /** The disk as it is now in `from`, all of it synced. `path`: where the journal says that it is. */
  constructor(
    from: string,
    private readonly path = from,
  ) {
    this.root = load(from);
  }

  /** `isHeeded`: of which records the disk knows. */
  replay(journal: string, isHeeded: (record: JournalRecord) => boolean = () => true): void {
    for (const record of readJournal(journal)) if (isHeeded(record)) this.apply(record);
  }

  /** Writes what is there after the cut to an empty directory. */
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
