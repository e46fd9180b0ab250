// `sheaf ingest` and `sheaf demo`: find files, send several at a time with a progress bar, and report each as ingested,
// left out, failed or not sent.
import { openAsBlob } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { type Command, Option } from 'commander';
import type { SheafClient } from '../client/client.js';
import { SheafError, SheafUnreachable } from '../client/errors.js';
import { SNIFF_BYTES_MAX, looksBinary } from '../extract/file-kind.js';
import {
  type CommandLine,
  EXIT,
  type Target,
  type TargetFlags,
  examples,
  gathered,
  integerBetween,
  jsonObject,
  targetOf,
  withInterrupt,
  withTarget,
} from './command-line.js';
import { UsageError, explainError, reasonOf } from './errors.js';
import { type FindOptions, type FoundFile, type LeftOut, compileGlob, findFiles } from './files.js';
import {
  STANDARD_INPUT,
  type StoredDocuments,
  changedAtMs,
  ingestInput,
  ingestLines,
  storedDocuments,
} from './ingest-ndjson.js';
import { type Output, count, ingestedLine, line } from './output.js';
import { startProgress } from './progress.js';
import { showHits } from './search.js';

interface IngestFlags extends TargetFlags {
  concurrency: number;
  glob?: string[];
  nodeModules?: true;
  ndjson?: true;
  resume?: true;
  docid?: string;
  metadata?: Record<string, unknown>;
}

const AFTER = `
A document id is the path below the folder that contains all given files. --resume lets the same command continue after it was stopped, and
send only what has changed since: it skips documents that were stored, by the server's clock, after the file was last changed.
NDJSON has one document per line: {"docid": "a", "text": "…", "metadata": {"lang": "en"}}, or "vector" in place of "text".`;

export function addIngestCommands(cli: CommandLine): void {
  addIngest(cli);
  withTarget(cli.program.command('demo'), 'demo')
    .description('ingest every README.md below node_modules and run five searches')
    .argument('[folder]', 'where to look for README.md files', 'node_modules')
    .addOption(concurrencyOption())
    .action(async (folder: string, flags: IngestFlags) =>
      cli.ended(await demo(targetOf(flags, cli.env), folder, flags.concurrency, cli.output)),
    );
}

function addIngest(cli: CommandLine): Command {
  return withTarget(cli.program.command('ingest'))
    .description('send files, all files below folders, standard input or NDJSON to a running server')
    .argument('<path...>', `folders, files and patterns such as "docs/**/*.md"; ${STANDARD_INPUT} is standard input`)
    .option('--glob <pattern>', 'only files that match, such as "*.md" or "guide/**/*.txt"; may be repeated', gathered)
    .option('--node-modules', 'also enter folders named node_modules')
    .option('--ndjson', 'files have one JSON document per line, and are streamed')
    .option('--resume', 'skip documents that the server already has')
    .option('--metadata <json>', 'metadata fields to add to every document', jsonObject)
    .option('--docid <id>', 'id of the document from standard input')
    .addOption(concurrencyOption())
    .addHelpText(
      'after',
      examples(
        'sheaf ingest ~/notes -c notes --resume',
        'sheaf ingest "docs/**/*.md" README.md -c manual',
        'pdftotext report.pdf - | sheaf ingest - --docid report -c reports',
        'zcat dump.ndjson.gz | sheaf ingest - --ndjson -c dump',
      ),
    )
    .addHelpText('after', AFTER)
    .action(async (roots: string[], flags: IngestFlags) => cli.ended(await run(cli, roots, flags)));
}

async function run({ env, output, stdin }: CommandLine, roots: string[], flags: IngestFlags): Promise<number> {
  const target = targetOf(flags, env);
  const { metadata, concurrency } = flags;
  const resume = flags.resume === true;
  if (flags.ndjson && (flags.docid ?? flags.glob) !== undefined)
    throw new UsageError(
      '--docid and --glob do not apply to NDJSON: each line has its own docid, and none is left out.',
    );
  if (flags.ndjson) return ingestLines(target, { paths: roots, stdin, resume, metadata }, output);
  if (roots.includes(STANDARD_INPUT)) {
    if (roots.length > 1)
      throw new UsageError('Standard input is one document and cannot be combined with files, except with --ndjson.');
    await ingestInput(target, stdin, { docid: flags.docid, metadata }, output);
    return EXIT.done;
  }
  if (flags.docid !== undefined)
    throw new UsageError('--docid names the document from standard input; a file is named by its path.');
  const globs = (flags.glob ?? ['**']).map(compileGlob);
  const accepts = (id: string): boolean => globs.some((matches) => matches(id));
  const skipFolders = new Set(flags.nodeModules ? ['.git'] : ['.git', 'node_modules']);
  return ingest(target, { roots, accepts, skipFolders, concurrency, resume, metadata }, output);
}

const concurrencyOption = (): Option =>
  new Option('--concurrency <n>', 'files in transfer at a time').argParser(integerBetween(1, 256)).default(16);

interface IngestRequest extends FindOptions {
  roots: readonly string[];
  concurrency: number;
  /** Leaves out documents that the server already has. */
  resume?: boolean;
  /** Fields added to every document. */
  metadata?: Record<string, unknown>;
}

/** Exit code: 0 if all files succeeded, 1 if one failed or none was ingested, 130 after Ctrl-C. Throws UsageError. */
async function ingest(target: Target, request: IngestRequest, output: Output): Promise<number> {
  await target.client.health();
  const { files: found, leftOut } = await findFiles(request.roots, request);
  if (found.length === 0)
    throw new UsageError(`There is no file to ingest in ${request.roots.join(', ')}. See --glob and --node-modules.`);
  const files = request.resume ? await filesToSend(found, await storedDocuments(target)) : found;
  if (found.length > files.length) line(output.stderr, `${count(found.length - files.length, 'file')} already stored.`);
  const startedAtMs = performance.now();
  const progress = startProgress(output.stderr, files.length);
  return withInterrupt(async (signal) => {
    const report = await ingestFiles(target, files, {
      concurrency: request.concurrency,
      metadata: request.metadata,
      signal,
      onDone: progress.update,
    });
    progress.stop();
    printList(output, 'Left out:', [...leftOut, ...report.leftOut]);
    printList(output, 'Failed:', report.failed);
    printEnd(output, report, files.length);
    line(output.stdout, summary(report, target, (performance.now() - startedAtMs) / 1000));
    if (signal.aborted) return EXIT.interrupted;
    return report.failed.length > 0 || (report.ingested === 0 && files.length > 0) ? EXIT.failed : EXIT.done;
  });
}

function printList({ stderr }: Output, title: string, entries: readonly LeftOut[]): void {
  if (entries.length === 0) return;
  line(stderr, title);
  for (const { id, reason } of entries) line(stderr, `  ${id}: ${reason}`);
}

/** Reports that, and why, the ingest ended before its last file. */
function printEnd({ stderr }: Output, { ingested, leftOut, failed, stoppedBy }: IngestReport, total: number): void {
  const unsent = total - ingested - leftOut.length - failed.length;
  if (unsent > 0)
    line(
      stderr,
      `Stopped with ${count(unsent, 'file')} not sent.${stoppedBy ? '' : ' The same command with --resume continues.'}`,
    );
  if (stoppedBy) line(stderr, explainError(stoppedBy) ?? stoppedBy.message);
}

function summary({ ingested, chunks, failed }: IngestReport, target: Target, seconds: number): string {
  return `${ingestedLine(ingested, 'file', chunks, target, seconds)}${failed.length > 0 ? `, ${failed.length} failed` : ''}.`;
}

/** The files that the server lacks, and those that have changed since their ingest. */
async function filesToSend(files: readonly FoundFile[], stored: StoredDocuments): Promise<FoundFile[]> {
  const wanted: FoundFile[] = [];
  for (const file of files) {
    const storedAtMs = stored.get(file.id);
    if (storedAtMs === undefined || storedAtMs <= (await changedAtMs(file.path))) wanted.push(file);
  }
  return wanted;
}

interface IngestOptions {
  concurrency: number;
  /** Fields added to every document, besides its path. */
  metadata?: Record<string, unknown> | undefined;
  /** Ends the ingest; files in transfer may or may not arrive. */
  signal: AbortSignal;
  onDone: (done: number) => void;
}

interface IngestReport {
  ingested: number;
  chunks: number;
  /** Files that are binary, empty, unreadable or of an unsupported type. */
  leftOut: LeftOut[];
  failed: LeftOut[];
  /** Set if the ingest ended early because every further file would have failed in the same way. */
  stoppedBy?: SheafError | SheafUnreachable;
}

/** Errors that concern the file and are not failures of the ingest. */
const UNSUITABLE: ReadonlySet<string> = new Set(['no_text_extracted', 'unsupported_or_invalid_document']);
/** Binary files from which the server extracts text. */
const EXTRACTED = /\.(pdf|docx|pptx|xlsx|odt|epub)$/i;

/** Ingests files; the document id is the relative path. Errors of single files are in the report and do not reject. */
async function ingestFiles(target: Target, files: readonly FoundFile[], options: IngestOptions): Promise<IngestReport> {
  const report: IngestReport = { ingested: 0, chunks: 0, leftOut: [], failed: [] };
  const queue = files.values();
  let done = 0;
  const work = async (): Promise<void> => {
    for (const file of queue) {
      if (options.signal.aborted || report.stoppedBy) return;
      await ingestOne(target, file, options, report);
      options.onDone(++done);
    }
  };
  await Promise.all(Array.from({ length: options.concurrency }, work));
  return report;
}

async function ingestOne(
  { client, tenant, collection }: Target,
  file: FoundFile,
  { signal, metadata }: IngestOptions,
  report: IngestReport,
): Promise<void> {
  const unsuitable = await whyNot(file.path);
  if (unsuitable) return void report.leftOut.push({ id: file.id, reason: unsuitable });
  try {
    const upload = {
      name: basename(file.path),
      content: await openAsBlob(file.path),
      docid: file.id,
      metadata: { ...metadata, path: file.id },
    };
    const { chunks } = await client.ingestFile(tenant, collection, upload, { signal });
    report.ingested++;
    report.chunks += chunks;
  } catch (error) {
    if (signal.aborted) return;
    if (error instanceof SheafError && UNSUITABLE.has(error.code))
      return void report.leftOut.push({ id: file.id, reason: error.message });
    report.failed.push({ id: file.id, reason: reasonOfCall(error) });
    if (await meetsAll(error, client)) report.stoppedBy ??= error as SheafError | SheafUnreachable;
  }
}

/** Why a file cannot be ingested; undefined if it can. */
async function whyNot(path: string): Promise<string | undefined> {
  try {
    const handle = await open(path);
    try {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(SNIFF_BYTES_MAX), 0, SNIFF_BYTES_MAX, 0);
      if (bytesRead === 0) return 'empty';
      if (EXTRACTED.test(path)) return undefined;
      return looksBinary(buffer.subarray(0, bytesRead)) ? 'binary' : undefined;
    } finally {
      await handle.close();
    }
  } catch (error) {
    return reasonOf(error as NodeJS.ErrnoException);
  }
}

/**
 * Whether every further file would fail in the same way: a rejected key, or no server. A single file may also break a
 * connection.
 */
async function meetsAll(error: unknown, client: SheafClient): Promise<boolean> {
  if (error instanceof SheafUnreachable)
    return client.health().then(
      () => false,
      () => true,
    );
  return error instanceof SheafError && (error.status === 401 || error.status === 403);
}

function reasonOfCall(error: unknown): string {
  if (error instanceof SheafError) return `${error.message} (${error.code}, HTTP ${error.status})`;
  return error instanceof Error ? error.message : String(error);
}

const DEMO_QUERIES: readonly string[] = [
  'progress bar for the terminal',
  'run heavy computations on worker threads',
  'convert text between character encodings',
  'compare version numbers of packages',
  'read command line arguments',
];
const HITS_EACH = 3;

/**
 * `sheaf demo`: a tour on real text that every checkout has. Ingests each README.md below node_modules and runs five
 * searches. Exit codes are those of `ingest`. Throws UsageError if `folder` does not exist.
 */
async function demo(target: Target, folder: string, concurrency: number, output: Output): Promise<number> {
  await target.client.health();
  const folderExists = await stat(folder).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
  if (!folderExists)
    throw new UsageError(
      `There is no folder ${folder} here. Run the demo in the project's folder, or name a folder of README.md files.`,
    );
  const code = await ingest(
    target,
    { roots: [folder], accepts: compileGlob('README.md'), skipFolders: new Set(), concurrency },
    output,
  );
  if (code !== EXIT.done) return code;
  for (const query of DEMO_QUERIES) {
    const { matches } = await target.client.search(target.tenant, target.collection, { q: query, k: HITS_EACH });
    line(output.stdout, `\nsheaf search --collection ${target.collection} "${query}"`);
    line(output.stdout, showHits(matches, query));
  }
  return EXIT.done;
}
