// Sends files to a server, several at a time, and tells what became of each: ingested, left out, failed or never sent.
// Called by ingest.ts, in the process of the command line.
import { openAsBlob } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import type { SheafClient } from '../client/client.js';
import { SheafError, SheafUnreachable } from '../client/errors.js';
import { looksBinary, SNIFF_BYTES_MAX } from '../text/sniff.js';
import { reasonOf, type FoundFile, type LeftOut } from './find-files.js';
import type { Target } from './target.js';

export interface IngestOptions {
  concurrency: number;
  /** Fields that every document gets beside its path. */
  metadata?: Record<string, unknown> | undefined;
  /** Ends the ingest; files under way may or may not arrive. */
  signal: AbortSignal;
  onDone: (done: number) => void;
}

export interface IngestReport {
  ingested: number;
  chunks: number;
  /** Binary, empty, unreadable or of a type the server does not take. */
  leftOut: LeftOut[];
  failed: LeftOut[];
  /** Set when the ingest ended early because every further file would have met the same. */
  stoppedBy?: SheafError | SheafUnreachable;
}

/** Answers of the server that are about the file and no failure of the ingest. */
const UNSUITABLE: ReadonlySet<string> = new Set(['no_text_extracted', 'unsupported_or_invalid_document']);
/** Binary files out of which the server takes text. */
const EXTRACTED = /\.(pdf|docx|pptx|xlsx|odt|epub)$/i;

/** Never rejects for a file: what goes wrong stands in the report. A file's document id is its relative path. */
export async function ingestFiles(
  target: Target,
  files: readonly FoundFile[],
  options: IngestOptions,
): Promise<IngestReport> {
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

/** Why a file cannot be sent, or undefined. */
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
 * Whether every further file would meet the same: a refused key, or no server. A connection may also break over one
 * file.
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
