// Ingest of standard input: as one document, or with --ndjson as documents, one per line, in a stream whose results
// come back meanwhile. An NDJSON stream is never held whole on either side.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { BatchItemResult, IngestBody } from '../api/documents.js';
import { changedNumber } from '../base/json.js';
import { EXIT, type Target, withInterrupt } from './command-line.js';
import { LocalFailure, UsageError, explainError, reasonOf } from './errors.js';
import { readableFile } from './files.js';
import { type Input, type Output, count, ingestedLine, line } from './output.js';
import { startLineProgress } from './progress.js';

/** The path that stands for standard input, as usual. */
export const STANDARD_INPUT = '-';
/** Standard input is held whole; by default the server accepts no larger file. */
const INPUT_BYTES_MAX = 512 * 2 ** 20;

interface InputDocument {
  docid: string | undefined;
  metadata: Record<string, unknown> | undefined;
}

/** Ingests standard input as one document. Throws UsageError if the document has no name or there is no input. */
export async function ingestInput(
  { client, tenant, collection }: Target,
  stdin: Input,
  { docid, metadata }: InputDocument,
  { stdout }: Output,
): Promise<number> {
  if (docid === undefined) throw new UsageError('Name the document from standard input with --docid.');
  const content = new Blob(await piecesOf(stdin));
  if (content.size === 0) throw new UsageError('Standard input is empty.');
  const { chunks } = await client.ingestFile(tenant, collection, { name: nameOf(docid), content, docid, metadata });
  line(stdout, `${docid} (${count(chunks, 'chunk')}) ingested into ${tenant}/${collection}.`);
  return EXIT.done;
}

/** The extension of the id determines the type, like that of a file; without one the content does. */
const nameOf = (docid: string): string => docid.slice(docid.lastIndexOf('/') + 1) || 'stdin.txt';

async function piecesOf(stdin: Input): Promise<Uint8Array<ArrayBuffer>[]> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const piece of stdin) {
    pieces.push(Uint8Array.from(Buffer.from(piece)));
    bytes += piece.length;
    if (bytes > INPUT_BYTES_MAX)
      throw new UsageError('Standard input is longer than 512 MiB: split it, or send it as NDJSON with --ndjson.');
  }
  return pieces;
}

/** Documents in a collection: ids with the time of their ingest in ms. */
export type StoredDocuments = ReadonlyMap<string, number>;

/**
 * The stored documents, for --resume; empty if the collection does not exist. No state is kept beside the files, so an
 * ingest can be resumed from another machine.
 */
export async function storedDocuments({ client, tenant, collection }: Target): Promise<StoredDocuments> {
  const stored = new Map<string, number>();
  for await (const { docid, ingested_at: at } of client.eachDocument(tenant, collection))
    stored.set(docid, Date.parse(at));
  return stored;
}

/**
 * The later of mtime and ctime, because a copied or moved file keeps its mtime. Infinity if the file cannot be read.
 */
export async function changedAtMs(path: string): Promise<number> {
  const stats = await stat(path).catch(() => undefined);
  return stats ? Math.max(stats.mtimeMs, stats.ctimeMs) : Infinity;
}

interface LineInput {
  /** Prefix of line numbers in messages. */
  name: string;
  stream: Input;
  /** When the content was last changed. 0 if unknown: stored documents then count as newer. */
  changedAtMs: number;
}

interface LineOptions {
  stored: StoredDocuments;
  /** Fields added to every document; its own fields take precedence. */
  metadata: Record<string, unknown> | undefined;
  failed: (place: string, reason: string) => void;
}

/** A document that was sent. */
interface Sent {
  place: string;
  /** Bytes of all input up to the end of the document. */
  endBytes: number;
}

const METADATA: ReadonlySet<string> = new Set(['metadata']);

/**
 * Parses documents from lines of JSON and remembers the origin of each until the server has answered. Invalid lines are
 * reported and left out, and with --resume also documents that the server already has.
 */
class LineDocuments {
  /** Documents left out because the server has them. */
  skipped = 0;
  readonly #underWay = new Map<number, Sent>();
  #sent = 0;
  #bytes = 0;

  constructor(readonly options: LineOptions) {}

  async *of(inputs: AsyncIterable<LineInput>): AsyncGenerator<IngestBody, void> {
    for await (const { name, stream, changedAtMs } of inputs) {
      let number = 0;
      for await (const text of linesOf(stream, name)) {
        this.#bytes += Buffer.byteLength(text) + 1;
        const place = `${name} ${++number}`;
        const document = text.trim() === '' ? undefined : this.#parse(text, place);
        if (document === undefined || this.#isStored(document, changedAtMs, place)) continue;
        this.#underWay.set(this.#sent++, { place, endBytes: this.#bytes });
        yield this.#withMetadata(document);
      }
    }
  }

  /** The origin of a document by its number in the stream, once the server has answered. Call once per document. */
  answered(index: number): Sent {
    const sent = this.#underWay.get(index) ?? { place: `document ${index}`, endBytes: this.#bytes };
    this.#underWay.delete(index);
    return sent;
  }

  #parse(text: string, place: string): IngestBody | undefined {
    try {
      const value: unknown = JSON.parse(text);
      const number = changedNumber(text, METADATA);
      if (number !== undefined) {
        this.options.failed(
          place,
          `${number} in its metadata has more digits than a number can keep: send it as a string`,
        );
        return undefined;
      }
      if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as IngestBody;
      this.options.failed(place, 'not a JSON object');
    } catch (error) {
      this.options.failed(place, `not JSON (${(error as Error).message})`);
    }
    return undefined;
  }

  #isStored({ docid }: IngestBody, changedAtMs: number, place: string): boolean {
    const { stored } = this.options;
    if (stored.size === 0) return false;
    if (docid == null || docid === '')
      throw new UsageError(
        `${place} has no docid: with --resume each document needs a docid, or it would be stored twice.`,
      );
    const storedAtMs = stored.get(docid);
    if (storedAtMs === undefined || storedAtMs <= changedAtMs) return false;
    this.skipped += 1;
    return true;
  }

  #withMetadata(document: IngestBody): IngestBody {
    const { metadata } = this.options;
    return metadata ? { ...document, metadata: { ...metadata, ...document.metadata } } : document;
  }
}

/** Throws LocalFailure after the last line if the stream breaks. */
async function* linesOf(stream: Input, name: string): AsyncGenerator<string> {
  try {
    yield* createInterface({ input: stream, crlfDelay: Infinity });
  } catch (error) {
    throw new LocalFailure(`${name}: reading failed: ${reasonOf(error as NodeJS.ErrnoException)}.`);
  }
}

interface LinesRequest {
  paths: readonly string[];
  stdin: Input;
  resume: boolean;
  metadata: Record<string, unknown> | undefined;
}

/** Failures that get a line of their own; the others are counted. */
const FAILURES_SHOWN_MAX = 100;

type Failed = (place: string, reason: string) => void;

interface Tally {
  ingested: number;
  chunks: number;
  failed: number;
}

/** Exit code: 0 if all documents succeeded, 1 if one failed or none was sent, 130 after Ctrl-C. Throws UsageError. */
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
    if (tally.failed <= FAILURES_SHOWN_MAX) progress.note(`${place}: ${reason}`);
  };
  const documents = new LineDocuments({ stored, metadata: request.metadata, failed });
  const take = (result: BatchItemResult): void => {
    const sent = documents.answered(result.index);
    addTo(tally, result, sent, failed);
    progress.update(tally.ingested + tally.failed, sent.endBytes);
  };
  return withInterrupt(async (signal) => {
    await send(target, documents.of(inputs(request)), signal, take)
      .catch((error: unknown) => thrown(error, signal, tally))
      .finally(progress.stop);
    line(output.stdout, summary(tally, documents.skipped, target, (performance.now() - startedAtMs) / 1000));
    if (signal.aborted) return EXIT.interrupted;
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

function addTo(tally: Tally, { ok, chunks = 0, code, error }: BatchItemResult, sent: Sent, failed: Failed): void {
  if (!ok) return failed(sent.place, `${error} (${code})`);
  tally.ingested += 1;
  tally.chunks += chunks;
}

async function sizeOf(path: string): Promise<number | undefined> {
  if (path === STANDARD_INPUT) return undefined;
  return readableFile(path, '--ndjson takes NDJSON files, or - for standard input.');
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
 * Adds to an error that stored documents stay stored and that --resume continues after them. After Ctrl-C nothing is
 * thrown.
 */
function thrown(error: unknown, signal: AbortSignal, { ingested }: Tally): void {
  if (signal.aborted) return;
  if (explainError(error) === undefined || ingested === 0) throw error;
  throw Object.assign(error as Error, {
    message: `${(error as Error).message} (${count(ingested, 'document')} ingested before; the same command with --resume continues after them)`,
  });
}

function summary({ ingested, chunks, failed }: Tally, skipped: number, target: Target, seconds: number): string {
  const others = `${skipped > 0 ? `, ${skipped.toLocaleString('en-US')} already stored` : ''}${failed > 0 ? `, ${failed} failed` : ''}`;
  return `${ingestedLine(ingested, 'document', chunks, target, seconds)}${others}.`;
}
