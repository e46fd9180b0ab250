// Reads the image of an arena from its file straight into the shared memory, region by region, and checks each. What throws has left the memory
// as garbage: it is formatted then. Called by restore.ts, in the shard worker's thread, while the memory is closed to readers.
import { closeSync, openSync, readSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { DamagedCheckpoint, type ImageEntry, type Manifest } from '../../../src/store/checkpoint-files.js';
import { decodeHeader, HEADER_BYTES, REGION_BYTES, type ImageHeader } from '../../../src/store/image-header.js';
import type { ArenaImage } from './arena-image.js';

/** Throws DamagedCheckpoint, or what reading the file fails with. */
export function readImage(image: ArenaImage, path: string, manifest: Manifest, entry: ImageEntry): void {
  const file = openSync(path, 'r');
  try {
    const header = decodeHeader(readWhole(file, Buffer.alloc(HEADER_BYTES), 0));
    if (!belongs(header, manifest, entry)) throw new DamagedCheckpoint(`${entry.file}: of another checkpoint`);
    if (!image.reserve(entry.bytes)) throw new DamagedCheckpoint(`${entry.file}: larger than the memory`);
    image.finish(readRegions(file, image, header), entry);
  } finally {
    closeSync(file);
  }
}

const belongs = (header: ImageHeader, { id, shard, number }: Manifest, { arena, bytes }: ImageEntry): boolean =>
  header.id === id && header.shard === shard && header.number === number && header.arena === arena && header.bytes === bytes;

/** All but the first goes where it belongs; that one is answered, since the words of the process stand there. */
function readRegions(file: number, image: ArenaImage, { bytes, sums }: ImageHeader): Buffer {
  const first = Buffer.alloc(Math.min(bytes, REGION_BYTES));
  sums.forEach((sum, region) => {
    const at = region * REGION_BYTES;
    const target = region === 0 ? first : image.target(at, Math.min(REGION_BYTES, bytes - at));
    readWhole(file, target, HEADER_BYTES + at);
    if (crc32(target) !== sum) throw new DamagedCheckpoint(`image: wrong checksum of region ${region}`);
  });
  return first;
}

function readWhole(file: number, into: Buffer, from: number): Buffer {
  for (let at = 0; at < into.length; ) {
    const count = readSync(file, into, at, into.length - at, from + at);
    if (count === 0) throw new DamagedCheckpoint('image: cut short');
    at += count;
  }
  return into;
}
