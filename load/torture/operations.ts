// Operations of the torture program, and the states in which they are possible: on reindex jobs, on whole collections,
// on documents. Each sends one request, records beforehand what it may change, and afterwards what it has changed. A
// new operation is an entry of the table.
import type { CreateBody } from '../../src/api/collections.js';
import type { IngestBody } from '../../src/api/documents.js';
import type { ReindexBody, ReindexJob, ReindexStatus } from '../../src/api/reindex.js';
import type { SheafClient } from '../../src/client/client.js';
import { SheafUnreachable } from '../../src/client/errors.js';
import { checkSearch } from './check.js';
import {
  type KeptArchive,
  type KnownJob,
  NOTHING,
  type Reindexing,
  type Revision,
  type Slot,
  contradiction,
  isLive,
  isPaused,
  newReindexing,
  replaced,
  seen,
  withJob,
} from './model.js';
import {
  FAR,
  GIVEN,
  NEAR,
  PART_CHARACTERS,
  VECTOR_DIM,
  type Worker,
  change,
  changeState,
  count,
  findJobs,
  otherSpace,
  partsOf,
  unlessRefused,
  vectorOf,
} from './writer.js';

// Operations on reindex jobs. A job proceeds beside later operations of its writer, which looks at it again.

type Control = 'pause' | 'resume' | 'cancel';

const KEPT_SECONDS = 3600;
const STATES: Readonly<Record<Control, ReindexStatus>> = { pause: 'pausing', resume: 'queued', cancel: 'cancelling' };

/**
 * Starts a reindex into the other vector space, or into the same one with new memory and graph. Requires that no job is
 * running.
 */
async function reindex(worker: Worker): Promise<void> {
  const { client, slot, prng } = worker;
  const { reindexing } = slot.state;
  const space = reindexing.space as string;
  const isCompact = slot.kind === 'vectors' || prng.int(3) === 0;
  const to = isCompact ? space : otherSpace(space);
  const keeps = prng.int(2) === 0;
  const overlap = [undefined, undefined, 0, 1][prng.int(4)];
  const body: ReindexBody = {
    ...(isCompact ? { compact: true } : { embedder: to }),
    ...(keeps && { keep_previous_seconds: KEPT_SECONDS }),
    ...(overlap !== undefined && { gate: { min_overlap: overlap, last_n: 4 } }),
  };
  const job: KnownJob = {
    id: undefined,
    after: reindexing.job?.id,
    status: 'queued',
    to,
    keeps,
    mayFail: overlap === 1,
    isIdle: false,
  };
  let started: ReindexJob | undefined;
  await changeState(
    worker,
    { reindexing: { ...reindexing, job } },
    async () => (started = await client.reindex.start(slot.tenant, slot.name as string, body)),
  );
  setReindexing(worker, { ...reindexing, job: { ...job, id: (started as ReindexJob).job_id } });
}

/** Pauses a running job, resumes a paused one, cancels either, or only reads it. Requires a job. */
async function steer(worker: Worker): Promise<void> {
  const { client, slot, prng } = worker;
  const { reindexing } = slot.state;
  const wish = [
    isPaused(reindexing) ? 'resume' : 'pause',
    isPaused(reindexing) ? 'resume' : undefined,
    'cancel',
    undefined,
  ][prng.int(4)] as Control | undefined;
  const { id, isIdle } = reindexing.job as KnownJob;
  // By now the job may be in a state in which this is not possible.
  if (wish !== undefined && !isIdle)
    await unlessRefused(worker, ['reindex_state_conflict'], () =>
      changeState(worker, { reindexing: withJob(reindexing, STATES[wish]) }, () =>
        control(client, slot, id as string, wish),
      ),
    );
  await look(worker);
}

/** Rolls back to the previous vector space. Requires that no job is running. */
async function rollBack(worker: Worker): Promise<void> {
  const { client, slot } = worker;
  const { wayBack, job } = slot.state.reindexing;
  const rejections = wayBack === null || wayBack === undefined ? ['reindex_state_conflict'] : [];
  let space: string | undefined;
  const back = async (): Promise<void> =>
    void (space = (await client.reindex.rollBack(slot.tenant, slot.name as string)).vector_space_key);
  await unlessRefused(worker, rejections, () =>
    changeState(worker, { reindexing: { job, space: wayBack ?? undefined, wayBack: null } }, back),
  );
  if (space === undefined) return;
  if (wayBack === null) throw new Error(`${slot.tenant}/${slot.name} went back to ${space}, and nothing was kept`);
  await look(worker);
}

/** Reads the latest job and updates the model. */
async function look({ client, slot, tally }: Worker): Promise<void> {
  const { tenant, name, state } = slot;
  const found = await findJobs(client, tenant, name as string);
  const contradicted = contradiction(state.reindexing, found);
  if (contradicted !== undefined) throw new Error(`${tenant}/${name}: ${contradicted}`);
  const reindexing = seen(state.reindexing, found);
  if (isLive(state.reindexing) && !isLive(reindexing)) count(tally.jobs, (reindexing.job as KnownJob).status);
  slot.state = { ...slot.state, reindexing };
}

function control(
  { reindex: jobs }: SheafClient,
  { tenant, name }: Slot,
  id: string,
  wish: Control,
): Promise<ReindexJob> {
  return wish === 'cancel' ? jobs.cancel(tenant, name as string, id) : jobs[wish](id);
}

function setReindexing({ slot }: Worker, reindexing: Reindexing): void {
  slot.state = { ...slot.state, reindexing };
}

// Operations on whole collections: create, rename, drop, archive.

const NAMES = ['a', 'b', 'c'];
const TEXT: CreateBody = { chunking: { strategy: 'fixed', size: PART_CHARACTERS, overlap: 0 } };
const VECTORS: CreateBody = { embedder_type: 'identity', embed_model: '', embedder_config: { dim: VECTOR_DIM } };

function create(worker: Worker): Promise<void> {
  const { client, slot, prng } = worker;
  const name = slot.prefix + NAMES[prng.int(NAMES.length)];
  const space = slot.kind === 'vectors' ? GIVEN : prng.int(3) === 0 ? FAR : NEAR;
  const body = slot.kind === 'vectors' ? VECTORS : { ...TEXT, embedder: space };
  return changeState(worker, { name, documents: new Map(), reindexing: newReindexing(space) }, () =>
    client.createCollection(slot.tenant, name, body),
  );
}

function rename(worker: Worker): Promise<void> {
  const { client, slot, prng } = worker;
  const others = NAMES.map((name) => slot.prefix + name).filter((name) => name !== slot.name);
  const name = others[prng.int(others.length)] as string;
  return changeState(worker, { name }, () => client.moveCollection(slot.tenant, slot.name as string, name));
}

const drop = (worker: Worker): Promise<void> =>
  changeState(worker, NOTHING, () => worker.client.deleteCollection(worker.slot.tenant, worker.slot.name as string));

/** Downloads an archive and keeps it with the acknowledged state; nobody else writes to the slot meanwhile. */
async function archive({ client, slot }: Worker): Promise<void> {
  const { documents, reindexing } = slot.state;
  const { bytes } = await client.archives.dumpCollection(slot.tenant, slot.name as string);
  slot.archive = { bytes: await whole(bytes), documents, space: isLive(reindexing) ? undefined : reindexing.space };
}

/** The complete stream. If the server dies meanwhile, it ends with a transport error. */
async function whole(bytes: ReadableStream<Uint8Array>): Promise<Blob> {
  try {
    return await new Response(bytes).blob();
  } catch (error) {
    throw new SheafUnreachable('the server', 'an archive was cut off', { cause: error });
  }
}

/**
 * Restores an archive in place of the collection, or as a new one. The server rejects it while a job switches spaces.
 */
async function restore(worker: Worker): Promise<void> {
  const { client, slot, prng } = worker;
  const { bytes, documents, space } = slot.archive as KeptArchive;
  const { reindexing: before } = slot.state;
  const name = slot.name ?? slot.prefix + NAMES[prng.int(NAMES.length)];
  const reindexing = slot.name === null ? { ...newReindexing(''), space } : replaced(before, space);
  const put = (): Promise<unknown> =>
    client.archives.restoreCollection(slot.tenant, name, bytes, { replace: slot.name !== null });
  await unlessRefused(worker, isLive(before) ? ['collection_changed'] : [], () =>
    changeState(worker, { name, documents, reindexing }, put),
  );
  await look(worker);
}

// Operations on documents: put, replace and delete, individually and in batches.

/** Codes of documents of a batch that may be stored or not, since a thread of the server has died. */
const CUT_OFF: ReadonlySet<string> = new Set(['shard_unavailable', 'overloaded', 'embedder_unavailable']);
const DOCUMENTS = 20;
const BATCH_MAX = 8;

async function put(worker: Worker): Promise<void> {
  const { client, slot } = worker;
  const { docid, revision, body } = document(worker);
  await change(worker, { documents: new Map([[docid, revision]]) }, () =>
    client.ingestText(slot.tenant, slot.name as string, body as { text: string }),
  );
}

/** Puts a batch. Each document of a batch is stored completely or not at all; the batch may be stored in part. */
async function putBatch(worker: Worker): Promise<void> {
  const { client, slot, prng } = worker;
  const documents = new Map(
    Array.from({ length: 1 + prng.int(BATCH_MAX) }, () => document(worker)).map((made) => [made.docid, made]),
  );
  const stored = new Set<string>();
  const revisions = new Map([...documents.values()].map(({ docid, revision }) => [docid, revision]));
  const send = async (): Promise<void> => {
    const { documents: results } = await client.ingestBatch(
      slot.tenant,
      slot.name as string,
      [...documents.values()].map(({ body }) => body),
    );
    if (results.some((result) => !result.ok && CUT_OFF.has(result.code ?? '')))
      throw new SheafUnreachable('the server', 'a batch was cut off');
    for (const { ok, docid } of results) if (ok && docid !== undefined) stored.add(docid);
  };
  await change(worker, { documents: revisions }, send, (docid) => stored.has(docid));
}

function document({ slot, prng, seed }: Worker): { docid: string; revision: Revision; body: IngestBody } {
  const docid = `d${prng.int(DOCUMENTS)}`;
  const revision = slot.next(docid);
  const content =
    slot.kind === 'text'
      ? { text: partsOf(seed, docid, revision.revision).join('') }
      : { vector: vectorOf(seed, docid, revision.revision) };
  return { docid, revision, body: { docid, metadata: { revision: revision.revision }, ...content } };
}

async function remove(worker: Worker): Promise<void> {
  const { client, slot, prng } = worker;
  const docid = [...slot.documents.keys()][prng.int(slot.documents.size)] as string;
  await change(worker, { documents: new Map([[docid, null]]) }, () =>
    client.deleteDocument(slot.tenant, slot.name as string, docid),
  );
}

interface Operation {
  name: string;
  weight: number;
  isPossible: (slot: Slot) => boolean;
  run: (worker: Worker) => Promise<void>;
}

const isEmpty = ({ name }: Slot): boolean => name === null;
const hasCollection = ({ name }: Slot): boolean => name !== null;
const hasDocuments = ({ documents }: Slot): boolean => documents.size > 0;
const isQuiet = ({ name, state }: Slot): boolean => name !== null && !isLive(state.reindexing);
const hasJob = ({ name, state }: Slot): boolean => name !== null && isLive(state.reindexing);

const OPERATIONS: readonly Operation[] = [
  { name: 'create', weight: 40, isPossible: isEmpty, run: create },
  { name: 'put', weight: 50, isPossible: hasCollection, run: put },
  { name: 'batch', weight: 12, isPossible: hasCollection, run: putBatch },
  { name: 'delete', weight: 12, isPossible: hasDocuments, run: remove },
  {
    name: 'search',
    weight: 15,
    isPossible: hasCollection,
    run: (worker) => checkSearch(worker, 'while it is at work'),
  },
  { name: 'rename', weight: 5, isPossible: hasCollection, run: rename },
  { name: 'drop', weight: 2, isPossible: hasCollection, run: drop },
  { name: 'archive', weight: 1, isPossible: hasCollection, run: archive },
  { name: 'restore', weight: 2, isPossible: ({ archive: kept }) => kept !== undefined, run: restore },
  { name: 'reindex', weight: 8, isPossible: isQuiet, run: reindex },
  { name: 'steer', weight: 25, isPossible: hasJob, run: steer },
  { name: 'rollback', weight: 3, isPossible: isQuiet, run: rollBack },
];

/** Runs a random operation. Rejects like the client; after SheafUnreachable the change stays pending. */
export async function step(worker: Worker): Promise<void> {
  const possible = OPERATIONS.filter(({ isPossible }) => isPossible(worker.slot));
  let at = worker.prng.int(possible.reduce((sum, { weight }) => sum + weight, 0));
  const operation = possible.find(({ weight }) => (at -= weight) < 0) as Operation;
  const answered = worker.slot.trail.asked(operation.name);
  try {
    await operation.run(worker);
    answered('done');
  } catch (error) {
    answered(String(error));
    if (error instanceof SheafUnreachable) count(worker.tally.cutOffs, operation.name);
    throw error;
  }
  count(worker.tally.operations, operation.name);
}
