// `sheaf archive`, `sheaf restore`, `sheaf export` and `sheaf import`. A file that is written appears under its name only
// when it is complete.
import { openAsBlob } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { ArchiveCounts } from '../api/archives.js';
import { EXPORT_LIMIT_MAX } from '../api/limits.js';
import { timeOf } from '../api/numbers.js';
import { OperatorError } from '../base/operator-error.js';
import type { SheafClient } from '../client/client.js';
import { SheafUnreachable } from '../client/errors.js';
import {
  type CommandLine,
  EXIT,
  type Filters,
  type Target,
  type TargetFlags,
  examples,
  filterWord,
  integerBetween,
  jsonObject,
  targetOf,
  tenantOf,
  withInterrupt,
  withTarget,
  withTenant,
  makeFilesPrivate,
} from './command-line.js';
import type { SourceCollection } from './databases.js';
import { LocalFailure, UsageError, reasonOf } from './errors.js';
import { readableFile, writeAtomically } from './files.js';
import { type Output, type Stream, count, duration, line } from './output.js';
import { startBytes } from './progress.js';

interface Flags extends Omit<TargetFlags, 'collection'> {
  collection?: string;
  replace?: true;
  dryRun?: true;
  from?: string;
}

export function addArchiveCommands(cli: CommandLine): void {
  const { program, env, output, ended } = cli;
  withWhole(program.command('archive'))
    .description(
      'write an archive of a collection, or of everything, into a file; exit code 1 if collections had to be left out',
    )
    .argument('<file>', 'the file to write')
    .option('--force', 'replace an existing file')
    .addHelpText(
      'after',
      examples(
        'sheaf archive backup.zip                 # everything, with the admin key',
        'sheaf archive docs.zip -c docs -t acme',
      ),
    )
    .action(async (file: string, flags: Flags & { force?: true }) =>
      ended(await archive(wholeOf(flags, env), file, flags.force === true, output)),
    );
  withWhole(program.command('restore'))
    .description(
      'restore a collection, or everything, from an archive; with --at, a data directory as it was at a time',
    )
    .argument(
      '<file>',
      'the archive, or the list of an incremental backup with its entries beside it; with --at, a copy of the data directory from before that time',
    )
    .option('--replace', 'replace the existing data')
    .option('--dry-run', 'only verify the archive')
    .option(
      '--from <collection>',
      'the collection to restore from an archive of everything: TENANT/NAME, or a name of the same tenant; default: the names of --tenant and --collection',
    )
    .option('--at <time>', 'the time, in ISO 8601, such as 2026-11-26T10:15:00Z', isoTime)
    .option('--journal <folder>', 'with --at: the data directory with the journal; no server may run on it')
    .option('--into <folder>', 'with --at: the data directory to make')
    .addHelpText(
      'after',
      examples(
        'sheaf restore backup.zip --dry-run',
        'sheaf restore backup.zip --replace',
        'sheaf restore backups/sheaf-2026-11-26T10-00-00Z.json --replace   # an incremental backup',
        'sheaf restore copy-of-monday --at 2026-11-26T10:15:00Z --journal data --into data-at-10-15',
        'sheaf restore docs.zip -c docs-of-monday -t acme',
        'sheaf restore backup.zip -c docs -t acme --replace   # one collection out of everything',
        'sheaf restore backup.zip -c docs-of-monday -t acme --from acme/docs',
      ),
    )
    .action(async (file: string, flags: Flags & PointFlags) =>
      ended(
        flags.at === undefined && flags.journal === undefined && flags.into === undefined
          ? await restore(wholeOf(flags, env), file, restoreFlags(flags), output)
          : await restorePoint(file, flags, output),
      ),
    );
  addExport(cli);
  addImport(cli);
}

interface PointFlags {
  /** In milliseconds. */
  at?: number;
  journal?: string;
  into?: string;
}

function isoTime(text: string): number {
  const timeMs = timeOf(text);
  if (timeMs !== undefined) return timeMs;
  throw new InvalidArgumentError('Give a time in ISO 8601, such as 2026-11-26T10:15:00Z.');
}

/** Exit code: 0. Throws UsageError if the directories cannot be used. */
async function restorePoint(
  base: string,
  { at: atMs, journal, into, ...others }: Flags & PointFlags,
  output: Output,
): Promise<number> {
  if (atMs === undefined) throw new UsageError('--journal and --into are for --at: give the time, too.');
  const [unfit] = (['replace', 'dryRun', 'from', 'collection'] as const).filter((name) => others[name] !== undefined);
  if (unfit !== undefined)
    throw new UsageError(
      '--at restores a whole data directory: leave out --replace, --dry-run, --from and --collection.',
    );
  if (journal === undefined || into === undefined)
    throw new UsageError(
      '--at wants the data directory with the journal, and the one to make: give --journal and --into.',
    );
  const startedAtMs = performance.now();
  makeFilesPrivate();
  // Loaded only here: it needs the store's native library, which other commands do without.
  const { restoreAt } = await import('../engine/point-in-time.js');
  try {
    const { commands, lastMs } = await restoreAt({ base, journals: journal, into, atMs });
    const last = lastMs === undefined ? '' : `, the last one of ${new Date(lastMs).toISOString()}`;
    line(
      output.stdout,
      `${into} is ${base} with ${count(commands, 'change')} of the journal${last}: ${duration((performance.now() - startedAtMs) / 1000)}. Start a server on it with SHEAF_DATA_DIR=${into}.`,
    );
    return EXIT.done;
  } catch (error) {
    throw error instanceof OperatorError ? new UsageError(`${error.message.replace(/\.$/, '')}.`) : error;
  }
}

interface ExportFlags extends TargetFlags {
  filter?: Filters;
  filters?: Filters;
  after?: string;
  limit?: number;
  vectors?: true;
  force?: true;
}

function addExport({ program, env, output, ended }: CommandLine): void {
  withTarget(program.command('export'))
    .description('write the documents of a collection into a file, one line of JSON each, as sheaf ingest takes them')
    .argument('<file>', 'the file to write; - for the standard output')
    .option('--filter <field=value>', 'documents whose metadata match; as in sheaf search', filterWord)
    .option('--filters <json>', 'filters as in a request body', jsonObject)
    .option('--after <docid>', 'only documents behind this id, in the order of the ids')
    .option('-n, --limit <n>', 'maximum number of documents; default: all', integerBetween(1, EXPORT_LIMIT_MAX))
    .option('--vectors', 'the chunks with their vectors instead of the texts')
    .option('--force', 'replace an existing file')
    .addHelpText(
      'after',
      examples(
        'sheaf export notes.ndjson -c notes',
        'sheaf ingest --ndjson notes.ndjson -c copy',
        'sheaf export - -c notes --filter lang=en | head',
      ),
    )
    .action(async (file: string, flags: ExportFlags) =>
      ended(await exportDocuments(targetOf(flags, env), file, flags, output)),
    );
}

/** Exit code: 0 if the export is complete, 130 after Ctrl-C. */
async function exportDocuments(
  { client, tenant, collection }: Target,
  file: string,
  { filter, filters, after, limit, vectors, force }: ExportFlags,
  output: Output,
): Promise<number> {
  const both = filter && filters ? { $and: [filter, filters] } : (filter ?? filters);
  const startedAtMs = performance.now();
  return withInterrupt(async (signal) => {
    const open = (): Promise<ReadableStream<Uint8Array>> =>
      client.archives.exportDocuments(tenant, collection, { filters: both, after, limit, vectors, signal });
    try {
      if (file === '-') return await printLines(await open(), output);
      const written = await writeAtomically(file, force === true, async (draft) =>
        save(await open(), draft, output, signal),
      );
      line(output.stdout, `${file}: ${megabytes(written)} in ${duration((performance.now() - startedAtMs) / 1000)}.`);
      return EXIT.done;
    } catch (error) {
      if (signal.aborted) return EXIT.interrupted;
      throw explained(error);
    }
  });
}

/** Resolves when the stream takes more, or its reader has gone. */
const drained = (stream: Stream): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      stream.off('drain', done).off('close', done).off('error', done);
      resolve();
    };
    stream.on('drain', done).on('close', done).on('error', done);
  });

/** Prints whole lines as they come, until the reader has enough. */
async function printLines(bytes: ReadableStream<Uint8Array>, { stdout }: Output): Promise<number> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of bytes) {
    const parts = (rest + decoder.decode(piece, { stream: true })).split('\n');
    rest = parts.pop() ?? '';
    if (parts.length > 0 && !stdout.write(`${parts.join('\n')}\n`)) await drained(stdout);
    if (stdout.isClosed) break;
  }
  return EXIT.done;
}

const DATABASES = ['pavedb', 'chroma', 'qdrant'] as const;

interface ImportOptions extends TargetFlags {
  from: (typeof DATABASES)[number];
  fromCollection?: string;
  fromKey?: string;
  fromDatabase?: string;
  textField?: string;
  vector?: string;
  embedder?: string;
  embed?: true;
  resume?: true;
  replace?: true;
}

function addImport({ program, env, output, ended }: CommandLine): void {
  withTarget(program.command('import'))
    .description('import a collection from another database: ids, texts, vectors and metadata')
    .argument('<source>', 'a collection archive of PaveDB 0.9.7, or the address of a server of Chroma or Qdrant')
    .addOption(new Option('--from <database>', 'kind of the source').choices(DATABASES).default('pavedb'))
    .option('--from-collection <name>', 'the collection of Chroma or Qdrant; default: the name of --collection')
    .option('--from-key <key>', 'API key of the source; default: CHROMA_API_KEY or QDRANT_API_KEY')
    .option('--from-database <tenant/database>', "tenant and database of Chroma; default: Chroma's defaults")
    .option(
      '--text-field <name>',
      'payload field with the text in Qdrant; default: document, page_content, text or content',
    )
    .option('--vector <name>', 'name of the vector in Qdrant, if points have several')
    .option(
      '--embedder <selector>',
      'the embedder of the server that made the vectors; default for PaveDB: type:model, as PaveDB names it',
    )
    .option('--embed', 'embed the texts of Chroma or Qdrant on the server; their vectors are not imported')
    .option('--resume', 'with --embed: skip records that the server already has')
    .option('--replace', 'replace an existing collection')
    .addHelpText(
      'after',
      examples(
        'sheaf import docs.zip -c docs -t acme',
        'sheaf import http://localhost:8000 --from chroma -c docs --embedder minilm',
        'sheaf import http://localhost:6333 --from qdrant -c docs --from-collection notes --embed',
      ),
    )
    .action(async (source: string, flags: ImportOptions) => {
      const target = targetOf(flags, env);
      checkImport(flags);
      const { embedder, replace = false } = flags;
      // Loaded on demand, because it loads SQLite, which other commands do not need.
      const { importPaveDb, importDatabase } = await import('./import.js');
      if (flags.from === 'pavedb') return ended(await importPaveDb(target, source, { embedder, replace }, output));
      const collection = flags.fromCollection ?? target.collection;
      const request = {
        source: await openSource(source, collection, flags, env),
        name: `${collection} at ${source}`,
        embedder,
        embeds: flags.embed === true,
        resume: flags.resume === true,
        replace,
      };
      ended(await importDatabase(target, request, output));
    });
}

/** Throws UsageError for options that contradict each other or do not apply to this source. */
function checkImport(flags: ImportOptions): void {
  const { from, embed, embedder, resume, replace, fromCollection, fromKey, fromDatabase, textField, vector } = flags;
  const meaningless = [
    ...(from === 'pavedb' ? [embed && '--embed', fromCollection && '--from-collection', fromKey && '--from-key'] : []),
    from !== 'chroma' && fromDatabase && '--from-database',
    from !== 'qdrant' && textField && '--text-field',
    from !== 'qdrant' && vector && '--vector',
  ].filter(Boolean);
  if (meaningless.length > 0) throw new UsageError(`--from ${from} does not take ${meaningless.join(', ')}.`);
  if (embed && embedder !== undefined)
    throw new UsageError(
      'Use --embedder to keep the vectors, or --embed to embed the texts with the embedder of the collection.',
    );
  if (resume && !embed)
    throw new UsageError(
      '--resume goes with --embed. Without --embed, an import is stored at its end, as a whole: run it again without --resume.',
    );
  if (embed && replace) throw new UsageError('--embed adds to the collection. To replace it, delete it first.');
}

async function openSource(
  url: string,
  collection: string,
  { from, fromKey, fromDatabase, textField, vector: vectorName }: ImportOptions,
  env: CommandLine['env'],
): Promise<SourceCollection> {
  const { openChroma, openQdrant } = await import('./databases.js');
  const key = fromKey ?? env[from === 'chroma' ? 'CHROMA_API_KEY' : 'QDRANT_API_KEY'];
  const address = { url, collection, key };
  return from === 'chroma' ? openChroma(address, fromDatabase) : openQdrant(address, { textField, vectorName });
}

function withWhole(command: Command): Command {
  return withTenant(
    command.option('-c, --collection <name>', 'collection; default: everything, which requires the admin key'),
  );
}

const restoreFlags = ({ replace, dryRun, from }: Flags): RestoreFlags => ({
  from,
  replace: replace === true,
  dryRun: dryRun === true,
});

function wholeOf(flags: Flags, env: Record<string, string | undefined>): ArchiveTarget {
  const { collection: name } = flags;
  if (name === undefined) return { client: tenantOf(flags, env).client, collection: undefined };
  const { client, tenant, collection } = targetOf({ ...flags, collection: name }, env);
  return { client, collection: { tenant, name: collection } };
}

/** What to archive or restore. Without a collection: everything. */
interface ArchiveTarget {
  client: SheafClient;
  collection: { tenant: string; name: string } | undefined;
}

interface RestoreFlags {
  replace: boolean;
  dryRun: boolean;
  /** The collection to take out of an archive of everything. */
  from: string | undefined;
}

/** Exit code: 0 if the archive is complete, 1 if collections were left out of it, 130 after Ctrl-C. */
async function archive(
  { client, collection }: ArchiveTarget,
  file: string,
  replace: boolean,
  output: Output,
): Promise<number> {
  const startedAtMs = performance.now();
  return withInterrupt(async (signal) => {
    try {
      const { written, leftOut } = await writeAtomically(file, replace, async (draft) => {
        const download = collection
          ? await client.archives.dumpCollection(collection.tenant, collection.name, { signal })
          : await client.archives.dump({ signal });
        return { written: await save(download.bytes, draft, output, signal), leftOut: download.leftOut };
      });
      const seconds = (performance.now() - startedAtMs) / 1000;
      line(output.stdout, `${file}: ${megabytes(written)} in ${duration(seconds)}.`);
      for (const name of leftOut) line(output.stderr, `Left out because its records are damaged: ${name}`);
      return leftOut.length > 0 ? EXIT.failed : EXIT.done;
    } catch (error) {
      if (signal.aborted) return EXIT.interrupted;
      throw explained(error);
    }
  });
}

async function save(
  bytes: ReadableStream<Uint8Array>,
  path: string,
  { stderr }: Output,
  signal: AbortSignal,
): Promise<number> {
  const progress = startBytes(stderr);
  try {
    const counted = async function* (source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      for await (const piece of source) {
        progress.add(piece.length);
        yield piece;
      }
    };
    // It is there before anything can fail, so that whoever deletes it after a failure finds it.
    const file = await open(path, 'wx', 0o600);
    await pipeline(Readable.fromWeb(bytes as never), counted, file.createWriteStream({ flush: true }), { signal });
    return progress.bytes;
  } finally {
    progress.stop();
  }
}

/** Exit code: 0 if the archive is restored or verified, 130 after Ctrl-C. */
async function restore(
  { client, collection }: ArchiveTarget,
  file: string,
  { replace, dryRun, from }: RestoreFlags,
  output: Output,
): Promise<number> {
  const startedAtMs = performance.now();
  await readableFile(file, 'Name the archive.');
  if (!collection && !replace && !dryRun)
    throw new UsageError(
      'An archive of everything replaces all existing data: confirm with --replace, or name a collection with --collection.',
    );
  if (!collection && from !== undefined)
    throw new UsageError('--from restores one collection: give its new name with --collection.');
  return withInterrupt(async (signal) => {
    const upload = async (path: string): Promise<{ counts: ArchiveCounts & { collections?: number } }> => {
      const blob = await openAsBlob(path);
      return collection
        ? client.archives.restoreCollection(collection.tenant, collection.name, blob, { replace, dryRun, from, signal })
        : client.archives.restore(blob, { dryRun, signal });
    };
    try {
      const { counts } = await withWholeArchive(file, upload);
      const where = collection ? `${collection.tenant}/${collection.name}` : 'everything';
      line(
        output.stdout,
        `${where} ${dryRun ? 'can be restored' : 'restored'} from ${file}: ${summaryOf(counts)}, ${duration((performance.now() - startedAtMs) / 1000)}.`,
      );
      return EXIT.done;
    } catch (error) {
      if (signal.aborted) return EXIT.interrupted;
      throw error;
    }
  });
}

/** Calls `work` with the path of an archive: of the file, or of what it is put together from if it is a list of entries. */
async function withWholeArchive<T>(file: string, work: (path: string) => Promise<T>): Promise<T> {
  // Loaded only here, because other commands do without a client of S3.
  const { BackupFolder } = await import('../service/archive/backup-store.js');
  const { BackupUnreadable, withBackup } = await import('../service/archive/incremental-backup.js');
  return withBackup(new BackupFolder(dirname(file)), basename(file), tmpdir(), work).catch((error: unknown) => {
    if (!(error instanceof BackupUnreadable)) throw error;
    const reason = reasonOf(error.cause as NodeJS.ErrnoException);
    throw new LocalFailure(`${file} cannot be put together from the folder "entries" beside it: ${reason}.`);
  });
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

function summaryOf({ collections, documents, chunks, queries }: ArchiveCounts & { collections?: number }): string {
  const parts = [count(documents, 'document'), count(chunks, 'chunk'), count(queries, 'logged search')];
  return [...(collections === undefined ? [] : [count(collections, 'collection')]), ...parts].join(', ');
}

function explained(error: unknown): unknown {
  return error instanceof SheafUnreachable
    ? Object.assign(error, { message: `${error.message} (the archive ended early and was not kept)` })
    : error;
}
