// Says of two texts in different threads whether they are the same, without carrying the texts: the strong hash of
// each. Pure. Made by the batch workers of what comes and by the shard workers of what is stored; compared by
// service/reused-vectors.ts.
import { hash } from 'node:crypto';

export const DIGEST_BYTES = 32;

/** SHA-256 of the UTF-8 bytes: nobody can make two texts that have the same. */
export const textDigest = (text: string | Uint8Array): Uint8Array => hash('sha256', text, 'buffer');
