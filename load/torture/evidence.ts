// Evidence of a violation: a copy of the data directory as the server left it, the last requests of the slots' writers,
// and which collections of the stores hold the unexpected documents: another than the current one (a switch took older
// data), or none (a commit is lost). Reads LMDB files without the library.
import { cpSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  logIdOf,
  type ShadowRecord,
  type StoredCollection,
  type StoredJob,
} from '../../src/storage/catalog-commands.js';
import type { CollectionId } from '../../src/api/ids.js';
import { decodeCollection, decodeJob, decodeShadow } from '../../src/storage/catalog-records.js';
import { checkDirectory, checkPages, findingLine } from '../../src/storage/check/check.js';
import { collectionOfKey } from '../../src/storage/keys.js';
import { decodeDocument } from '../../src/storage/records.js';
import { type Documents, type Found, type Revision, type Slot, judge } from './model.js';
import type { Tally } from './writer.js';

const CATALOG = ['collections', 'staged', 'jobs'];

/**
 * Collections, shadow collections, jobs and documents of a data directory, read without a server and without the
 * library.
 */
export interface Left {
  collections: StoredCollection[];
  staged: ShadowRecord[];
  jobs: StoredJob[];
  /** Documents of every collection, including those that have been dropped. */
  documents: ReadonlyMap<CollectionId, Documents>;
}

function readLeft(dataDir: string, shards: number): Left {
  const tables = checkPages(dataDir, 'catalog', CATALOG).whole;
  const values = (table: string): Buffer[] => (tables.get(table) ?? []).map(({ value }) => value);
  return {
    collections: values('collections').map(decodeCollection),
    staged: values('staged').map(decodeShadow),
    jobs: values('jobs').map(decodeJob),
    documents: documentsIn(dataDir, shards),
  };
}

function documentsIn(dataDir: string, shards: number): Map<CollectionId, Documents> {
  const documents = new Map<CollectionId, Map<string, Revision>>();
  for (let shard = 0; shard < shards; shard++) {
    for (const { key, value } of checkPages(dataDir, `shard-${shard}`, ['documents']).whole.get('documents') ?? []) {
      const { docid, version, metadataJson } = decodeDocument(value);
      const own = documents.get(collectionOfKey(key)) ?? new Map<string, Revision>();
      documents.set(
        collectionOfKey(key),
        own.set(docid, { version, revision: (JSON.parse(metadataJson) as { revision: number }).revision }),
      );
    }
  }
  return documents;
}

interface Kept {
  /** Name of the program, which becomes part of the copy's name. */
  program: string;
  seed: number;
  /** The folder that is copied; the data directory in it is `data`. */
  folder: string;
  data: string;
  shards: number;
}

/** Copies the folder, and prints its location and the context of the violations. */
export function keepEvidence(
  { program, seed, folder, data, shards }: Kept,
  slots: readonly Slot[],
  violations: readonly string[],
): void {
  const to = join(tmpdir(), `sheaf-${program}-${seed}`);
  rmSync(to, { recursive: true, force: true });
  cpSync(folder, to, { recursive: true });
  console.log(`  kept: ${to}`);
  const left = readLeft(join(folder, data), shards);
  for (const slot of slots.filter((one) => isAbout(one, violations)))
    for (const line of evidenceOf(slot, left)) console.log(`    ${line}`);
}

const isAbout = ({ tenant, prefix }: Slot, violations: readonly string[]): boolean =>
  violations.some((violation) => violation.includes(`${tenant}/${prefix}`));

export function evidenceOf(slot: Slot, left: Left): string[] {
  const { tenant, prefix, documents, trail } = slot;
  const live = left.collections.filter((one) => one.tenant === tenant && one.name.startsWith(prefix));
  const staged = left.staged.filter(
    ({ collection }) => collection.tenant === tenant && collection.name.startsWith(prefix),
  );
  const known = new Map<number, string>([
    ...live.map(({ id, name }): [number, string] => [id, name]),
    ...staged.map(({ id, purpose, replaces }): [number, string] => [id, `${purpose} beside ${replaces ?? 'nothing'}`]),
  ]);
  const others = new Set<number>(
    [...left.collections, ...left.staged].map(({ id }) => id).filter((id) => !known.has(id)),
  );
  const holders = [...left.documents].filter(([id]) => !others.has(id));
  const shown = [...left.documents].find(([id]) => id === live[0]?.id)?.[1];
  const wrong = [...new Set([...documents.keys(), ...(shown?.keys() ?? [])])].filter(
    (docid) => told(shown?.get(docid)) !== told(documents.get(docid)),
  );
  const held = (docid: string): string => {
    const found = holders.filter(
      ([id, own]) => own.has(docid) && (known.has(id) || told(own.get(docid)) === told(documents.get(docid))),
    );
    return (
      found.map(([id, own]) => `${id} (${known.get(id) ?? 'given up'}) has ${told(own.get(docid))}`).join(', ') ||
      'no collection has it'
    );
  };
  return [
    `${tenant}/${slot.name ?? prefix}`,
    ...wrong.map((docid) => `${docid} was acknowledged ${told(documents.get(docid))}: ${held(docid)}`),
    ...trail.lines(),
  ];
}

const told = (made: Revision | undefined): string =>
  made ? `in revision ${made.revision} and version ${made.version}` : 'absent';

/**
 * Checks the state after a cut without a server: `sheaf check` finds no damage, and every slot is in a permitted state.
 * This way, one death covers many cuts.
 */
export async function checkLeft(
  dataDir: string,
  shards: number,
  slots: readonly Slot[],
  tally: Tally,
  when: string,
): Promise<void> {
  for await (const finding of checkDirectory(dataDir)) tally.violations.push(`${when}: ${findingLine(finding)}`);
  const { collections, staged, jobs: all, documents } = readLeft(dataDir, shards);
  const jobs = all.sort((a, b) => (a.job_id < b.job_id ? 1 : -1));
  for (const slot of slots) {
    const own = collections.filter(({ tenant, name }) => tenant === slot.tenant && name.startsWith(slot.prefix));
    const [collection] = own;
    const found: Found = {
      names: own.map(({ name }) => name),
      documents: (collection && documents.get(collection.id)) ?? new Map(),
      space: collection?.vector_space_key ?? '',
      jobs: jobs.filter(({ log_id: id }) => collection && id === logIdOf(collection)),
    };
    tally.violations.push(
      ...judge(slot, found).complaints.map(
        (complaint) => `${when}: ${slot.tenant}/${slot.name ?? slot.prefix}: ${complaint}`,
      ),
    );
  }
  for (const { id, purpose, replaces } of staged) {
    const source = collections.find((collection) => collection.id === replaces);
    if (purpose === 'reindex' && source)
      tally.violations.push(
        ...strayIn(documents.get(id), documents.get(source.id), source).map((stray) => `${when}: ${stray}`),
      );
  }
}

/**
 * Documents of shadow collections that differ from the collection's, though a job has only built what the collection
 * has.
 */
function strayIn(
  built: Documents = new Map(),
  source: Documents = new Map(),
  { tenant, name }: StoredCollection,
): string[] {
  const stray = [...built].filter(
    ([docid, { version, revision }]) =>
      source.get(docid)?.version !== version || source.get(docid)?.revision !== revision,
  );
  return stray.map(
    ([docid, { revision }]) =>
      `a job of ${tenant}/${name} has built ${docid} in revision ${revision}, and the collection has it in ${source.get(docid)?.revision ?? 'none'}`,
  );
}
