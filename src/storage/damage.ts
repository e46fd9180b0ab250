// Damage on disk, and the checksums that detect it. A record is damaged if its checksum does not fit or it does not
// decode; pages of LMDB are damaged if they are malformed. Damage has an error class of its own, names the record, and
// is never served. Any thread.
import { crc32 } from 'node:zlib';
import type { CollectionId } from '../api/ids.js';
import { collectionOfKey } from './keys.js';

/** The place of a damaged record. */
export interface RecordPlace {
  /** Folder of the environment inside the data directory, such as `shard-0`. */
  environment: string;
  table: string;
  key: Buffer;
}

/** Tables whose keys begin with a collection id. */
const BY_COLLECTION: ReadonlySet<string> = new Set([
  'documents',
  'members',
  'chunks',
  'texts',
  'vectors',
  'leaving',
  'expiries',
  'queries',
  'sizes',
]);
const ID_BYTES = 4;

/** Thrown when stored data is damaged. `place` is known if a checksum detected the damage. */
export class DamagedRecord extends Error {
  override readonly name = 'DamagedRecord';

  constructor(
    message: string,
    readonly place?: RecordPlace,
  ) {
    super(message);
  }

  /** The collection that the record belongs to; undefined if the place is not known or does not tell. */
  get collection(): CollectionId | undefined {
    if (!this.place || !BY_COLLECTION.has(this.place.table) || this.place.key.length < ID_BYTES) return undefined;
    return collectionOfKey(this.place.key);
  }
}

const placeText = ({ environment, table, key }: RecordPlace): string =>
  `${environment}, ${table}, key ${key.toString('hex')}`;

export const CHECKSUM_BYTES = 4;

/**
 * The checksum after every value in LMDB: CRC-32 over the table's name, the key and the value, little-endian, in the
 * last four bytes. It detects flipped bits, and values under another key or in another table than they were written to.
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
    throw new DamagedRecord(`a record does not match its checksum: ${placeText(place)}`, place);
  }

  /** Like `open`, but returns undefined if the checksum does not fit. */
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
