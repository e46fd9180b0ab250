// The batch workers: parsing, extraction and chunking of documents, off the front thread, which stays free to answer.
// Two crews: JSON and plain text never wait behind a file that wants a parser. Front thread; made by server.ts, asked
// by the ingest use case.
import { ownBytes } from '../base/bytes.js';
import type { Log } from '../base/log.js';
import type { LineSlice, PreparedLines, PrepareLinesRequest, SplitBatchRequest } from '../contract/batch-messages.js';
import type { PrepareAnswer, PrepareRequest } from '../contract/prepare-messages.js';
import { kindOfFile } from '../text/kind.js';
import { SNIFF_BYTES_MAX } from '../text/sniff.js';
import { Crew } from './crew.js';
import type { PoolMeters } from './pool-meters.js';

/** What one task may take, and how much text one file may give. */
export interface ParsingLimits {
  timeoutMs: number;
  memoryMb: number;
  textBytesMax: number;
}

export class BatchPool {
  /** JSON bodies, slices of batches and short plain text: milliseconds each. */
  private readonly light: Crew;
  /** Files that want a parser, or are long: up to the timeout each. */
  private readonly parsing: Crew;

  /** `threads`: of each of the crews. */
  constructor(threads: number, { textBytesMax, ...limits }: ParsingLimits, log: Log, meters?: PoolMeters) {
    const options = {
      threads,
      ...limits,
      start: { textBytesMax, memoryBytesMax: limits.memoryMb * 2 ** 20 },
      log,
      meters,
    };
    this.light = new Crew({ ...options, name: 'light' });
    this.parsing = new Crew({ ...options, name: 'parsing' });
  }

  /**
   * Cuts a document into chunks. The body's bytes are moved. Rejects with AppError; `overloaded` when too many wait.
   * `signal`: nobody waits any more.
   */
  prepare(request: PrepareRequest, tenant?: string, signal?: AbortSignal): Promise<PrepareAnswer> {
    const { body } = request;
    const crew = isLight(body) ? this.light : this.parsing;
    const moved = 'bytes' in body ? ownBytes(body.bytes) : undefined;
    const message: PrepareRequest = moved ? { ...request, body: { ...body, bytes: moved } } : request;
    return crew.run({ name: 'prepare', message, moved }, tenant, signal);
  }

  /** Cuts the body of a JSON batch into slices. Its bytes are moved. Rejects with AppError where it is no batch. */
  splitBatch(request: SplitBatchRequest, tenant?: string, signal?: AbortSignal): Promise<LineSlice[]> {
    const moved = ownBytes(request.bytes);
    return this.light.run({ name: 'splitBatch', message: { ...request, bytes: moved }, moved }, tenant, signal);
  }

  /** Prepares the items of a slice, whose bytes are moved. Rejects with AppError where none of them could be. */
  prepareLines(request: PrepareLinesRequest, tenant?: string, signal?: AbortSignal): Promise<PreparedLines> {
    const moved = ownBytes(request.bytes);
    return this.light.run({ name: 'prepareLines', message: { ...request, bytes: moved }, moved }, tenant, signal);
  }

  /** Ends the threads, as a crash would: for tests. */
  async kill(): Promise<void> {
    await Promise.all([this.light.kill(), this.parsing.kill()]);
  }

  async close(): Promise<void> {
    await Promise.all([this.light.close(), this.parsing.close()]);
  }
}

function isLight(body: PrepareRequest['body']): boolean {
  if (body.kind === 'json') return true;
  if (!('bytes' in body)) return false;
  const kind = kindOfFile(body.name, body.type, body.bytes.subarray(0, SNIFF_BYTES_MAX));
  return kind === undefined || kind === 'text' || kind === 'markdown';
}
