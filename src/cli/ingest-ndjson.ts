// `sheaf ingest --ndjson`: documents of NDJSON files or of standard input go to the server in one stream, results come
// back meanwhile, and neither side is ever held whole. Called by ingest-commands.ts.
import { createReadStream } from 'node:fs';
import type { BatchItemResult, IngestBody } from '../contract/api/documents.js';
import { EXIT } from './command-line.js';
import { explainError } from './explain-error.js';
import { STANDARD_INPUT } from './ingest-input.js';
import { INTERRUPTED, withInterrupt } from './interrupt.js';
import { LineDocuments, type LineInput, type Sent } from './line-documents.js';
import { startLineProgress } from './line-progress.js';
import { count, ingestedLine, line, type Input, type Output } from './output.js';
import { changedAtMs, storedDocuments, type StoredDocuments } from './stored-documents.js';
import type { Target } from './target.js';
import { wantedFile } from './wanted-file.js';

export interface LinesRequest {
  paths: readonly string[];
  stdin: Input;
  resume: boolean;
  metadata: Record<string, unknown> | undefined;
}

/** Of so many failures each gets a line; the others are counted. */
const FAILURES_TOLD_MAX = 100;

type Failed = (place: string, reason: string) => void;

interface Tally {
  ingested: number;
  chunks: number;
  failed: number;
}

/** Exit code: 0 when all went well, 1 when a document failed or none was sent, 130 after Ctrl-C. Throws UsageError. */
export async function ingestLines(target: Target, request: LinesRequest, output: Output): Promise<number> {
  await target.client.health();
  const sizes = await Promise.all(request.paths.map(sizeOf));
  const stored: StoredDocuments = request.resume ? await storedDocuments(target) : new Map();
  const startedAtMs = performance.now();
  const progress = startLineProgress(
    output.stderr,
    sizes.includes(undefined) ? undefined : sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0),
  );
  const tally: Tally = { ingested: 0, chunks: 0, failed: 0 };
  const failed: Failed = (place, reason) => {
    tally.failed += 1;
    if (tally.failed <= FAILURES_TOLD_MAX) progress.note(`${place}: ${reason}`);
  };
  const documents = new LineDocuments({ stored, metadata: request.metadata, failed });
  const take = (result: BatchItemResult): void => {
    const sent = documents.answered(result.index);
    told(result, sent, tally, failed);
    progress.update(tally.ingested + tally.failed, sent.endBytes);
  };
  return withInterrupt(async (signal) => {
    await send(target, documents.of(inputs(request)), signal, take)
      .catch((error: unknown) => thrown(error, signal, tally))
      .finally(progress.stop);
    line(output.stdout, summary(tally, documents.skipped, target, (performance.now() - startedAtMs) / 1000));
    if (signal.aborted) return INTERRUPTED;
    return tally.failed > 0 || tally.ingested + documents.skipped === 0 ? EXIT.failed : EXIT.done;
  });
}

async function send(
  { client, tenant, collection }: Target,
  documents: AsyncIterable<IngestBody>,
  signal: AbortSignal,
  onResult: (result: BatchItemResult) => void,
): Promise<void> {
  for await (const result of client.ingestStream(tenant, collection, documents, { signal })) onResult(result);
}

function told({ ok, chunks = 0, code, error }: BatchItemResult, sent: Sent, tally: Tally, failed: Failed): void {
  if (!ok) return failed(sent.place, `${error} (${code})`);
  tally.ingested += 1;
  tally.chunks += chunks;
}

async function sizeOf(path: string): Promise<number | undefined> {
  if (path === STANDARD_INPUT) return undefined;
  return wantedFile(path, '--ndjson takes NDJSON files, or - for standard input.');
}

async function* inputs({ paths, stdin }: LinesRequest): AsyncGenerator<LineInput> {
  for (const path of paths) {
    if (path === STANDARD_INPUT) yield { name: 'line', stream: stdin, changedAtMs: 0 };
    else
      yield {
        name: paths.length > 1 ? `${path}, line` : 'line',
        stream: createReadStream(path),
        changedAtMs: await changedAtMs(path),
      };
  }
}

/**
 * What is stored stays stored, and the same command with --resume goes on behind it. After Ctrl-C there is nothing to
 * throw.
 */
function thrown(error: unknown, signal: AbortSignal, { ingested }: Tally): void {
  if (signal.aborted) return;
  if (explainError(error) === undefined || ingested === 0) throw error;
  throw Object.assign(error as Error, {
    message: `${(error as Error).message} (${count(ingested, 'document')} ingested before; the same command with --resume goes on behind them)`,
  });
}

function summary({ ingested, chunks, failed }: Tally, skipped: number, target: Target, seconds: number): string {
  const others = `${skipped > 0 ? `, ${skipped.toLocaleString('en-US')} there already` : ''}${failed > 0 ? `, ${failed} failed` : ''}`;
  return `${ingestedLine(ingested, 'document', chunks, target, seconds)}${others}.`;
}
