// `sheaf import`: a collection archive of PaveDB 0.9.7 becomes a collection of Sheaf, with documents, chunks, texts,
// vectors, settings and log, and nothing is embedded anew. It is written as an archive of Sheaf beside it, which is
// restored.
import { createWriteStream, openAsBlob } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { v7 as uuidv7 } from 'uuid';
import type { ArchiveCounts, ArchivedSettings } from '../api/archives.js';
import type { CollectionDetail, CreateBody } from '../api/collections.js';
import {
  ArchiveFault,
  type CollectionManifest,
  MANIFEST,
  documentsEntry,
  headingAt,
  queriesEntry,
  settingsOf,
} from '../archive/format.js';
import { PaveArchive, timeOf } from '../archive/pavedb.js';
import { packDocument, packQuery } from '../archive/records.js';
import { ArchiveWriter, SegmentWriter } from '../archive/writer.js';
import type { SheafClient } from '../client/client.js';
import { EXIT, type Target, withInterrupt } from './command-line.js';
import { UsageError } from './errors.js';
import { readableFile } from './files.js';
import { type Output, count, duration, line } from './output.js';

export interface ImportFlags {
  /** Selector of the embedder that made the vectors, where it has another name here. */
  embedder: string | undefined;
  replace: boolean;
}

/** Exit code: 0 when all of it is there, 130 after Ctrl-C. Throws UsageError for an archive that cannot be read. */
export async function importPaveDb(
  { client, tenant, collection }: Target,
  file: string,
  { embedder, replace }: ImportFlags,
  output: Output,
): Promise<number> {
  await readableFile(file, 'Name the archive.');
  const startedAtMs = performance.now();
  const folder = await mkdtemp(join(tmpdir(), 'sheaf-import-'));
  return withInterrupt(async (signal) => {
    try {
      const archive = await PaveArchive.open(file, folder);
      try {
        const settings = await settingsHere(client, tenant, archive, embedder);
        const { counts, unread, path } = await convert(archive, settings, folder);
        await client.archives.restoreCollection(tenant, collection, await openAsBlob(path), { replace, signal });
        if (unread > 0) line(output.stderr, `Left out: ${count(unread, 'logged search')} that cannot be told here.`);
        line(
          output.stdout,
          `${tenant}/${collection} imported from ${file}: ${count(counts.documents, 'document')}, ${count(counts.chunks, 'chunk')}, ${counts.queries} of the log, ${duration((performance.now() - startedAtMs) / 1000)}.`,
        );
        return EXIT.done;
      } finally {
        archive.close();
      }
    } catch (error) {
      if (signal.aborted) return EXIT.interrupted;
      throw explained(error, file);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
}

/** The settings that a collection like this one gets on the server: asked by making one, which goes again. */
async function settingsHere(
  client: SheafClient,
  tenant: string,
  archive: PaveArchive,
  embedder: string | undefined,
): Promise<ArchivedSettings> {
  const { collection, source } = archive.manifest;
  const name = `import-${uuidv7()}`;
  await client.createCollection(tenant, name, createBody(archive, embedder));
  try {
    const made = (await client.collectionDetail(tenant, name)) as CollectionDetail;
    const createdAt = collection.created_at;
    return settingsOf({
      ...made,
      tenant: source.tenant,
      name: source.collection,
      display_name: made.display_name === name ? (collection.display_name ?? source.collection) : made.display_name,
      created_at: createdAt == null ? made.created_at : new Date(timeOf(createdAt)).toISOString(),
      dim: archive.dim ?? Number(made.embedder_config?.dim ?? 1),
    } as ArchivedSettings);
  } finally {
    await client.deleteCollection(tenant, name);
  }
}

function createBody({ manifest, settings }: PaveArchive, embedder: string | undefined): CreateBody {
  const { embedder_type: type, embed_model: model, embedder_config: config } = manifest.embedder_spec;
  const space =
    type === 'identity'
      ? { embedder_type: type, embedder_config: config }
      : { embedder: embedder ?? `${type}:${model}` };
  const given = (key: string): object => (settings.has(key) ? { [key]: settings.get(key) } : {});
  return { ...space, ...given('chunking'), ...given('search_mode'), ...given('priority_key') };
}

const explained = (error: unknown, file: string): unknown =>
  error instanceof ArchiveFault ? new UsageError(`${file}: ${error.message.replace(/\.+$/, '')}.`) : error;

/** `path`: the archive that it has become, in the folder. */
async function convert(
  archive: PaveArchive,
  settings: ArchivedSettings,
  folder: string,
): Promise<{ counts: ArchiveCounts; unread: number; path: string }> {
  const path = join(folder, 'sheaf.zip');
  const writer = new ArchiveWriter(new Date());
  const [converted] = await Promise.all([
    write(writer, archive, settings),
    pipeline(writer.output, createWriteStream(path, { mode: 0o600 })),
  ]);
  return { ...converted, path };
}

async function write(
  writer: ArchiveWriter,
  archive: PaveArchive,
  settings: ArchivedSettings,
): Promise<{ counts: ArchiveCounts; unread: number }> {
  const counts: ArchiveCounts = { documents: 0, chunks: 0, queries: 0 };
  let unread = 0;
  const documents = new SegmentWriter(writer, (place) => documentsEntry('', place));
  for (const document of archive.documents(settings.priority_key)) {
    await documents.add(packDocument(document));
    counts.documents++;
    counts.chunks += document.chunks.length;
  }
  await documents.end();
  const queries = new SegmentWriter(writer, (place) => queriesEntry('', place));
  for (const query of archive.queries()) {
    if (query) await queries.add(packQuery(query));
    if (query) counts.queries++;
    else unread++;
  }
  await queries.end();
  const manifest: CollectionManifest = {
    format: 'sheaf-collection',
    ...headingAt(new Date().toISOString()),
    collection: settings,
    counts,
    entries: [...documents.entries, ...queries.entries],
  };
  await writer.addJson(MANIFEST, manifest);
  writer.end();
  return { counts, unread };
}
