// What a data directory has of collections, of what is staged beside them, of jobs and documents, read without a server
// and without the library. Used by check-left.ts and evidence.ts.
import type { CollectionId } from '../../../src/contract/ids.js';
import type { StoredJob } from '../../../src/contract/reindex.js';
import type { StoredCollection } from '../../../src/contract/resources.js';
import type { StagedRecord } from '../../../src/contract/staged.js';
import { checkPages } from '../../../src/store/check/check-pages.js';
import { decodeCollection, decodeJob, decodeStaged } from '../../../src/store/catalog-records.js';
import { collectionOfKey } from '../../../src/store/keys.js';
import { decodeDocument } from '../../../src/store/records.js';
import type { Documents, Revision } from './world.js';

const CATALOG = ['collections', 'staged', 'jobs'];

export interface Left {
  collections: StoredCollection[];
  staged: StagedRecord[];
  jobs: StoredJob[];
  /** Of every collection, whether it is one still or not. */
  documents: ReadonlyMap<CollectionId, Documents>;
}

export function readLeft(dataDir: string, shards: number): Left {
  const tables = checkPages(dataDir, 'catalog', CATALOG).whole;
  const values = (table: string): Buffer[] => (tables.get(table) ?? []).map(({ value }) => value);
  return {
    collections: values('collections').map(decodeCollection),
    staged: values('staged').map(decodeStaged),
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
