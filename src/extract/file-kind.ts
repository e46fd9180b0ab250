// Which type a file is: by what its first bytes prove, then by extension, then by declared type, then by what it looks
// like. Pure.
import { extname } from 'node:path/posix';
import { mediaTypeOf } from '../base/http-headers.js';

/** How much of a file is looked at. */
export const SNIFF_BYTES_MAX = 8192;

/** True when the head of a file has a NUL byte and no byte order mark of UTF-16: git's rule for binary files. */
export function looksBinary(head: Uint8Array): boolean {
  const utf16 = (head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff);
  return !utf16 && head.subarray(0, SNIFF_BYTES_MAX).includes(0);
}

/**
 * `package`: a zip archive, whose entries tell DOCX, PPTX, XLSX, ODT and EPUB apart; `ole`: an older container, which
 * holds encrypted OOXML.
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
/**
 * Files that begin like this are none of the types, though they may hold no NUL: RTF, PostScript, gzip, JPEG, compress,
 * bzip2.
 */
const FOREIGN = /^(\{\\rtf|%!PS|\x1f\x8b|\xff\xd8\xff|\x1f\x9d|BZh\d1AY)/;
/** A name that promises one of these is believed: the parser then finds other bytes corrupt. */
const STRICT_KINDS: ReadonlySet<FileKind> = new Set(['pdf', 'package', 'json', 'jsonl']);
const PDF_HEADER_WITHIN_BYTES = 1024;

/**
 * `head`: at least the first SNIFF_BYTES_MAX bytes, or all. Undefined for a file that is none of the types. What the
 * bytes prove rules: a PDF or a zip package is one under any name, and binary bytes never become text.
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

/** Some programs write a few lines before the header; a text that merely tells of PDF has no object after it. */
const isLatePdf = (start: string): boolean => /%PDF-\d\.\d[\r\n]/.test(start) && start.includes(' obj');
