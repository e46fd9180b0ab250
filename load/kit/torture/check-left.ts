// What a cut has left, looked at without a server: is all of it whole (`sheaf check`), and is every document in a state that it may be in? So one death stands
// for many cuts. Used by lives.ts of the torture program.
import { collectionOfKey } from '../../../src/store/keys.js';
import { decodeDocument } from '../../../src/store/records.js';
import { decodeCollection } from '../../../src/store/catalog-records.js';
import { checkDirectory } from '../../../src/store/check/check-directory.js';
import { checkPages } from '../../../src/store/check/check-pages.js';
import { findingLine } from '../../../src/store/check/findings.js';
import type { Revision, Slot, Tally } from './world.js';

export async function checkLeft(dataDir: string, shards: number, slots: readonly Slot[], tally: Tally, when: string): Promise<void> {
  for await (const finding of checkDirectory(dataDir)) tally.violations.push(`${when}: ${findingLine(finding)}`);
  const collections = recordsOf(dataDir, 'catalog', 'collections').map(({ value }) => decodeCollection(value));
  const documents = documentsIn(dataDir, shards);
  for (const slot of slots) {
    const found = collections.filter(({ tenant, name }) => tenant === slot.tenant && name.startsWith(slot.prefix));
    const [collection] = found;
    if (found.length > 1 || !slot.allowedNames().includes(collection?.name ?? null)) tally.violations.push(`${when}: ${slot.tenant} has ${found.map(({ name }) => name).join() || 'none'}, not ${slot.allowedNames().join(' or ')}`);
    // Where the collection comes or goes with the change under way, so do its documents.
    if (collection && slot.name !== null) compare(slot, documents.get(collection.id) ?? new Map(), tally, when);
  }
}

function compare(slot: Slot, found: ReadonlyMap<string, Revision>, tally: Tally, when: string): void {
  const sent = slot.pending && 'documents' in slot.pending ? [...slot.pending.documents.keys()] : [];
  for (const docid of new Set([...found.keys(), ...slot.documents.keys(), ...sent])) {
    const revision = found.get(docid);
    const isAllowed = slot.allowed(docid).some((allowed) => allowed?.revision === revision?.revision && allowed?.version === revision?.version);
    if (!isAllowed) tally.violations.push(`${when}: ${slot.tenant}/${slot.name} has ${docid} in revision ${revision?.revision ?? 'none'}, not ${slot.allowed(docid).map((allowed) => allowed?.revision ?? 'none').join(' or ')}`);
  }
}

/** By collection and document id. */
function documentsIn(dataDir: string, shards: number): Map<number, Map<string, Revision>> {
  const documents = new Map<number, Map<string, Revision>>();
  for (let shard = 0; shard < shards; shard++) {
    for (const { key, value } of recordsOf(dataDir, `shard-${shard}`, 'documents')) {
      const { docid, version, metadataJson } = decodeDocument(value);
      const own = documents.get(collectionOfKey(key)) ?? new Map<string, Revision>();
      documents.set(collectionOfKey(key), own.set(docid, { version, revision: (JSON.parse(metadataJson) as { revision: number }).revision }));
    }
  }
  return documents;
}

const recordsOf = (dataDir: string, environment: string, table: string): { key: Buffer; value: Buffer }[] => checkPages(dataDir, environment, [table]).whole.get(table) ?? [];
