// Extracts text from PDF with pdf.js, one unit per page. The library runs in the worker thread with everything disabled
// that draws or fetches: no canvas, no eval, no network. Its tables for Asian text and the standard fonts are read from
// its own package.
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { AppError } from '../api/errors.js';
import type { Budget, Unit, Units } from './extracted.js';

/** Smaller arrays are not counted: they are harmless and numerous. */
const COUNTED_BYTES_MIN = 64 * 1024;

type Set = (this: Uint8Array, source: ArrayLike<number>, offset?: number) => void;

/**
 * Limits the memory that pdf.js takes outside of the heap. The resource limits of a thread only cover its heap, and the
 * library inflates streams into typed arrays without a limit: a page of 1 MB can unpack to 10 GB. An array that becomes
 * too small is copied, by `set`, into one of twice the size, so growth is counted and rejected in `set`. Counting at
 * the creation of arrays would cost a fifth of the speed (`load ingest files`).
 */
class ArrayMemoryLimit {
  private leftBytes = Infinity;

  /** Replaces `set` of the typed arrays of this thread, permanently. Counts nothing until `allow` is called. */
  static install(): ArrayMemoryLimit {
    const limit = new ArrayMemoryLimit();
    const prototype = Object.getPrototypeOf(Uint8Array.prototype) as { set: Set };
    const { set } = prototype;
    prototype.set = function (source, offset): void {
      if (offset === undefined && this.byteLength >= COUNTED_BYTES_MIN) limit.spend(this.byteLength);
      set.call(this, source, offset);
    };
    // Hides DecompressionStream, which would inflate natively without a limit; the library then inflates in JavaScript,
    // into growing arrays.
    Object.assign(globalThis, { DecompressionStream: undefined });
    return limit;
  }

  /**
   * Sets the number of bytes that arrays may grow by from now on; beyond it a RangeError is thrown, as when memory is
   * exhausted.
   */
  allow(bytes: number): void {
    this.leftBytes = bytes;
  }

  private spend(bytes: number): void {
    this.leftBytes -= bytes;
    if (this.leftBytes < 0) throw new RangeError('Array buffer allocation failed');
  }
}

type PdfJs = typeof import('pdfjs-dist/legacy/build/pdf.mjs');
type PdfDocument = Awaited<ReturnType<PdfJs['getDocument']>['promise']>;

const PAGES_MAX = 100_000;
/** Characters produced by fonts that do not map their glyphs to Unicode. */
const NO_CHARACTERS = /[\u0000-\u0008\u000b-\u001f\u007f\ufffe\uffff]/g;

/**
 * `page` counts from 0. A page that cannot be read is omitted; if no page has text and one failed, that is an error.
 * `bytes` are consumed. Throws AppError `file_encrypted` if the file needs a password, and `file_unreadable`. The text
 * of a scan is blank.
 */
export async function readPdf(
  bytes: Uint8Array,
  budget: Budget,
  { memoryBytesMax }: { memoryBytesMax: number },
): Promise<Units> {
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  unlockAttachments(source);
  const hasEncryption = source.includes('/Encrypt');
  const { getDocument, VerbosityLevel, limit } = await loadPdfJs();
  limit.allow(memoryBytesMax);
  const task = getDocument({
    ...TEXT_ALONE,
    ...LOCAL_FILES,
    data: new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length),
    verbosity: VerbosityLevel.ERRORS,
  });
  try {
    const document = await task.promise.catch((error: Error) => refuse(error, hasEncryption));
    return await readPages(document, budget, () => limit.allow(memoryBytesMax));
  } finally {
    await task.destroy().catch(() => undefined);
    limit.allow(Infinity);
  }
}

/** `begin` is called before each page. */
async function readPages(document: PdfDocument, budget: Budget, begin: () => void): Promise<Units> {
  const units: Unit[] = [];
  let failed = 0;
  const pages = Math.min(document.numPages, PAGES_MAX);
  for (let page = 0; page < pages; page++) {
    begin();
    const text = await pageText(document, page).catch(() => void failed++);
    if (text !== undefined) units.push({ path: `page_${page}`, text: budget.spendText(text), meta: { page } });
  }
  if (failed > 0 && units.every(({ text }) => text.trim() === '')) throw new AppError('file_unreadable');
  return { kind: 'units', units, areRows: false };
}

async function pageText(document: PdfDocument, page: number): Promise<string> {
  const proxy = await document.getPage(page + 1);
  const { items } = await proxy.getTextContent();
  proxy.cleanup();
  return items
    .map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : ''))
    .join('')
    .replace(NO_CHARACTERS, '')
    .trim();
}

/** A security handler that the library does not support also means that the file is encrypted. */
function refuse(error: Error, hasEncryption: boolean): never {
  const isEncrypted = error.name === 'PasswordException' || (hasEncryption && /crypt|security/i.test(error.message));
  throw new AppError(isEncrypted ? 'file_encrypted' : 'file_unreadable');
}

/**
 * If only attachments are encrypted (ISO 32000-2, table 25: AuthEvent EFOpen), the pages are readable, but pdf.js asks
 * for the password anyway. This renames the encryption entry of the trailer, in place, so that nothing is decrypted.
 */
function unlockAttachments(source: Buffer): void {
  if (!source.includes('/EFOpen') || source.includes('/DocOpen')) return;
  for (let at = source.indexOf('/Encrypt'); at >= 0; at = source.indexOf('/Encrypt', at + 1)) source.write('X', at + 1);
}

/** Disables drawing, fetching and compiling. */
const TEXT_ALONE = {
  isEvalSupported: false,
  disableFontFace: true,
  useSystemFonts: false,
  useWorkerFetch: false,
  useWasm: false,
  isOffscreenCanvasSupported: false,
  isImageDecoderSupported: false,
};
const FOLDER = dirname(createRequire(import.meta.url).resolve('pdfjs-dist/package.json'));
const LOCAL_FILES = { cMapUrl: `${FOLDER}/cmaps/`, cMapPacked: true, standardFontDataUrl: `${FOLDER}/standard_fonts/` };

/** Loaded with the first PDF, because loading is slow and most workers never need it. */
const loadPdfJs = once(async (): Promise<PdfJs & { limit: ArrayMemoryLimit }> => {
  const limit = ArrayMemoryLimit.install();
  // The library refers to these drawing classes when it is loaded, and would import them from a canvas package that may
  // be absent.
  Object.assign(globalThis, { DOMMatrix: class {}, ImageData: class {}, Path2D: class {} });
  return { ...(await import('pdfjs-dist/legacy/build/pdf.mjs')), limit };
});

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}
