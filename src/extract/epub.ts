// Extracts text from EPUB: one unit per document of the spine, in reading order, each read as HTML. EPUB 3.3, sections
// 4 and 5.
import { AppError } from '../api/errors.js';
import { decodeMarkup } from '../text/decode.js';
import type { Budget, Unit, Units } from './extracted.js';
import { readHtml } from './html.js';
import { type ZipPackage, folderOf, resolveEntry, walkXml } from './zip-package.js';

/**
 * `chapter` is the index of the document in the spine, from 0. Throws AppError `file_encrypted` (DRM) or
 * `file_unreadable`.
 */
export async function readEpub(zip: ZipPackage, budget: Budget): Promise<Units> {
  const spine = await spineEntries(zip);
  const encrypted = await encryptedEntries(zip);
  if (spine.some((entry) => encrypted.has(entry))) throw new AppError('file_encrypted');
  const units: Unit[] = [];
  for (const [i, entry] of spine.entries()) {
    const bytes = await zip.bytes(entry);
    if (bytes === undefined) continue;
    const { text, headings } = readHtml(decodeMarkup(bytes), budget);
    units.push({ path: `chapter_${i}`, text, meta: { chapter: i }, headings });
  }
  return { kind: 'units', units, areRows: false };
}

async function spineEntries(zip: ZipPackage): Promise<string[]> {
  const rootFile = await rootFileOf(zip);
  const xml = await zip.text(rootFile);
  if (xml === undefined) throw new AppError('file_unreadable');
  const hrefs = new Map<string, string>();
  const spine = new Set<string>();
  walkXml(xml, {
    open(name, { id, href, idref, linear }) {
      if (name === 'item' && id && href) hrefs.set(id, href);
      if (name === 'itemref' && idref && linear !== 'no') spine.add(idref);
    },
  });
  return [...spine].flatMap((id) => hrefs.get(id) ?? []).map((href) => resolveEntry(folderOf(rootFile), decoded(href)));
}

async function rootFileOf(zip: ZipPackage): Promise<string> {
  let path: string | undefined;
  walkXml((await zip.text('META-INF/container.xml')) ?? '', {
    open: (name, attributes) => void (name === 'rootfile' && (path ??= attributes['full-path'])),
  });
  if (path === undefined) throw new AppError('file_unreadable');
  return path;
}

/** The encrypted entries. These may be only fonts, in a book that is otherwise readable. */
async function encryptedEntries(zip: ZipPackage): Promise<Set<string>> {
  const entries = new Set<string>();
  walkXml((await zip.text('META-INF/encryption.xml')) ?? '', {
    open: (name, { URI }) => void (name === 'CipherReference' && URI && entries.add(resolveEntry('', decoded(URI)))),
  });
  return entries;
}

function decoded(href: string): string {
  const path = href.replace(/#.*$/s, '');
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
