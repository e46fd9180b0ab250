// What a sheet of XLSX needs of its workbook: names and order of the sheets, shared strings, and which cell styles show
// a date. ECMA-376 part 1, section 18. Used by xlsx.ts.
import { AppError } from '../../../src/contract/errors.js';
import { folderOf, relationshipTargets, walkXml } from './xml.js';
import type { ZipPackage } from './zip-package.js';

export interface Workbook {
  sheets: { name: string; entry: string }[];
  strings: string[];
  /** Index of a cell style to whether it is one for dates or times. */
  areDates: boolean[];
  /** Day 0 of date numbers, in ms. */
  epochMs: number;
}

const WORKBOOK = 'xl/workbook.xml';
const EPOCH_1900_MS = Date.UTC(1899, 11, 30);
const EPOCH_1904_MS = Date.UTC(1904, 0, 1);

/** Throws AppError `file_unreadable` where there is no workbook. */
export async function readWorkbook(zip: ZipPackage): Promise<Workbook> {
  const xml = await zip.text(WORKBOOK);
  if (xml === undefined) throw new AppError('file_unreadable');
  const targets = relationshipTargets((await zip.text('xl/_rels/workbook.xml.rels')) ?? '', folderOf(WORKBOOK));
  const sheets: Workbook['sheets'] = [];
  let epochMs = EPOCH_1900_MS;
  walkXml(xml, {
    open(element, attributes) {
      const entry = element === 'sheet' ? targets.get(attributes['r:id'] ?? '') : undefined;
      if (entry !== undefined) sheets.push({ name: attributes.name ?? '', entry });
      if (element === 'workbookPr' && /^(1|true)$/.test(attributes.date1904 ?? '')) epochMs = EPOCH_1904_MS;
    },
  });
  return {
    sheets,
    epochMs,
    strings: readStrings((await zip.text('xl/sharedStrings.xml')) ?? ''),
    areDates: readStyles((await zip.text('xl/styles.xml')) ?? ''),
  };
}

/** A string may come in runs of other styles, with phonetic hints between them, which are no text of the cell. */
function readStrings(xml: string): string[] {
  const strings: string[] = [];
  let runs: string[] = [];
  let isText = false;
  let phoneticDepth = 0;
  walkXml(xml, {
    open(name) {
      if (name === 'si') runs = [];
      if (name === 'rPh') phoneticDepth++;
      isText = name === 't' && phoneticDepth === 0;
    },
    text: (text) => void (isText && runs.push(text)),
    close(name) {
      isText = false;
      if (name === 'rPh') phoneticDepth--;
      if (name === 'si') strings.push(runs.join(''));
    },
  });
  return strings;
}

function readStyles(xml: string): boolean[] {
  const own = new Map<string, boolean>();
  const areDates: boolean[] = [];
  let isCellStyles = false;
  walkXml(xml, {
    open(name, { numFmtId = '0', formatCode = '' }) {
      if (name === 'numFmt') own.set(numFmtId, isDateFormat(formatCode));
      if (name === 'cellXfs') isCellStyles = true;
      if (name === 'xf' && isCellStyles) areDates.push(own.get(numFmtId) ?? isBuiltInDate(Number(numFmtId)));
    },
    close: (name) => void (name === 'cellXfs' && (isCellStyles = false)),
  });
  return areDates;
}

/** Letters of a date outside of quotes, brackets and escapes. */
const isDateFormat = (code: string): boolean => /[ymdhs]/i.test(code.replace(/"[^"]*"|\[[^\]]*\]|\\./g, ''));

/** Section 18.8.30; 27 to 36 and 50 to 58 are the dates of East Asia. */
const isBuiltInDate = (id: number): boolean =>
  (id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 45 && id <= 47) || (id >= 50 && id <= 58);
