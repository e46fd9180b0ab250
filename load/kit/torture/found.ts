// What a slot is found as, and whether that is a state the model allows. Pure; the reading is done by check.ts through
// the server and by check-left.ts without one.
import { contradiction, seen, type FoundJobs } from './reindexing.js';
import type { Revision, Slot, State } from './world.js';

/** Of a document; the revision where it was looked at. */
export interface FoundDocument {
  version: number;
  revision?: number;
}

export interface Found extends FoundJobs {
  /** Of all collections of the slot. */
  names: readonly string[];
  documents: ReadonlyMap<string, FoundDocument>;
}

/** What is found and cannot be; and whether the change under way, or a part of it, has happened. */
export interface Judgement {
  complaints: string[];
  happened: boolean;
  /** It may as well not have happened: nothing tells. */
  isOpen: boolean;
}

export function judge(slot: Slot, found: Found): Judgement {
  const [before, after] = slot.states.map((state) => complaintsOf(state, slot, found)) as [
    string[],
    string[] | undefined,
  ];
  if (after?.length === 0) return { complaints: [], happened: true, isOpen: before.length === 0 };
  const happened = [...slot.sent].some(([docid, revision]) => isSame(found.documents.get(docid), revision));
  const neither =
    before.length > 0 && after ? after.map((complaint) => `nor after the change under way: ${complaint}`) : [];
  return { complaints: [...before, ...neither], happened, isOpen: false };
}

/** Takes over what is found, which complains of nothing. */
export function settle(slot: Slot, found: Found, { happened, isOpen }: Judgement): void {
  const { sent } = slot;
  if (!happened) slot.forget();
  slot.settle((docid) => isSame(found.documents.get(docid), sent.get(docid) ?? null));
  if (slot.name === null) return;
  const reindexing = seen(slot.state.reindexing, found);
  // What the change would have ended may be there still.
  slot.state = {
    ...slot.state,
    reindexing: isOpen
      ? { ...reindexing, wayBack: undefined, job: reindexing.job && { ...reindexing.job, maySwitch: true } }
      : reindexing,
  };
}

function complaintsOf(state: State, { sent }: Slot, { names, documents, ...jobs }: Found): string[] {
  const [name = null] = names;
  if (names.length > 1 || name !== state.name)
    return [`the collection is ${names.join(', ') || 'not there'}, not ${state.name ?? 'none'}`];
  if (name === null) return [];
  const complaints = [];
  for (const docid of new Set([...documents.keys(), ...state.documents.keys(), ...sent.keys()])) {
    const allowed = [
      state.documents.get(docid) ?? null,
      ...(sent.has(docid) ? [sent.get(docid) as Revision | null] : []),
    ];
    const found = documents.get(docid);
    if (!allowed.some((revision) => isSame(found, revision)))
      complaints.push(`${docid} is ${told(found)}, not ${allowed.map(told).join(' or ')}`);
  }
  const contradicted = contradiction(state.reindexing, jobs);
  return contradicted === undefined ? complaints : [...complaints, contradicted];
}

function isSame(found: FoundDocument | undefined, allowed: Revision | null): boolean {
  if (!found || !allowed) return !found && !allowed;
  return found.version === allowed.version && (found.revision === undefined || found.revision === allowed.revision);
}

const told = (document: FoundDocument | null | undefined): string =>
  document ? `revision ${document.revision ?? '?'} in version ${document.version}` : 'absent';
