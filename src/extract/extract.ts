// Which parser reads which type of file. Batch worker; the parsers know nothing of documents, metadata or chunks.
// docs/internals/extraction.md tells what each type gives.
import { AppError } from '../api/errors.js';
import type { CsvOptions } from './messages.js';
import { decodeMarkup, decodeText } from '../text/decode.js';
import type { FileKind } from './file-kind.js';
import { Budget, type Extracted, flowOf } from './extracted.js';
import { readJson, readJsonLines } from './json.js';
import { findHeadings } from './markdown.js';

export interface ExtractOptions {
  csv: CsvOptions;
  /** Bounds the text that is taken out, and, apart from it, what a package unpacks to. */
  textBytesMax: number;
  /** Bounds what one page of a PDF grows to outside of the heap. */
  memoryBytesMax: number;
}

/** UTF-16LE name of the stream that holds an encrypted OOXML file (MS-OFFCRYPTO 1.3.3). */
const ENCRYPTED_PACKAGE = Buffer.from('EncryptedPackage', 'utf16le');

/** These hold other things than text too, and may be longer. */
const CONTAINERS: ReadonlySet<FileKind> = new Set(['eml', 'ole', 'package', 'pdf']);

/**
 * The text of a file. Rejects with AppError `file_unreadable`, `file_encrypted`, `unsupported_or_invalid_document` or
 * `invalid_csv_options`; the text may be blank.
 */
export async function extract(bytes: Uint8Array, kind: FileKind, options: ExtractOptions): Promise<Extracted> {
  if (!CONTAINERS.has(kind)) new Budget(options.textBytesMax).spend(bytes.length);
  try {
    return await READERS[kind](bytes, new Budget(options.textBytesMax), options);
  } catch (error) {
    // Whatever a library trips over, it is this file's doing, and its words are not for the client.
    throw error instanceof AppError ? error : new AppError('file_unreadable');
  }
}

/**
 * A parser with a library comes with the first file that wants it: together they take a third of a second to load, at
 * every start of every thread.
 */
type Reader = (bytes: Uint8Array, budget: Budget, options: ExtractOptions) => Extracted | Promise<Extracted>;

const READERS: Readonly<Record<FileKind, Reader>> = {
  text: (bytes) => flowOf(decodeText(bytes)),
  markdown: (bytes) => markdown(decodeText(bytes)),
  html: async (bytes, budget) => (await import('./html.js')).readHtml(decodeMarkup(bytes), budget),
  csv: async (bytes, budget, { csv }) => (await import('./csv.js')).readCsv(decodeText(bytes), undefined, csv, budget),
  tsv: async (bytes, budget, { csv }) => (await import('./csv.js')).readCsv(decodeText(bytes), '\t', csv, budget),
  json: (bytes, budget, { memoryBytesMax }) => readJson(decodeText(bytes), budget, memoryBytesMax),
  jsonl: (bytes, budget, { memoryBytesMax }) => readJsonLines(decodeText(bytes), budget, memoryBytesMax),
  eml: async (bytes, budget) => (await import('./eml.js')).readEml(bytes, budget),
  pdf: async (...file) => (await import('./pdf.js')).readPdf(...file),
  package: async (bytes, budget, { textBytesMax }) =>
    (await import('./package.js')).readPackage(bytes, budget, new Budget(textBytesMax)),
  ole: refuseOle,
};

const markdown = (text: string): Extracted => flowOf(text, findHeadings(text));

/** Office files of old, which are no type of ours, and encrypted ones of today. */
function refuseOle(bytes: Uint8Array): never {
  const isEncrypted = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(ENCRYPTED_PACKAGE);
  throw new AppError(isEncrypted ? 'file_encrypted' : 'unsupported_or_invalid_document');
}
