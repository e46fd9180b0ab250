// Reads a multipart/form-data body: fields as text and at most one file, which goes where file-sink.ts has room for it.
// Called by body.ts on the front thread. The parser takes bytes as they come, and holds the source back.
import { finished, pipeline } from 'node:stream/promises';
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import { AppError } from '../contract/errors.js';
import type { FileLimit } from './file-limit.js';
import { FileSink, type FileSpool } from './file-sink.js';
import type { Form } from './route.js';

export interface FormLimits {
  readonly file: FileLimit;
  /** Announced length of the whole body, undefined when unknown. */
  readonly expectedBytes: number | undefined;
  /** Where large files go; undefined to keep them in memory. */
  readonly spool: FileSpool | undefined;
}

const PARTS_MAX = 64;
const FIELD_BYTES_MAX = 1024 * 1024;
const PIECE_BYTES = 16 * 1024;
const TURN_MS = 4;
const PART_HEADER_BYTES_MAX = 16 * 1024;

/**
 * Reads the form to its end. Of fields with one name the last counts; a nameless, empty file is what browsers send for
 * an empty file input, and counts as no file. Throws 400 `invalid_multipart` when the body is malformed or cut off, has
 * more than 64 parts or two files, 413 `file_too_large` (`archive_too_large`) or `request_too_large` (a field over 1
 * MiB), 503 `storage_full`, and what `source` throws.
 */
export async function readForm(source: AsyncIterable<Buffer>, contentType: string, limits: FormLimits): Promise<Form> {
  const parser = openParser(contentType, limits.file.bytesMax);
  const parts = new FormParts(parser, limits);
  try {
    await pipeline(inTurns(source), parser);
    return await parts.form();
  } catch (error) {
    await parts.stop();
    throw parts.failure ?? (error instanceof AppError ? error : new AppError('invalid_multipart'));
  }
}

/** What the parser makes of one piece takes a while at worst; others have their turn between two. */
async function* inTurns(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let sinceMs = performance.now();
  for await (const chunk of source)
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
      yield chunk.subarray(at, at + PIECE_BYTES);
      if (performance.now() - sinceMs < TURN_MS) continue;
      await new Promise(setImmediate);
      sinceMs = performance.now();
    }
}

function openParser(contentType: string, fileBytesMax: number): BusboyInstance {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      limits: {
        parts: PARTS_MAX,
        files: 1,
        fileSize: fileBytesMax,
        fieldSize: FIELD_BYTES_MAX,
        headerSize: PART_HEADER_BYTES_MAX,
      },
    });
  } catch {
    throw new AppError('invalid_multipart', 'The Content-Type is not multipart/form-data with a boundary.');
  }
}

/** Collects what the parser finds, and stops it at the first thing that is not allowed. */
class FormParts {
  private readonly fields = new Map<string, string>();
  private file: { name: string; type: string; sink: FileSink } | undefined;
  /** Why the file could not be kept. */
  failure: Error | undefined;

  constructor(
    private readonly parser: BusboyInstance,
    private readonly limits: FormLimits,
  ) {
    parser.on('field', (name, value, _nameCut, valueCut) => this.addField(name, value, valueCut));
    parser.on('file', (_field, stream, name, _encoding, type) => this.addFile(stream, name, type));
    parser.on('partsLimit', () => this.refuse('invalid_multipart', `A form has at most ${PARTS_MAX} parts.`));
    parser.on('filesLimit', () => this.refuse('invalid_multipart', 'A form has at most one file.'));
  }

  async form(): Promise<Form> {
    const { fields, file } = this;
    if (file === undefined) return { fields };
    await finished(file.sink);
    const content = file.sink.content();
    const isNone = file.name === '' && 'bytes' in content && content.bytes.length === 0;
    return isNone ? { fields } : { fields, file: { name: file.name, type: file.type, ...content } };
  }

  /** Resolves when nothing is written any more. */
  async stop(): Promise<void> {
    await this.file?.sink.stop();
  }

  private addField(name: string | undefined, value: string, isCut: boolean): void {
    if (name === undefined) return this.refuse('invalid_multipart', 'A part has no name.');
    if (isCut) return this.refuse('request_too_large', `A form field has at most ${FIELD_BYTES_MAX} bytes.`);
    this.fields.set(name, value);
  }

  private addFile(stream: BusboyFileStream, name: string | undefined, type: string): void {
    const { file, expectedBytes, spool } = this.limits;
    const sink = new FileSink(expectedBytes, spool);
    this.file = { name: name ?? '', type, sink };
    stream.pipe(sink).on('error', (error) => {
      this.failure = error;
      this.parser.destroy(error);
    });
    stream.on('limit', () => this.refuse(file.code, undefined, { limit_bytes: file.bytesMax }));
    // A file that is cut off is an error of the parser too, which is where it is answered.
    stream.on('error', () => undefined);
  }

  private refuse(
    code: 'invalid_multipart' | 'request_too_large' | FileLimit['code'],
    message?: string,
    details?: Record<string, unknown>,
  ): void {
    this.parser.destroy(new AppError(code, message, details && { details }));
  }
}
