// What a cut has left, looked at without a server: is all of it whole (`sheaf check`), and is every slot in a state
// that it may be in? So one death stands for many cuts. Used by lives.ts of the torture program.
import { logIdOf, type StoredCollection } from '../../../src/contract/resources.js';
import { checkDirectory } from '../../../src/store/check/check-directory.js';
import { findingLine } from '../../../src/store/check/findings.js';
import { judge, type Found } from './found.js';
import { readLeft } from './read-left.js';
import type { Tally } from './tally.js';
import type { Documents, Slot } from './world.js';

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

/** Whatever a job has built so far is as the collection has it. */
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
