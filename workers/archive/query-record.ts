// What is wrong with the record of a logged search, before it goes into an archive and when it comes out of one. Archive
// process only.
import { faultOfQuery } from '../../src/archive/query-fault.js';
import { DamagedRecord } from '../../src/store/damage.js';
import { decodeQuery } from '../../src/store/query-records.js';

/** The end of a sentence that begins with the search; undefined where nothing is wrong. */
export function faultOfRecord({ buffer, byteOffset, byteLength }: Uint8Array): string | undefined {
  try {
    return faultOfQuery(decodeQuery(Buffer.from(buffer, byteOffset, byteLength)));
  } catch (error) {
    if (error instanceof DamagedRecord) return `it does not decode: ${error.message}`;
    throw error;
  }
}
