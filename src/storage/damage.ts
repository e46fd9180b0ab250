// What is damaged on the disk: a record that does not fit its checksum or does not decode, or pages of LMDB itself that
// make no sense. It is an error of its own kind: it is told by name, and never served. Thrown by the files of this
// folder; workers make refusals of it.
import type { CollectionId } from '../contract/ids.js';
import { collectionOfKey } from './keys.js';

/** Where a damaged record stands. */
export interface RecordPlace {
  /** Folder of the environment below the data directory, such as `shard-0`. */
  environment: string;
  table: string;
  key: Buffer;
}

/** Tables whose keys begin with the id of a collection. */
const BY_COLLECTION: ReadonlySet<string> = new Set([
  'documents',
  'members',
  'chunks',
  'texts',
  'vectors',
  'leaving',
  'queries',
  'sizes',
]);
const ID_BYTES = 4;

export class DamagedRecord extends Error {
  override readonly name = 'DamagedRecord';

  constructor(
    message: string,
    readonly place?: RecordPlace,
  ) {
    super(message);
  }

  /** Whose record it is, where the place tells. */
  get collection(): CollectionId | undefined {
    if (!this.place || !BY_COLLECTION.has(this.place.table) || this.place.key.length < ID_BYTES) return undefined;
    return collectionOfKey(this.place.key);
  }
}

export const placeText = ({ environment, table, key }: RecordPlace): string =>
  `${environment}, ${table}, key ${key.toString('hex')}`;
