// The model of the torture program: slots for one collection each, with the acknowledged state and the one pending
// change. A slot has one writer, so the result of all earlier changes is known. Plain state without I/O.
import type { ReindexJob, ReindexStatus } from '../../src/api/reindex.js';

export interface KnownJob {
  /** Undefined until its start has been acknowledged. */
  id: string | undefined;
  /** Id of the previous job. */
  after: string | undefined;
  /** Status when it was last read. */
  status: ReindexStatus;
  /** Key of the target vector space. */
  to: string;
  /** Whether the previous space is kept for a rollback. */
  keeps: boolean;
  /** Whether it has a gate that it may fail. */
  mayFail: boolean;
  /** Its collection was replaced by an archive. It may end in any state, without an effect. */
  isIdle: boolean;
  /** It is unknown whether the archive replaced the collection, so the job may still switch. */
  maySwitch?: boolean;
}

/**
 * What is known of a slot's reindex jobs: the latest job, and the collection's vector space. A job proceeds while other
 * operations run, so its state is known as of the last look, and a rule determines what it may have become since.
 */
export interface Reindexing {
  /** Key of the collection's space, except for later changes by its job; undefined if unknown. */
  space: string | undefined;
  job: KnownJob | undefined;
  /** Target of a rollback; null if there is none, undefined if unknown. */
  wayBack: string | null | undefined;
}

/** Jobs and vector space as the server reports them. */
export interface FoundJobs {
  space: string;
  /** Newest first. */
  jobs: readonly Pick<ReindexJob, 'job_id' | 'status' | 'error'>[];
}

const GOES: readonly ReindexStatus[] = ['queued', 'running', 'committing', 'succeeded'];
const ENDED: ReadonlySet<ReindexStatus> = new Set<ReindexStatus>(['cancelled', 'failed', 'succeeded']);

/**
 * The states in which a job may be found next, also after a restart. A failed job may resume, because its failure was
 * visible before it was durable.
 */
const NEXT: Readonly<Record<ReindexStatus, readonly ReindexStatus[]>> = {
  queued: GOES,
  running: GOES,
  committing: GOES,
  pausing: ['pausing', 'paused'],
  paused: ['pausing', 'paused'],
  cancelling: ['cancelling', 'cancelled'],
  cancelled: ['cancelled'],
  failed: [...GOES, 'failed'],
  succeeded: ['succeeded'],
};

export const newReindexing = (space: string): Reindexing => ({ space, job: undefined, wayBack: null });

export const hasEnded = (status: ReindexStatus): boolean => ENDED.has(status);
export const isLive = ({ job }: Reindexing): boolean => job !== undefined && !hasEnded(job.status);
export const isPaused = ({ job }: Reindexing): boolean => job?.status === 'paused' || job?.status === 'pausing';

export const withJob = (reindexing: Reindexing, status: ReindexStatus): Reindexing => ({
  ...reindexing,
  job: reindexing.job && { ...reindexing.job, status },
});

/** The state after the collection was replaced by another one with the same query log. */
export const replaced = ({ job }: Reindexing, space: string | undefined): Reindexing => ({
  space,
  wayBack: null,
  job: job && { ...job, isIdle: true },
});

/** What is impossible in `found`; undefined if nothing is. */
export function contradiction(known: Reindexing, { space, jobs: [newest] }: FoundJobs): string | undefined {
  const { job } = known;
  const isLatest =
    job?.id === undefined && job ? newest !== undefined && newest.job_id !== job.after : newest?.job_id === job?.id;
  if (!isLatest) return `its latest job is ${newest?.job_id ?? 'none'}, not ${job?.id ?? (job ? 'a new one' : 'none')}`;
  if (!job || !newest)
    return known.space === undefined || space === known.space ? undefined : `it is in ${space}, not ${known.space}`;
  const isPossible =
    job.isIdle || NEXT[job.status].includes(newest.status) || (job.mayFail && newest.status === 'failed');
  if (!isPossible) return `its job is ${newest.status} (${newest.error ?? 'no error'}), and was ${job.status}`;
  const expected = hasSwitched(job, newest.status) ? job.to : known.space;
  const mayHaveSwitched =
    job.maySwitch === true && newest.status === 'succeeded' && job.status !== 'succeeded' && space === job.to;
  return expected === undefined || space === expected || mayHaveSwitched
    ? undefined
    : `it is in ${space}, not ${expected}: its job is ${newest.status}`;
}

/** The knowledge after `found`, which must not contradict it. */
export function seen(known: Reindexing, { space, jobs: [newest] }: FoundJobs): Reindexing {
  const { job, wayBack } = known;
  if (!job || !newest) return { ...known, space };
  const back = hasSwitched(job, newest.status) ? (job.keeps ? known.space : null) : wayBack;
  return { space, wayBack: back, job: { ...job, id: newest.job_id, status: newest.status } };
}

const hasSwitched = (job: KnownJob, status: ReindexStatus): boolean =>
  !job.isIdle && status === 'succeeded' && job.status !== 'succeeded';

const STEPS_MAX = 80;

interface Step {
  atMs: number;
  what: string;
  answer?: string;
  answeredMs?: number;
}

/** The last requests and answers of a slot's writer, for the analysis of a violation: a ring of lines. */
export class Trail {
  private readonly steps: Step[] = [];

  /** Records a request; the returned function records its answer. */
  asked(what: string, atMs = Date.now()): (answer: string, answeredMs?: number) => void {
    const step: Step = { atMs, what };
    this.steps.push(step);
    if (this.steps.length > STEPS_MAX) this.steps.shift();
    return (answer, answeredMs = Date.now()) => void Object.assign(step, { answer, answeredMs });
  }

  /** The lines, oldest first. */
  lines(): string[] {
    return this.steps.map(
      ({ atMs, what, answer = 'not answered', answeredMs }) =>
        `${new Date(atMs).toISOString().slice(11, 23)} ${what}: ${answer}${answeredMs === undefined ? '' : ` after ${answeredMs - atMs} ms`}`,
    );
  }
}

/** A revision of a document. */
export interface Revision {
  /** Number of the revision, from which its content is made; never reused within a slot. */
  revision: number;
  /** Version as the server counts it: from 1 for a new document. */
  version: number;
}

export type Documents = ReadonlyMap<string, Revision>;

export interface State {
  /** Name of the collection; null if there is none. */
  name: string | null;
  documents: Documents;
  reindexing: Reindexing;
}

/**
 * A change without an answer, which may or may not have happened: documents of a batch individually (null for a deleted
 * one), or a whole state.
 */
export type Pending = { documents: ReadonlyMap<string, Revision | null> } | { state: State };

/** An archive taken of a slot. */
export interface KeptArchive {
  bytes: Blob;
  documents: Documents;
  /** Undefined if a job was running. */
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
    /** Prefix of the names of the slot's collections. */
    readonly prefix: string,
    readonly kind: 'text' | 'vectors',
  ) {}

  get name(): string | null {
    return this.state.name;
  }

  get documents(): Documents {
    return this.state.documents;
  }

  /** The revision that a document gets with the next put. */
  next(docid: string): Revision {
    return { revision: ++this.lastRevision, version: (this.documents.get(docid)?.version ?? 0) + 1 };
  }

  /** Applies the pending change; of a batch, only the documents that `happened` accepts. */
  settle(happened: (docid: string) => boolean = () => true): void {
    const { pending } = this;
    this.pending = undefined;
    if (!pending) return;
    if ('state' in pending) this.state = pending.state;
    else this.state = { ...this.state, documents: changed(this.documents, pending.documents, happened) };
  }

  /** Drops the pending change, which has not happened. */
  forget(): void {
    this.pending = undefined;
  }

  /** The documents that the pending change may change, each by itself. */
  get sent(): ReadonlyMap<string, Revision | null> {
    return this.pending && 'documents' in this.pending ? this.pending.documents : new Map();
  }

  /** Every state in which the slot may be found, apart from the documents of a pending batch. */
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

// The found state of a slot, with or without a server, and whether the model permits it.

/** A found document; with its revision if it was looked up. */
export interface FoundDocument {
  version: number;
  revision?: number;
}

export interface Found extends FoundJobs {
  /** Names of all collections of the slot. */
  names: readonly string[];
  documents: ReadonlyMap<string, FoundDocument>;
}

/** What is found but impossible; and whether the pending change, or a part of it, has happened. */
interface Judgement {
  complaints: string[];
  happened: boolean;
  /** Whether what was found does not tell if the change has happened. */
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

/** Adopts a found state without complaints. */
export function settle(slot: Slot, found: Found, { happened, isOpen }: Judgement): void {
  const { sent } = slot;
  if (!happened) slot.forget();
  slot.settle((docid) => isSame(found.documents.get(docid), sent.get(docid) ?? null));
  if (slot.name === null) return;
  const reindexing = seen(slot.state.reindexing, found);
  // The job that the change would have ended may still exist.
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
