// `sheaf import`: converts a collection archive of PaveDB 0.9.7, or a collection of Chroma or Qdrant, into a collection
// of Sheaf. Texts and vectors are kept: they are written as an archive of Sheaf in a temporary folder, which is
// restored. If the vectors are not wanted, the texts are ingested instead.
import { openAsBlob } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import type { ArchiveCounts, ArchivedSettings } from '../api/archives.js';
import type { CollectionDetail, CreateBody } from '../api/collections.js';
import type { IngestBody } from '../api/documents.js';
import { ArchiveError, type CollectionManifest, MANIFEST, headingAt, settingsOf } from '../archive/format.js';
import { PaveArchive, timeOf } from '../archive/pavedb.js';
import {
  type ArchivedDocument,
  type ArchivedQuery,
  type DocumentRules,
  problemOfDocument,
  vectorsOf,
} from '../archive/records.js';
import { type ArchiveWriter, addJson, writeArchiveAt, writeRecords } from '../archive/writer.js';
import type { SheafClient } from '../client/client.js';
import { priorityOf } from '../ranking/scores.js';
import { EXIT, type Target, withInterrupt } from './command-line.js';
import type { SourceCollection, SourceRecord } from './databases.js';
import { UsageError, explainError } from './errors.js';
import { readableFile } from './files.js';
import { type StoredDocuments, storedDocuments } from './ingest-ndjson.js';
import { type Output, count, duration, line, oneLine } from './output.js';
import { type Progress, startProgress } from './progress.js';

export interface ImportFlags {
  /** Selector of the embedder that made the vectors, if its name on this server differs. */
  embedder: string | undefined;
  replace: boolean;
}

/** Exit code: 0 if everything is imported, 130 after Ctrl-C. Throws UsageError for an unreadable archive. */
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
        const settings = await settingsHere(client, tenant, createBody(archive, embedder), originOf(archive));
        const content = { documents: archive.documents(settings.priority_key), queries: archive.queries() };
        const { counts, unread, path } = await convert(content, settings, folder);
        await client.archives.restoreCollection(tenant, collection, await openAsBlob(path), { replace, signal });
        if (unread > 0) line(output.stderr, `Left out: ${count(unread, 'logged search')} that Sheaf cannot represent.`);
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

/** The collection that an archive was made from. */
interface Origin {
  tenant: string;
  name: string;
  displayName?: string | null | undefined;
  createdAt?: string | null | undefined;
  /** Undefined if there are no vectors. */
  dim: number | undefined;
}

/** The settings that such a collection gets on this server, determined by creating a temporary one. */
async function settingsHere(
  client: SheafClient,
  tenant: string,
  body: CreateBody,
  { displayName, createdAt, dim, ...origin }: Origin,
): Promise<ArchivedSettings> {
  const name = `import-${uuidv7()}`;
  await client.createCollection(tenant, name, body);
  try {
    const made = (await client.collectionDetail(tenant, name)) as CollectionDetail;
    return settingsOf({
      ...made,
      ...origin,
      display_name: made.display_name === name ? (displayName ?? origin.name) : made.display_name,
      created_at: createdAt == null ? made.created_at : new Date(timeOf(createdAt)).toISOString(),
      dim: dim ?? Number(made.embedder_config?.dim ?? 1),
    } as ArchivedSettings);
  } finally {
    await client.deleteCollection(tenant, name);
  }
}

function originOf({ manifest: { collection, source }, dim }: PaveArchive): Origin {
  const { tenant, collection: name } = source;
  return { tenant, name, displayName: collection.display_name, createdAt: collection.created_at, dim };
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
  error instanceof ArchiveError ? new UsageError(`${file}: ${error.message.replace(/\.+$/, '')}.`) : error;

interface Content {
  documents: Iterable<ArchivedDocument> | AsyncIterable<ArchivedDocument>;
  /** Yields undefined for a logged search that cannot be represented. */
  queries: Iterable<ArchivedQuery | undefined>;
}

interface Converted {
  counts: ArchiveCounts;
  /** Number of logged searches that cannot be represented. */
  unread: number;
  /** Path of the archive in the folder. */
  path: string;
}

/** Writes an archive of Sheaf with this content. */
async function convert(content: Content, settings: ArchivedSettings, folder: string): Promise<Converted> {
  const path = join(folder, 'sheaf.zip');
  const converted = await writeArchiveAt(path, (writer) => write(writer, content, settings));
  return { ...converted, path };
}

async function write(
  writer: ArchiveWriter,
  content: Content,
  settings: ArchivedSettings,
): Promise<Omit<Converted, 'path'>> {
  const { counts, entries, leftOut } = await writeRecords(writer, '', content.documents, content.queries);
  const manifest: CollectionManifest = {
    format: 'sheaf-collection',
    ...headingAt(new Date().toISOString()),
    collection: settings,
    counts,
    entries,
  };
  await addJson(writer, MANIFEST, manifest);
  writer.end();
  return { counts, unread: leftOut };
}

export interface DatabaseImport {
  source: SourceCollection;
  /** Name of the source collection, for messages. */
  name: string;
  /** Selector of the embedder of this server that made the vectors of the source. */
  embedder: string | undefined;
  /** Whether the server embeds the texts; the vectors of the source are then not imported. */
  embeds: boolean;
  /** Whether records that the server has are skipped; only if it embeds the texts. */
  resume: boolean;
  replace: boolean;
}

/**
 * Imports a collection of another database; each record becomes a document of one chunk. Exit code: 0 if everything is
 * imported, 1 if records were left out, 130 after Ctrl-C. Throws UsageError, and LocalFailure if the source does not
 * answer.
 */
export async function importDatabase(target: Target, request: DatabaseImport, output: Output): Promise<number> {
  const startedAtMs = performance.now();
  return withInterrupt(async (signal) => {
    const records = request.source.each(signal);
    const tally = new RecordTally(output, request.source.records);
    try {
      const first = (await records.next()).value;
      if (!first) throw new UsageError(`${request.name} has no records.`);
      const all = resumed(first, records);
      const stored = request.embeds
        ? await embedRecords(target, all, { tally, resume: request.resume, signal })
        : await restoreRecords(target, request, { first, all, tally, signal });
      tally.stop();
      const { source, name } = request;
      if (!request.embeds && !tally.areUnit && source.metric.toLowerCase() !== 'cosine')
        line(
          output.stderr,
          `${name} uses the metric ${source.metric}, Sheaf uses cosine: hits may have a different order.`,
        );
      const { tenant, collection } = target;
      const skipped = tally.skipped > 0 ? `, ${tally.skipped.toLocaleString('en-US')} already stored` : '';
      const others = tally.leftOut > 0 ? `, ${count(tally.leftOut, 'record')} left out` : '';
      line(
        output.stdout,
        `${tenant}/${collection} imported from ${name}: ${count(stored, 'document')}${skipped}${others}, ${duration((performance.now() - startedAtMs) / 1000)}.`,
      );
      return tally.leftOut > 0 ? EXIT.failed : EXIT.done;
    } catch (error) {
      if (signal.aborted) return EXIT.interrupted;
      throw error;
    } finally {
      tally.stop();
      await records.return(undefined);
    }
  });
}

/** Records left out that get a line of their own; the others are counted. */
const LEFT_OUT_TOLD_MAX = 20;

/** Counts the records so far. */
class RecordTally {
  leftOut = 0;
  /** Records that the server has from an earlier import. */
  skipped = 0;
  /** Whether all vectors have length 1, in which case all metrics give the same order. */
  areUnit = true;
  private done = 0;
  private readonly progress: Progress;

  constructor(
    private readonly output: Output,
    total: number,
  ) {
    this.progress = startProgress(output.stderr, total, 'record');
  }

  read(): void {
    this.progress.update(++this.done);
  }

  leave(id: string, reason: string): void {
    if (++this.leftOut <= LEFT_OUT_TOLD_MAX) line(this.output.stderr, `Left out: ${oneLine(id)}: ${reason}`);
  }

  stop(): void {
    this.progress.stop();
  }
}

async function* resumed<T>(first: T, rest: AsyncIterable<T>): AsyncGenerator<T, void> {
  yield first;
  yield* rest;
}

/** Ingests the texts and resolves to the number of documents stored. */
async function embedRecords(
  target: Target,
  records: AsyncIterable<SourceRecord>,
  { tally, resume, signal }: { tally: RecordTally; resume: boolean; signal: AbortSignal },
): Promise<number> {
  const { client, tenant, collection } = target;
  const before: StoredDocuments = resume ? await storedDocuments(target) : new Map();
  let [sent, stored] = [0, 0];
  const documents = async function* (): AsyncGenerator<IngestBody, void> {
    for await (const { id, text, metadata } of records) {
      tally.read();
      if (before.has(id)) tally.skipped++;
      else if (text === undefined) tally.leave(id, 'it has no text.');
      else {
        sent++;
        yield { docid: id, text, metadata: metadataHere(metadata, id) };
      }
    }
  };
  try {
    for await (const { ok, docid, error, code } of client.ingestStream(tenant, collection, documents(), { signal })) {
      if (ok) stored++;
      else tally.leave(docid ?? 'a record', `${error} (${code})`);
    }
  } catch (error) {
    throw sent > 0 ? withResumeHint(error) : error;
  }
  return stored;
}

/** Adds to an error that the import can go on. How much is stored is not known: results may be on their way. */
function withResumeHint(error: unknown): unknown {
  if (explainError(error) === undefined) return error;
  const message = `${(error as Error).message} (the same command with --resume continues after what is stored)`;
  return Object.assign(error as Error, { message });
}

/** Restores texts and vectors unchanged by an archive, and resolves to the number of documents. */
async function restoreRecords(
  { client, tenant, collection }: Target,
  { source, embedder, replace }: DatabaseImport,
  {
    first,
    all,
    tally,
    signal,
  }: { first: SourceRecord; all: AsyncIterable<SourceRecord>; tally: RecordTally; signal: AbortSignal },
): Promise<number> {
  if (embedder === undefined && first.text !== undefined)
    throw new UsageError(
      'The records have texts. Use --embedder SELECTOR if an embedder of this server made their vectors, or --embed to embed the texts again.',
    );
  const dim = source.dim ?? first.vector?.length;
  if (dim === undefined) throw new UsageError('The records have no vectors. Use --embed to embed their texts.');
  const body = embedder === undefined ? { embedder_type: 'identity', embedder_config: { dim } } : { embedder };
  const settings = await settingsHere(client, tenant, body, { tenant, name: collection, dim });
  const folder = await mkdtemp(join(tmpdir(), 'sheaf-import-'));
  try {
    const documents = archivedRecords(all, settings, tally);
    const { counts, path } = await convert({ documents, queries: [] }, settings, folder);
    await client.archives.restoreCollection(tenant, collection, await openAsBlob(path), { replace, signal });
    return counts.documents;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Leaves out records that the server would reject, because a single one would fail the whole archive. */
async function* archivedRecords(
  records: AsyncIterable<SourceRecord>,
  { dim, embedder_type: type, priority_key: priorityKey }: ArchivedSettings,
  tally: RecordTally,
): AsyncGenerator<ArchivedDocument, void> {
  const rules: DocumentRules = { dim, takesTexts: type !== 'identity', metadataBytesMax: Infinity };
  for await (const record of records) {
    tally.read();
    const document = archivedRecord(record, priorityKey);
    const why = document ? problemOfDocument(document, rules) : 'it has no vector';
    if (!document || why !== undefined) tally.leave(record.id, `${why}.`);
    else {
      tally.areUnit &&= isUnit(vectorsOf(document.vectors));
      yield document;
    }
  }
}

function archivedRecord(
  { id, text, metadata, vector }: SourceRecord,
  priorityKey: string,
): ArchivedDocument | undefined {
  if (vector === undefined) return undefined;
  const now = new Date();
  const own = metadataHere(metadata, id);
  return {
    docid: id,
    version: 1,
    ingested_at_ms: now.getTime(),
    metadata: JSON.stringify({ docid: id, ingested_at: now.toISOString(), ...own }),
    priority: priorityOf(own, priorityKey),
    chunks: [{ path: text === undefined ? '0' : 'chunk_0', meta: '{}', ...(text !== undefined && { text }) }],
    vectors: new Uint8Array(Float32Array.from(vector).buffer),
  };
}

/** Renames source fields that Sheaf sets itself, if their values differ. */
function metadataHere(metadata: SourceRecord['metadata'], id: string): Record<string, unknown> {
  const { docid, ingested_at: ingestedAt, ...rest } = metadata;
  return {
    ...rest,
    ...(docid !== undefined && docid !== id && { source_docid: docid }),
    ...(ingestedAt !== undefined && { source_ingested_at: ingestedAt }),
  };
}

const UNIT_TOLERANCE = 1e-3;

const isUnit = (vector: Float32Array): boolean =>
  Math.abs(vector.reduce((sum, value) => sum + value * value, 0) - 1) < UNIT_TOLERANCE;
