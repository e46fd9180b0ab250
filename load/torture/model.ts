// What the torture program knows: the slots, each with room for one collection, what the server has acknowledged of it,
// and the one change that it was asked for and has not answered. A slot has one writer, so the change before the last
// is always known. Plain state, no I/O.
import { newReindexing, type Reindexing } from './reindexing.js';
import { Trail } from './trail.js';

/** A revision of a document. */
export interface Revision {
  /** By which its content is made; never used twice in a slot. */
  revision: number;
  /** As the server counts: from 1 in a new document. */
  version: number;
}

export type Documents = ReadonlyMap<string, Revision>;

export interface State {
  /** Of the collection; null where there is none. */
  name: string | null;
  documents: Documents;
  reindexing: Reindexing;
}

/**
 * What was sent and not answered: it may have happened or not. Each document of a batch by itself, null for one that is
 * deleted; or all of a state together.
 */
export type Pending = { documents: ReadonlyMap<string, Revision | null> } | { state: State };

/** An archive that was taken of a slot. */
export interface KeptArchive {
  bytes: Blob;
  documents: Documents;
  /** Undefined where a job was at work. */
  space: string | undefined;
}

export const NOTHING: State = { name: null, documents: new Map(), reindexing: newReindexing('') };

export class Slot {
  state: State = NOTHING;
  pending: Pending | undefined;
  archive: KeptArchive | undefined;
  readonly trail = new Trail();
  private lastRevision = 0;

  constructor(
    readonly tenant: string,
    /** What all names of its collections begin with. */
    readonly prefix: string,
    readonly kind: 'text' | 'vectors',
  ) {}

  get name(): string | null {
    return this.state.name;
  }

  get documents(): Documents {
    return this.state.documents;
  }

  /** What a document becomes with the next put. */
  next(docid: string): Revision {
    return { revision: ++this.lastRevision, version: (this.documents.get(docid)?.version ?? 0) + 1 };
  }

  /** The change under way has happened; of documents those that `happened` names, or all. */
  settle(happened: (docid: string) => boolean = () => true): void {
    const { pending } = this;
    this.pending = undefined;
    if (!pending) return;
    if ('state' in pending) this.state = pending.state;
    else this.state = { ...this.state, documents: changed(this.documents, pending.documents, happened) };
  }

  /** The change under way has not happened. */
  forget(): void {
    this.pending = undefined;
  }

  /** The documents that the change under way may change, each by itself. */
  get sent(): ReadonlyMap<string, Revision | null> {
    return this.pending && 'documents' in this.pending ? this.pending.documents : new Map();
  }

  /** Every state that the slot may be found in, but for documents that were sent. */
  get states(): State[] {
    return this.pending && 'state' in this.pending ? [this.state, this.pending.state] : [this.state];
  }
}

function changed(
  documents: Documents,
  sent: ReadonlyMap<string, Revision | null>,
  happened: (docid: string) => boolean,
): Documents {
  const after = new Map(documents);
  for (const [docid, revision] of sent) {
    if (!happened(docid)) continue;
    if (revision) after.set(docid, revision);
    else after.delete(docid);
  }
  return after;
}

export function createSlots(tenants: number, slotsEach: number): Slot[] {
  const numbers = Array.from({ length: tenants * slotsEach }, (_, i) => i);
  return numbers.map((i) => new Slot(`tenant-${i % tenants}`, `s${i}-`, i % 4 === 2 ? 'vectors' : 'text'));
}
