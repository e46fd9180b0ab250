// What is damaged on the disk, and the checksum that shows it. Damage is a record that does not fit its checksum or
// does not decode, or pages of LMDB itself that make no sense. It is an error of its own kind: it is told by name, and
// never served. Any thread.
import { crc32 } from 'node:zlib';
import type { CollectionId } from '../api/ids.js';
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

const placeText = ({ environment, table, key }: RecordPlace): string =>
  `${environment}, ${table}, key ${key.toString('hex')}`;

const CHECKSUM_BYTES = 4;

/**
 * The checksum behind every value in LMDB: CRC-32 over the table's name, the key and the value, little-endian, in the
 * last four bytes. So a bit that has flipped in a value shows when the value is read, and so does a value that stands
 * under another key or in another table than it was written to.
 */
export class Checksum {
  private readonly seed: number;

  constructor(
    private readonly environment: string,
    private readonly table: string,
  ) {
    this.seed = crc32(table);
  }

  /** The bytes to store for a value. */
  seal(key: Buffer, value: Buffer): Buffer {
    const sealed = Buffer.allocUnsafe(value.length + CHECKSUM_BYTES);
    value.copy(sealed);
    sealed.writeUInt32LE(this.of(key, value), value.length);
    return sealed;
  }

  /** The value in stored bytes, as a view. Throws DamagedRecord. */
  open(key: Buffer, sealed: Buffer): Buffer {
    const value = this.valueIn(key, sealed);
    if (value) return value;
    const place = { environment: this.environment, table: this.table, key: Buffer.from(key) };
    throw new DamagedRecord(`a record does not fit its checksum: ${placeText(place)}`, place);
  }

  /** undefined where it does not fit. */
  valueIn(key: Buffer, sealed: Buffer): Buffer | undefined {
    const end = sealed.length - CHECKSUM_BYTES;
    if (end < 0) return undefined;
    const value = sealed.subarray(0, end);
    return sealed.readUInt32LE(end) === this.of(key, value) ? value : undefined;
  }

  private of(key: Buffer, value: Buffer): number {
    return crc32(value, crc32(key, this.seed));
  }
}
