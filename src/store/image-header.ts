// The header of an image in a checkpoint, and how the image is cut into regions with a checksum each. Pure bytes; the
// layout stands in workers/shard/checkpoint/README.md. Used by what writes and reads images, in the shard worker's
// thread.
import { crc32 } from 'node:zlib';
import { DamagedCheckpoint, CHECKPOINT_VERSION } from './checkpoint-files.js';

/** Bytes of memory under one checksum. */
export const REGION_BYTES = 2 ** 20;
/** Room for the checksums of 4 GiB. */
export const HEADER_BYTES = 32_768;
const MAGIC = 0x53484649;
const SUMS_AT = 64;
const REGIONS_MAX = 4096;

export interface ImageHeader {
  /** Of the checkpoint, 16 bytes in hexadecimal. */
  id: string;
  shard: number;
  arena: number;
  /** The last change that the image has. */
  number: number;
  bytes: number;
  /** Of each region. */
  sums: readonly number[];
}

export function encodeHeader({ id, shard, arena, number, bytes, sums }: ImageHeader): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  [MAGIC, CHECKPOINT_VERSION, shard, arena, sums.length].forEach((word, i) => header.writeUInt32LE(word, 4 + 4 * i));
  header.writeBigUInt64LE(BigInt(number), 24);
  header.write(id, 32, 'hex');
  header.writeBigUInt64LE(BigInt(bytes), 48);
  sums.forEach((sum, i) => header.writeUInt32LE(sum, SUMS_AT + 4 * i));
  header.writeUInt32LE(crc32(header.subarray(4)), 0);
  return header;
}

/** Throws DamagedCheckpoint where it is not a header of this version. */
export function decodeHeader(header: Buffer): ImageHeader {
  if (header.length !== HEADER_BYTES || header.readUInt32LE(0) !== crc32(header.subarray(4)))
    throw new DamagedCheckpoint('image: wrong checksum of the header');
  const [magic, version, shard, arena, regions] = [4, 8, 12, 16, 20].map((at) => header.readUInt32LE(at)) as [
    number,
    number,
    number,
    number,
    number,
  ];
  const bytes = Number(header.readBigUInt64LE(48));
  if (
    magic !== MAGIC ||
    version !== CHECKPOINT_VERSION ||
    regions > REGIONS_MAX ||
    regions !== Math.ceil(bytes / REGION_BYTES)
  )
    throw new DamagedCheckpoint('image: another version');
  const sums = Array.from({ length: regions }, (_, i) => header.readUInt32LE(SUMS_AT + 4 * i));
  return { id: header.toString('hex', 32, 48), shard, arena, number: Number(header.readBigUInt64LE(24)), bytes, sums };
}
