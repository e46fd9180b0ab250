// What the kill test knows of each document: what the server acknowledged last, and a write it was sent but did not answer.
// One writer a document, so at most one write of it is under way. Plain state, no I/O.

/** A revision number; 0 stands for "no such document". */
export type Revision = number;

interface Entry {
  acknowledged: Revision;
  /** Sent and not answered: may have happened or not. */
  pending?: Revision;
  /** Revisions are never used twice. */
  lastSent: Revision;
}

export class Ledger {
  readonly #entries = new Map<string, Entry>();
  acknowledgedWrites = 0;
  unanswered = 0;
  unansweredKept = 0;

  /** Every document that was ever written. */
  docids(): string[] {
    return [...this.#entries.keys()];
  }

  /** The revision that a reader must find: the acknowledged one, or the pending one. */
  allowed(docid: string): Revision[] {
    const { acknowledged, pending } = this.#entries.get(docid) ?? { acknowledged: 0 };
    return pending === undefined ? [acknowledged] : [acknowledged, pending];
  }

  isPresent(docid: string): boolean {
    return (this.#entries.get(docid)?.acknowledged ?? 0) > 0;
  }

  /** Call before a put is sent; its revision. */
  sendPut(docid: string): Revision {
    const entry = this.#entries.get(docid) ?? { acknowledged: 0, lastSent: 0 };
    this.#entries.set(docid, entry);
    entry.pending = ++entry.lastSent;
    return entry.pending;
  }

  sendDelete(docid: string): void {
    this.#entries.get(docid)!.pending = 0;
  }

  acknowledge(docid: string): void {
    const entry = this.#entries.get(docid)!;
    entry.acknowledged = entry.pending!;
    entry.pending = undefined;
    this.acknowledgedWrites++;
  }

  /** After a restart a reader has found `revision`, one of the allowed: from now on it alone is right. */
  settle(docid: string, revision: Revision): void {
    const entry = this.#entries.get(docid)!;
    if (entry.pending === undefined) return;
    this.unanswered++;
    if (revision === entry.pending) this.unansweredKept++;
    entry.acknowledged = revision;
    entry.pending = undefined;
  }
}
