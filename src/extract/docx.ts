// Extracts text from DOCX with mammoth: paragraphs, lists, tables, notes and text boxes, converted to HTML and then to
// text. Images are omitted, and nothing outside of the file is read.
import mammoth from 'mammoth';
import { AppError } from '../api/errors.js';
import type { Budget, Flow } from './extracted.js';
import { readHtml } from './html.js';
import type { ZipPackage } from './zip-package.js';

const OPTIONS = {
  styleMap: ["p[style-name='Title'] => h1:fresh", "p[style-name='Subtitle'] => h2:fresh"],
  includeEmbeddedStyleMap: false,
  externalFileAccess: false,
  convertImage: mammoth.images.imgElement(async () => ({ src: '' })),
};

/**
 * Throws AppError `file_unreadable`. mammoth unpacks the file without a limit, so its unpacked size is measured first,
 * with the same library.
 */
export async function readDocx(bytes: Uint8Array, zip: ZipPackage, budget: Budget): Promise<Flow> {
  await zip.measure();
  let html: string;
  try {
    html = (
      await mammoth.convertToHtml(
        { buffer: Buffer.from(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length) },
        OPTIONS,
      )
    ).value;
  } catch {
    throw new AppError('file_unreadable');
  }
  return readHtml(html, budget);
}
