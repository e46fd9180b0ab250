// Maps each file type to its parser; docs/internals/extraction.md describes what each type gives. Parsers know nothing
// of documents, metadata or chunks. Parsers with libraries are loaded with the first file of their type, because
// together they would add a third of a second to the start of every thread. Runs in batch workers only.
import { AppError } from '../api/errors.js';
import { decodeMarkup, decodeText } from '../text/decode.js';
import { Budget, type Extracted, flowOf } from './extracted.js';
import type { FileKind } from './file-kind.js';
import { readJson, readJsonLines } from './json.js';
import { findHeadings } from './markdown.js';
import type { CsvOptions } from './messages.js';

export interface ExtractOptions {
  csv: CsvOptions;
  /** Limit of the extracted text and, separately, of the unpacked size of a package. */
  textBytesMax: number;
  /** Limit of the memory outside of the heap for one page of a PDF. */
  memoryBytesMax: number;
}

/** The name, in UTF-16LE, of the stream that holds an encrypted OOXML file (MS-OFFCRYPTO 1.3.3). */
const ENCRYPTED_PACKAGE = Buffer.from('EncryptedPackage', 'utf16le');

/** Types that contain more than text and may therefore exceed the text limit. */
const CONTAINERS: ReadonlySet<FileKind> = new Set(['eml', 'ole', 'package', 'pdf']);

/**
 * Extracts the text of a file, which may be blank. Rejects with AppError `file_unreadable`, `file_encrypted`,
 * `unsupported_or_invalid_document` or `invalid_csv_options`.
 */
export async function extract(bytes: Uint8Array, kind: FileKind, options: ExtractOptions): Promise<Extracted> {
  if (!CONTAINERS.has(kind)) new Budget(options.textBytesMax).spend(bytes.length);
  try {
    return await READERS[kind](bytes, new Budget(options.textBytesMax), options);
  } catch (error) {
    // Any error of a parser is caused by the file; its message is not meant for the client.
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

/** Reads a zip-based file. Its entries determine the type, whatever its name is. */
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

/** Rejects OLE files: old Office formats, which are not supported, and encrypted OOXML files. */
function refuseOle(bytes: Uint8Array): never {
  const isEncrypted = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(ENCRYPTED_PACKAGE);
  throw new AppError(isEncrypted ? 'file_encrypted' : 'unsupported_or_invalid_document');
}
