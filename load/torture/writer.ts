// A writer of the torture program: one change at a time, recorded before the request and resolved by the answer; the
// documents and spaces that it writes; and the summary of a run.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Prng, createPrng } from '../../src/base/prng.js';
import type { SheafClient } from '../../src/client/client.js';
import { SheafError } from '../../src/client/errors.js';
import { BUILTIN, identitySpace, spaceOf } from '../../src/embedding/spaces.js';
import { whole } from '../kit/command.js';
import { type Settings, startEmbeddingsEndpoint } from '../kit/server.js';
import type { FoundJobs, Pending, Slot, State } from './model.js';

const VIOLATIONS_SHOWN = 20;

/** Summary of a run of random operations. */
export interface Tally {
  acknowledged: number;
  /** Changes interrupted by a death, and those of them that had happened. */
  cutOff: number;
  kept: number;
  searches: number;
  /** Chunks that were read and compared. */
  chunks: number;
  /** Acknowledged operations by name. */
  operations: Map<string, number>;
  /** Operations that a death cut off, by name. */
  cutOffs: Map<string, number>;
  /** Reindex jobs by how they ended. */
  jobs: Map<string, number>;
  violations: string[];
}

export const emptyTally = (): Tally => ({
  acknowledged: 0,
  cutOff: 0,
  kept: 0,
  searches: 0,
  chunks: 0,
  operations: new Map(),
  cutOffs: new Map(),
  jobs: new Map(),
  violations: [],
});

export const count = (counts: Map<string, number>, name: string): void =>
  void counts.set(name, (counts.get(name) ?? 0) + 1);

export const counted = (counts: ReadonlyMap<string, number>): string =>
  [...counts].map(([name, number]) => `${name} ${whole(number)}`).join(', ');

/** Prints the violations. */
export function printViolations({ violations }: Tally): void {
  for (const violation of violations.slice(0, VIOLATIONS_SHOWN)) console.log(`  violation: ${violation}`);
}

/** One writer with its slot. */
export interface Worker {
  client: SheafClient;
  slot: Slot;
  prng: Prng;
  seed: number;
  tally: Tally;
}

/** Records a change and sends it. Rejects like `ask`; after SheafUnreachable the change stays pending. */
export async function change(
  { slot, tally }: Worker,
  pending: Pending,
  ask: () => Promise<unknown>,
  happened?: (docid: string) => boolean,
): Promise<void> {
  slot.pending = pending;
  const answered = slot.trail.asked(changeText(pending));
  await ask().catch((error: unknown) => {
    answered(error instanceof SheafError ? error.code : String(error));
    throw error;
  });
  const refused =
    'documents' in pending ? [...pending.documents.keys()].filter((docid) => happened?.(docid) === false) : [];
  answered(refused.length > 0 ? `done, but not ${refused.join(', ')}` : 'done');
  slot.settle(happened);
  tally.acknowledged++;
}

export const changeState = (worker: Worker, wanted: Partial<State>, ask: () => Promise<unknown>): Promise<void> =>
  change(worker, { state: { ...worker.slot.state, ...wanted } }, ask);

/**
 * `change` for requests that the server may reject with one of these codes, without an effect. Resolves to whether the
 * change has happened.
 */
export async function unlessRefused(
  worker: Worker,
  codes: readonly string[],
  work: () => Promise<void>,
): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (!(error instanceof SheafError) || !codes.includes(error.code)) throw error;
    worker.slot.forget();
    return false;
  }
}

/** A description of a change, for the trail. */
export function changeText(pending: Pending): string {
  if ('documents' in pending)
    return [...pending.documents]
      .map(([docid, made]) =>
        made ? `${docid} in revision ${made.revision} and version ${made.version}` : `${docid} deleted`,
      )
      .join(', ');
  const {
    name,
    documents,
    reindexing: { space, job },
  } = pending.state;
  return `${name ?? 'nothing'} with ${documents.size} documents in ${space ?? 'some space'}${job ? `, job ${job.id ?? 'to begin'} ${job.status}` : ''}`;
}

// Document contents: the parts of every revision are distinguishable, so that partial documents and mixed revisions are
// detected. Contents are a function of seed, document id and revision.

/** Chunk size of the collection, without overlap: part i of a text is chunk i. */
export const PART_CHARACTERS = 160;
export const VECTOR_DIM = 24;
const PARTS_MAX = 8;
const WORDS = 500;
const SYLLABLES = [
  'ba',
  'ce',
  'di',
  'fo',
  'gu',
  'ha',
  'je',
  'ki',
  'lo',
  'mu',
  'na',
  'pe',
  'qui',
  'ro',
  'su',
  'ta',
  've',
  'wi',
  'xo',
  'zu',
];

const VOCABULARY = vocabulary();

function vocabulary(): string[] {
  const prng = createPrng(1);
  return Array.from({ length: WORDS }, () =>
    Array.from({ length: 2 + prng.int(3) }, () => SYLLABLES[prng.int(SYLLABLES.length)]).join(''),
  );
}

/** The 1 to 8 parts of a revision, each of PART_CHARACTERS characters. */
export function partsOf(seed: number, docid: string, revision: number): string[] {
  const prng = createPrng(seed * 31 + Number(docid.slice(1)) * 1009 + revision * 9_176_543);
  return Array.from({ length: 1 + prng.int(PARTS_MAX) }, (_, part) => {
    let text = `${docid} r${revision} p${part}`;
    while (text.length < PART_CHARACTERS) text += ` ${VOCABULARY[prng.int(WORDS)]}`;
    return `${text.slice(0, PART_CHARACTERS - 1)}.`;
  });
}

/** The vector of a document that is ingested as a vector. */
export function vectorOf(seed: number, docid: string, revision: number): number[] {
  const prng = createPrng(seed * 37 + Number(docid.slice(1)) * 2003 + revision * 7_368_787);
  return Array.from({ length: VECTOR_DIM }, () => Math.fround(prng.normal()));
}

// The vector spaces: the built-in one, one by a slow endpoint, and one of given vectors. The endpoint's vectors are a
// function of the text, so that searches can be compared with brute force.

const FAR_DIM = 16;
const FAR_MODEL = 'far';
/**
 * The longest time that the endpoint takes for a text; a page of texts keeps a job running while the server is killed.
 */
const TEXT_MS_MAX = 4;

export const NEAR = BUILTIN.space.vector_space_key;
export const FAR = spaceOf('openai', FAR_MODEL, { dim: FAR_DIM }).vector_space_key;
export const GIVEN = identitySpace(null, { dim: VECTOR_DIM }).vector_space_key;

/** Runs `work` with the settings of a server that has all of these spaces. */
export async function withSpaces<T>(seed: number, work: (settings: Settings) => Promise<T>): Promise<T> {
  const prng = createPrng(seed);
  const endpoint = await startEmbeddingsEndpoint(async (texts) => {
    await sleep(prng.int(1 + texts.length * TEXT_MS_MAX));
    return texts.map((text) => Float32Array.from(farVectorOf(text)));
  });
  try {
    const instance = { key: FAR_MODEL, type: 'openai', url: endpoint.url, model: FAR_MODEL, dim: FAR_DIM };
    return await work({ SHEAF_EMBEDDER__INSTANCES: JSON.stringify([instance]), SHEAF_EMBEDDER__DEFAULT: BUILTIN.key });
  } finally {
    endpoint.close();
  }
}

const JOBS_AGAIN_MS = 5;

export function farVectorOf(text: string): number[] {
  let hash = 0;
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0;
  const prng = createPrng(hash);
  return Array.from({ length: FAR_DIM }, () => Math.fround(prng.normal()));
}

/** The key of the other space that a collection of texts may be in. */
export const otherSpace = (space: string): string => (space === FAR ? NEAR : FAR);

/**
 * The latest job and the space of a collection at one moment, read while the job proceeds. Reads again if the job has
 * changed in between, and while it switches the collection: if an owner dies then, the switch may stand before the job
 * says so.
 */
export async function findJobs(client: SheafClient, tenant: string, name: string): Promise<FoundJobs> {
  for (;;) {
    const { jobs: before } = await client.reindex.list(tenant, name);
    const { vector_space_key: space } = await client.collectionDetail(tenant, name);
    const { jobs } = await client.reindex.list(tenant, name);
    if (before[0]?.status === jobs[0]?.status && jobs[0]?.status !== 'committing')
      return { space: space as string, jobs };
    await sleep(JOBS_AGAIN_MS);
  }
}
