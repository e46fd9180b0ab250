// Which of the zip-based types a package is, by its entries: its name may say anything.
// Called by extract.ts in the batch worker.
import { AppError } from '../api/errors.js';
import type { Budget, Extracted } from './extracted.js';
import { readDocx } from './docx.js';
import { readEpub } from './epub.js';
import { readOdt } from './odt.js';
import { readPptx } from './pptx.js';
import { readXlsx } from './xlsx.js';
import { ZipPackage } from './zip-package.js';

/** Throws AppError; `unsupported_or_invalid_document` for a zip archive that is none of the types. */
export async function readPackage(bytes: Uint8Array, budget: Budget, unpacked: Budget): Promise<Extracted> {
  const zip = await ZipPackage.open(bytes, unpacked);
  if (
    zip.has('word/document.xml') ||
    (zip.has('[Content_Types].xml') && zip.names.some((name) => /^word\/document\d*\.xml$/.test(name)))
  )
    return readDocx(bytes, zip, budget);
  if (zip.has('ppt/presentation.xml')) return readPptx(zip, budget);
  if (zip.has('xl/workbook.xml')) return readXlsx(zip, budget);
  if (zip.has('META-INF/container.xml') && zip.names.some((name) => name.endsWith('.opf')))
    return readEpub(zip, budget);
  const mimetype = ((await zip.text('mimetype')) ?? '').trim();
  if (mimetype.startsWith('application/vnd.oasis.opendocument.text')) return readOdt(zip, budget);
  throw new AppError('unsupported_or_invalid_document');
}
