// Reads the image of an arena from its file straight into the shared memory, region by region, and checks each. What
// throws has left the memory as garbage: it is formatted then. Called by restore.ts, in the shard worker's thread,
// while the memory is closed to readers.
import { DamagedCheckpoint, type ImageEntry, type Manifest } from '../../../src/store/checkpoint-files.js';
import { ImageFile } from '../../../src/store/image-file.js';
import { REGION_BYTES } from '../../../src/store/image-header.js';
import type { ArenaImage } from './arena-image.js';

/** Throws DamagedCheckpoint, or what reading the file fails with. */
export function readImage(image: ArenaImage, path: string, manifest: Manifest, entry: ImageEntry): void {
  const file = ImageFile.open(path, manifest, entry);
  try {
    if (!image.reserve(entry.bytes)) throw new DamagedCheckpoint(`${entry.file}: larger than the memory`);
    image.finish(readRegions(file, image), entry);
  } finally {
    file.close();
  }
}

/** All but the first goes where it belongs; that one is answered, since the words of the process stand there. */
function readRegions(file: ImageFile, image: ArenaImage): Buffer {
  const first = Buffer.alloc(file.bytesOf(0));
  for (let region = 0; region < file.regions; region++) {
    file.read(region, region === 0 ? first : image.target(region * REGION_BYTES, file.bytesOf(region)));
  }
  return first;
}
