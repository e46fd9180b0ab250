// Downloads one file from the hub into FILE.part, resuming where an earlier try ended, checks its digest, and renames
// it to FILE. The partial file is the only state; one that proves wrong is removed.
import { createWriteStream, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Mismatch, networkFault, retrying, Transient } from './faults.mjs';
import { isIntact, segmentOf, renameSynced, sizeOf } from './folder.mjs';

/** A connection that delivers nothing for this long is closed, and the file requested again. */
const STALL_MS = 60_000;

/**
 * Downloads a file, given as `{ repo, commit, path, size, digest }`. `onBytes` receives how many of its bytes have
 * arrived. Throws Refusal and Transient.
 */
export async function fetchFile(hub, file, folder, onBytes) {
  const path = join(folder, file.path);
  const part = segmentOf(path);
  mkdirSync(dirname(path), { recursive: true });
  for (let isResumed = sizeOf(part) > 0; ; isResumed = false) {
    const isRight = await fetchPart(hub, file, part, onBytes);
    if (isRight) return renameSynced(path);
    rmSync(part);
    // A resumed file may begin with what a crash left of it, so it is downloaded once more. A file that came in one go
    // is what the hub sent.
    if (!isResumed)
      throw new Mismatch(
        `${file.path} is not what its checksum says, and is removed: run the command again; if it stays so, ${hub.url} is not to be trusted`,
      );
  }
}

/** Completes the partial file, and returns whether it has the right digest. */
async function fetchPart(hub, file, part, onBytes) {
  try {
    await retrying(hub.note, () => fetchRest(hub, file, part, onBytes));
    return await isIntact(part, file);
  } catch (error) {
    if (error instanceof Mismatch) rmSync(part, { force: true });
    throw error;
  }
}

/** Downloads what the partial file lacks. */
async function fetchRest(hub, file, part, onBytes) {
  const held = sizeOf(part);
  if (held > 0 && held === file.size) return;
  const stalled = new AbortController();
  const timer = setTimeout(() => stalled.abort(new Transient(`${hub.url} sends nothing`)), STALL_MS);
  try {
    const response = await hub.open(file, { start: held, signal: stalled.signal });
    const start = startOf(response, file, held, part);
    onBytes(start);
    const onChunk = (size) => (timer.refresh(), onBytes(size));
    await pipeline(
      counted(response, file, start, onChunk),
      createWriteStream(part, { flags: start > 0 ? 'a' : 'w', flush: true }),
    );
  } finally {
    clearTimeout(timer);
  }
  if (sizeOf(part) < file.size) throw new Transient(`${file.path} ended early`);
}

/**
 * The offset of the first byte of an answer. Throws Transient, with the partial file removed, when the hub does not
 * resume where the partial file ends.
 */
function startOf({ status, headers }, { path, size }, held, part) {
  const [, start, total] = /^bytes (?:(\d+)-\d+|\*)\/(\d+)$/.exec(headers.get('content-range') ?? '') ?? [];
  if (held > 0 && (status === 416 || (status === 206 && Number(start) !== held))) {
    rmSync(part);
    throw new Transient(`the hub does not go on with ${path} at ${held} bytes`, 0);
  }
  const sizeSaid = Number((status === 200 ? headers.get('content-length') : total) ?? size);
  if (sizeSaid !== size)
    throw new Mismatch(
      `${path} should have ${size} bytes by the listing, but the hub has ${sizeSaid}: nothing of it is kept`,
    );
  return status === 206 ? held : 0;
}

/** Yields the bytes of an answer; throws at the first byte beyond the size of the file. */
async function* counted(response, { path, size }, start, onBytes) {
  let held = start;
  try {
    for await (const bytes of response.body ?? []) {
      held += bytes.length;
      if (held > size)
        throw new Mismatch(
          `${path} should have ${size} bytes by the listing, but the hub sends more: nothing of it is kept`,
        );
      onBytes(held);
      yield bytes;
    }
  } catch (error) {
    throw networkFault(response.url, error);
  }
}
