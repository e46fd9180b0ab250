// Fills a model folder from the hub's listing: chooses the files, checks those that are there, and downloads the
// others. The caller holds the lock of the folder.
import { statfsSync } from 'node:fs';
import { join } from 'node:path';
import { chooseFiles } from './choose-files.mjs';
import { Refusal } from './faults.mjs';
import { fetchFile } from './fetch-file.mjs';
import { beginSource, finishSource, isIntact, segmentOf, readSource, sizeOf } from './folder.mjs';
import { sizeText } from './progress.mjs';

/**
 * Fills the folder with `graph` and the files that it needs. Graphs that were downloaded before are brought to the same
 * commit.
 */
export async function fetchModel({ hub, listing, graph, folder, say, progress }) {
  const { repo, commit } = listing;
  const before = readSource(folder, repo);
  const kept = before.isWhole ? before.files.map(({ path }) => path).filter((path) => path.endsWith('.onnx')) : [];
  const files = chooseFiles(listing, [...new Set([...kept, graph])]);
  const missing = await missingOf(files, folder);
  say(
    `${repo} at ${commit.slice(0, 12)}: ${files.length} files, ${totalText(files)}; to fetch: ${missing.length === 0 ? 'none' : `${missing.length}, ${totalText(missing)}`}`,
  );
  if (missing.length > 0 || !before.isWhole || before.commit !== commit || before.files.length !== files.length) {
    beginSource(folder, { repo, commit, files }, before);
    await fetchAll(
      hub,
      missing.map((each) => ({ ...each, repo, commit })),
      folder,
      progress,
    );
    finishSource(folder);
  }
}

async function missingOf(files, folder) {
  const missing = [];
  for (const file of files) if (!(await isIntact(join(folder, file.path), file))) missing.push(file);
  return missing;
}

async function fetchAll(hub, missing, folder, progress) {
  const held = missing.reduce((sum, { path }) => sum + sizeOf(join(folder, segmentOf(path))), 0);
  const { bavail, bsize } = statfsSync(folder);
  const room = bavail * bsize;
  if (bytesOf(missing) - held > room)
    throw new Refusal(
      `the disk is too full: ${totalText(missing)} are to come to ${folder}, and ${sizeText(room)} are free`,
    );
  progress.start(bytesOf(missing), held);
  for (const file of missing) {
    progress.begin(file);
    await fetchFile(hub, file, folder, progress.at);
    progress.end();
  }
}

const bytesOf = (files) => files.reduce((sum, { size }) => sum + size, 0);
const totalText = (files) => sizeText(bytesOf(files));
