// What the torture program knows: the slots, each with room for one collection, what the server has acknowledged of it, and the one change that it was
// asked for and has not answered. A slot has one writer, so the change before the last is always known. Plain state, no I/O.

/** A revision of a document. */
export interface Revision {
  /** By which its content is made; never used twice in a slot. */
  revision: number;
  /** As the server counts: from 1 in a new document. */
  version: number;
}

/** What was sent and not answered: it may have happened or not. Each document of a batch by itself; null for one that is deleted. */
export type Pending = { documents: Map<string, Revision | null> } | { name: string | null };

export class Slot {
  /** Of its collection; null where there is none. */
  name: string | null = null;
  readonly documents = new Map<string, Revision>();
  pending: Pending | undefined;
  private lastRevision = 0;

  constructor(
    readonly tenant: string,
    /** What all names of its collections begin with. */
    readonly prefix: string,
    readonly kind: 'text' | 'vectors',
  ) {}

  /** What a document becomes with the next put. */
  next(docid: string): Revision {
    return { revision: ++this.lastRevision, version: (this.documents.get(docid)?.version ?? 0) + 1 };
  }

  /** The change under way has happened; of documents those that `happened` names, or all. */
  settle(happened: (docid: string) => boolean = () => true): void {
    const { pending } = this;
    this.pending = undefined;
    if (!pending) return;
    if ('name' in pending) return this.rename(pending.name);
    for (const [docid, revision] of pending.documents) {
      if (!happened(docid)) continue;
      if (revision) this.documents.set(docid, revision);
      else this.documents.delete(docid);
    }
  }

  /** The change under way has not happened. */
  forget(): void {
    this.pending = undefined;
  }

  /** Every state that a reader may find a document in: null for none. */
  allowed(docid: string): (Revision | null)[] {
    const acknowledged = this.documents.get(docid) ?? null;
    const sent = this.pending && 'documents' in this.pending ? this.pending.documents.get(docid) : undefined;
    return sent === undefined ? [acknowledged] : [acknowledged, sent];
  }

  allowedNames(): (string | null)[] {
    return this.pending && 'name' in this.pending ? [this.name, this.pending.name] : [this.name];
  }

  private rename(name: string | null): void {
    if (name === null || this.name === null) this.documents.clear();
    this.name = name;
  }
}

/** What happened, for the report. */
export interface Tally {
  acknowledged: number;
  /** Changes that a death cut off, and those of them that had happened. */
  cutOff: number;
  kept: number;
  searches: number;
  /** Chunks that were read and compared. */
  chunks: number;
  /** Acknowledged operations by name. */
  operations: Map<string, number>;
  violations: string[];
}

export const emptyTally = (): Tally => ({ acknowledged: 0, cutOff: 0, kept: 0, searches: 0, chunks: 0, operations: new Map(), violations: [] });

export function createSlots(tenants: number, slotsEach: number): Slot[] {
  const numbers = Array.from({ length: tenants * slotsEach }, (_, i) => i);
  return numbers.map((i) => new Slot(`tenant-${i % tenants}`, `s${i}-`, i % 3 === 2 ? 'vectors' : 'text'));
}
