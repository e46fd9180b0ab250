// Detects the type of a file: from signatures in its first bytes, then its extension, then its declared type, then its
// content. Pure functions.
import { extname } from 'node:path/posix';
import { mediaTypeOf } from '../base/http-headers.js';

/** Number of bytes that are inspected. */
export const SNIFF_BYTES_MAX = 8192;

/**
 * Whether the beginning of a file has a NUL byte and no UTF-16 byte order mark; git uses the same rule for binary
 * files.
 */
export function looksBinary(head: Uint8Array): boolean {
  const utf16 = (head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff);
  return !utf16 && head.subarray(0, SNIFF_BYTES_MAX).includes(0);
}

/**
 * `package` is a zip archive, whose entries distinguish DOCX, PPTX, XLSX, ODT and EPUB; `ole` is the older container
 * format, which also holds encrypted OOXML.
 */
export type FileKind =
  | 'text'
  | 'markdown'
  | 'html'
  | 'csv'
  | 'tsv'
  | 'json'
  | 'jsonl'
  | 'eml'
  | 'pdf'
  | 'package'
  | 'ole';

const BY_EXTENSION: Readonly<Record<string, FileKind>> = {
  '.txt': 'text',
  '.text': 'text',
  '.log': 'text',
  '.md': 'markdown',
  '.markdown': 'markdown',
  '.html': 'html',
  '.htm': 'html',
  '.xhtml': 'html',
  '.csv': 'csv',
  '.tsv': 'tsv',
  '.tab': 'tsv',
  '.json': 'json',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.eml': 'eml',
  '.pdf': 'pdf',
  '.docx': 'package',
  '.pptx': 'package',
  '.xlsx': 'package',
  '.odt': 'package',
  '.epub': 'package',
};
const BY_TYPE: Readonly<Record<string, FileKind>> = {
  'text/markdown': 'markdown',
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'text/csv': 'csv',
  'text/tab-separated-values': 'tsv',
  'application/json': 'json',
  'application/jsonl': 'jsonl',
  'application/x-ndjson': 'jsonl',
  'message/rfc822': 'eml',
  'application/pdf': 'pdf',
  'application/epub+zip': 'package',
};
const OFFICE_TYPE = /^application\/vnd\.(openxmlformats-officedocument|oasis\.opendocument)\./;
/** Signatures of unsupported types that need not contain a NUL byte: RTF, PostScript, gzip, JPEG, compress, bzip2. */
const FOREIGN = /^(\{\\rtf|%!PS|\x1f\x8b|\xff\xd8\xff|\x1f\x9d|BZh\d1AY)/;
/** Types for which the name is trusted; the parser then reports other content as corrupt. */
const STRICT_KINDS: ReadonlySet<FileKind> = new Set(['pdf', 'package', 'json', 'jsonl']);
const PDF_HEADER_WITHIN_BYTES = 1024;

/**
 * `head` has the first SNIFF_BYTES_MAX bytes or more, or the whole file. Returns undefined for an unsupported file.
 * Signatures take precedence: a PDF or zip package is detected under any name, and binary content is never text.
 */
export function kindOfFile(name: string, declaredType: string, head: Uint8Array): FileKind | undefined {
  const extension = extname(name).toLowerCase();
  const start = Buffer.from(head.buffer, head.byteOffset, Math.min(head.length, PDF_HEADER_WITHIN_BYTES)).toString(
    'latin1',
  );
  const named = Object.hasOwn(BY_EXTENSION, extension) ? BY_EXTENSION[extension] : byType(declaredType);
  if (start.startsWith('%PDF-') || (named !== 'text' && named !== 'markdown' && isLatePdf(start))) return 'pdf';
  if (/^PK(\x03\x04|\x05\x06|\x07\x08)/.test(start)) return 'package';
  if (start.startsWith('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1')) return 'ole';
  if (named !== undefined && STRICT_KINDS.has(named)) return named;
  if (FOREIGN.test(start) || looksBinary(head)) return undefined;
  return named ?? (/^(\xef\xbb\xbf)?\s*<(!doctype html|html)[\s>]/i.test(start) ? 'html' : 'text');
}

function byType(declared: string): FileKind | undefined {
  const type = mediaTypeOf(declared);
  if (OFFICE_TYPE.test(type)) return 'package';
  return Object.hasOwn(BY_TYPE, type) ? BY_TYPE[type] : undefined;
}

/** Some programs write lines before the PDF header; a text that only mentions PDF has no object after it. */
const isLatePdf = (start: string): boolean => /%PDF-\d\.\d[\r\n]/.test(start) && start.includes(' obj');
