// Which parser reads which type of file; docs/internals/extraction.md says what each type gives. The parsers know
// nothing of documents, metadata or chunks. A parser with a library comes with the first file that wants it: together
// they take a third of a second to load, at every start of every thread. Batch worker only.
import { AppError } from '../api/errors.js';
import { decodeMarkup, decodeText } from '../text/decode.js';
import { Budget, type Extracted, flowOf } from './extracted.js';
import type { FileKind } from './file-kind.js';
import { readJson, readJsonLines } from './json.js';
import { findHeadings } from './markdown.js';
import type { CsvOptions } from './messages.js';

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

type Reader = (bytes: Uint8Array, budget: Budget, options: ExtractOptions) => Extracted | Promise<Extracted>;

const READERS: Readonly<Record<FileKind, Reader>> = {
  text: (bytes) => flowOf(decodeText(bytes)),
  markdown: (bytes) => {
    const text = decodeText(bytes);
    return flowOf(text, findHeadings(text));
  },
  html: async (bytes, budget) => (await import('./html.js')).readHtml(decodeMarkup(bytes), budget),
  csv: async (bytes, budget, { csv }) => (await import('./csv.js')).readCsv(decodeText(bytes), undefined, csv, budget),
  tsv: async (bytes, budget, { csv }) => (await import('./csv.js')).readCsv(decodeText(bytes), '\t', csv, budget),
  json: (bytes, budget, { memoryBytesMax }) => readJson(decodeText(bytes), budget, memoryBytesMax),
  jsonl: (bytes, budget, { memoryBytesMax }) => readJsonLines(decodeText(bytes), budget, memoryBytesMax),
  eml: async (bytes, budget) => (await import('./eml.js')).readEml(bytes, budget),
  pdf: async (...file) => (await import('./pdf.js')).readPdf(...file),
  package: readPackage,
  ole: refuseOle,
};

/** A zip-based type. Its entries decide which: its name may say anything. */
async function readPackage(bytes: Uint8Array, budget: Budget, { textBytesMax }: ExtractOptions): Promise<Extracted> {
  const { ZipPackage } = await import('./zip-package.js');
  const zip = await ZipPackage.open(bytes, new Budget(textBytesMax));
  const isWord =
    zip.has('word/document.xml') ||
    (zip.has('[Content_Types].xml') && zip.names.some((name) => /^word\/document\d*\.xml$/.test(name)));
  if (isWord) return (await import('./docx.js')).readDocx(bytes, zip, budget);
  if (zip.has('ppt/presentation.xml')) return (await import('./pptx.js')).readPptx(zip, budget);
  if (zip.has('xl/workbook.xml')) return (await import('./xlsx.js')).readXlsx(zip, budget);
  if (zip.has('META-INF/container.xml') && zip.names.some((name) => name.endsWith('.opf')))
    return (await import('./epub.js')).readEpub(zip, budget);
  const mimetype = ((await zip.text('mimetype')) ?? '').trim();
  if (mimetype.startsWith('application/vnd.oasis.opendocument.text'))
    return (await import('./odt.js')).readOdt(zip, budget);
  throw new AppError('unsupported_or_invalid_document');
}

/** Office files of old, which are no type of ours, and encrypted ones of today. */
function refuseOle(bytes: Uint8Array): never {
  const isEncrypted = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(ENCRYPTED_PACKAGE);
  throw new AppError(isEncrypted ? 'file_encrypted' : 'unsupported_or_invalid_document');
}
