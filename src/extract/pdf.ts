// Text of PDF by pdf.js, a unit a page. The library runs in this worker thread with all that draws or fetches switched
// off: no canvas, no eval, no network; its tables for Asian text and the standard fonts come out of its own package.
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { AppError } from '../api/errors.js';
import type { Budget, Unit, Units } from './extracted.js';

/** Smaller arrays are no danger, and many. */
const COUNTED_BYTES_MIN = 64 * 1024;

type Set = (this: Uint8Array, source: ArrayLike<number>, offset?: number) => void;

/**
 * Bounds the memory that pdf.js takes outside of the heap. A thread's resource limits hold for its heap alone, and the
 * library inflates into typed arrays without a bound: a page of 1 MB can unpack to 10 GB of the process. An array that
 * it outgrows is copied into one of twice the size, by `set`: that is where growth is counted here, and refused.
 * Counting where arrays are made would cost a fifth of the speed (`load ingest files`).
 */
class ArrayMemoryLimit {
  private leftBytes = Infinity;

  /** Replaces `set` of the typed arrays of this thread, for good. It counts nothing until `allow` is called. */
  static install(): ArrayMemoryLimit {
    const limit = new ArrayMemoryLimit();
    const prototype = Object.getPrototypeOf(Uint8Array.prototype) as { set: Set };
    const { set } = prototype;
    prototype.set = function (source, offset): void {
      if (offset === undefined && this.byteLength >= COUNTED_BYTES_MIN) limit.spend(this.byteLength);
      set.call(this, source, offset);
    };
    // It would inflate natively and gather all of it; without it the library inflates by itself, into arrays that grow.
    Object.assign(globalThis, { DecompressionStream: undefined });
    return limit;
  }

  /** How many bytes may be grown into from now on; beyond them comes a RangeError, as where memory is out. */
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
/** What fonts give that do not say which characters their glyphs are. */
const NO_CHARACTERS = /[\u0000-\u0008\u000b-\u001f\u007f\ufffe\uffff]/g;

/**
 * `page` counts from 0. A page that cannot be read is left out, unless none can. `bytes` are used up. Throws AppError
 * `file_encrypted` where the file wants a password, `file_unreadable`; of a scan the text is blank.
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

/** A security handler that the library does not know is an encrypted file too. */
function refuse(error: Error, hasEncryption: boolean): never {
  const isEncrypted = error.name === 'PasswordException' || (hasEncryption && /crypt|security/i.test(error.message));
  throw new AppError(isEncrypted ? 'file_encrypted' : 'file_unreadable');
}

/**
 * Where only attachments are encrypted (ISO 32000-2, table 25: AuthEvent EFOpen), the pages are open to read, but
 * pdf.js wants the password at once. The trailer's entry for encryption is renamed then, in place, so that nothing is
 * decrypted.
 */
function unlockAttachments(source: Buffer): void {
  if (!source.includes('/EFOpen') || source.includes('/DocOpen')) return;
  for (let at = source.indexOf('/Encrypt'); at >= 0; at = source.indexOf('/Encrypt', at + 1)) source.write('X', at + 1);
}

/** Nothing is drawn, fetched or compiled. */
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

/** Loaded with the first PDF: it takes its time, and most workers never see one. */
const loadPdfJs = once(async (): Promise<PdfJs & { limit: ArrayMemoryLimit }> => {
  const limit = ArrayMemoryLimit.install();
  // The library names these when it is loaded, and would take them from a canvas package, which may be absent; they are
  // for drawing.
  Object.assign(globalThis, { DOMMatrix: class {}, ImageData: class {}, Path2D: class {} });
  return { ...(await import('pdfjs-dist/legacy/build/pdf.mjs')), limit };
});

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}
