// `sheaf ingest`: finds files, sends them with a progress bar, and says what became of them. Called by
// ingest-commands.ts, and by demo.ts for its own files.
import { EXIT } from './command-line.js';
import { explainError, UsageError } from './explain-error.js';
import { findFiles, type FindOptions, type LeftOut } from './find-files.js';
import { ingestFiles, type IngestReport } from './ingest-files.js';
import { INTERRUPTED, withInterrupt } from './interrupt.js';
import { count, ingestedLine, line, type Output } from './output.js';
import { startProgress } from './progress.js';
import { filesToSend, storedDocuments } from './stored-documents.js';
import type { Target } from './target.js';

export interface IngestRequest extends FindOptions {
  roots: readonly string[];
  concurrency: number;
  /** Leaves out what the server has already. */
  resume?: boolean;
  /** Fields that every document gets. */
  metadata?: Record<string, unknown>;
}

/** Exit code: 0 when all went well, 1 when a file failed or none was ingested, 130 after Ctrl-C. Throws UsageError. */
export async function ingest(target: Target, request: IngestRequest, output: Output): Promise<number> {
  await target.client.health();
  const { files: found, leftOut } = await findFiles(request.roots, request);
  if (found.length === 0)
    throw new UsageError(`There is no file to ingest in ${request.roots.join(', ')}. See --glob and --node-modules.`);
  const files = request.resume ? await filesToSend(found, await storedDocuments(target)) : found;
  if (found.length > files.length) line(output.stderr, `${count(found.length - files.length, 'file')} there already.`);
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
    if (signal.aborted) return INTERRUPTED;
    return report.failed.length > 0 || (report.ingested === 0 && files.length > 0) ? EXIT.failed : EXIT.done;
  });
}

function printList({ stderr }: Output, title: string, entries: readonly LeftOut[]): void {
  if (entries.length === 0) return;
  line(stderr, title);
  for (const { id, reason } of entries) line(stderr, `  ${id}: ${reason}`);
}

/** Says when the ingest ended before its last file, and why. */
function printEnd({ stderr }: Output, { ingested, leftOut, failed, stoppedBy }: IngestReport, total: number): void {
  const unsent = total - ingested - leftOut.length - failed.length;
  if (unsent > 0)
    line(
      stderr,
      `Stopped with ${count(unsent, 'file')} not sent.${stoppedBy ? '' : ' The same command with --resume goes on.'}`,
    );
  if (stoppedBy) line(stderr, explainError(stoppedBy) ?? stoppedBy.message);
}

function summary({ ingested, chunks, failed }: IngestReport, target: Target, seconds: number): string {
  return `${ingestedLine(ingested, 'file', chunks, target, seconds)}${failed.length > 0 ? `, ${failed.length} failed` : ''}.`;
}
