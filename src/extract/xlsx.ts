// Extracts rows from XLSX, one unit per row, sheet by sheet: a `column: value` line per cell that is not blank.
// Formulas yield the value stored with them. ECMA-376 part 1, section 18.3.
import { AppError } from '../api/errors.js';
import type { Budget, Unit, Units } from './extracted.js';
import { cellLine, columnNames, looksLikeHeader } from './table.js';
import { type Attributes, type ZipPackage, folderOf, relationshipTargets, walkXml } from './zip-package.js';

/** Names and order of the sheets, shared strings, and the cell styles that show dates. ECMA-376 part 1, section 18. */
interface Workbook {
  sheets: { name: string; entry: string }[];
  strings: string[];
  /** Whether the cell style with this index shows dates or times. */
  areDates: boolean[];
  /** Day 0 of date numbers, in milliseconds. */
  epochMs: number;
}

const WORKBOOK = 'xl/workbook.xml';
const EPOCH_1900_MS = Date.UTC(1899, 11, 30);
const EPOCH_1904_MS = Date.UTC(1904, 0, 1);

/** Throws AppError `file_unreadable` if there is no workbook. */
async function readWorkbook(zip: ZipPackage): Promise<Workbook> {
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

/** A string may consist of runs with different styles, and contain phonetic hints, which are skipped. */
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

/** Whether the format has date letters outside of quotes, brackets and escapes. */
const isDateFormat = (code: string): boolean => /[ymdhs]/i.test(code.replace(/"[^"]*"|\[[^\]]*\]|\\./g, ''));

/** Section 18.8.30; 27 to 36 and 50 to 58 are East Asian date formats. */
const isBuiltInDate = (id: number): boolean =>
  (id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 45 && id <= 47) || (id >= 50 && id <= 58);

const COLUMNS_MAX = 16_384;
const DAY_MS = 86_400_000;
const BOOLEANS: Readonly<Record<string, string>> = { '1': 'true', '0': 'false' };

interface SheetRow {
  /** The row number that spreadsheet programs show, from 1. */
  number: number;
  cells: string[];
}

/**
 * `sheet` is the name of the sheet and `row` the row number in it; paths count the rows of all sheets. Throws AppError
 * `file_unreadable`.
 */
export async function readXlsx(zip: ZipPackage, budget: Budget): Promise<Units> {
  const workbook = await readWorkbook(zip);
  const units: Unit[] = [];
  for (const { name, entry } of workbook.sheets) {
    const rows = readRows((await zip.text(entry)) ?? '', workbook, budget);
    const header = rows.length > 1 && looksLikeHeader(rows[0]!.cells) ? rows.shift()!.cells : [];
    const names = columnNames(header);
    for (const { number, cells } of rows) {
      const lines = cells.map((value, i) => (value.trim() ? cellLine(names, i, value) : '')).filter(Boolean);
      units.push({
        path: `row_${units.length}`,
        text: budget.spendText(lines.join('\n')),
        meta: { sheet: name, row: number },
      });
    }
  }
  return { kind: 'units', units, areRows: true };
}

/** The rows that are not blank. */
function readRows(xml: string, workbook: Workbook, budget: Budget): SheetRow[] {
  const rows: SheetRow[] = [];
  // Sparse, because cells without a value may be absent from the file.
  let row: { number: number; cells: (string | undefined)[] } = { number: 0, cells: [] };
  let cell: { attributes: Attributes; column: number; raw: string } | undefined;
  let isValue = false;
  walkXml(xml, {
    open(name, attributes) {
      if (name === 'row') row = { number: Number(attributes.r) || row.number + 1, cells: [] };
      if (name === 'c') cell = { attributes, column: columnOf(attributes.r) ?? row.cells.length, raw: '' };
      isValue = name === 'v' || name === 't';
    },
    text: (text) => void (isValue && cell && (cell.raw += text)),
    close(name) {
      isValue = false;
      if (name === 'c' && cell && cell.column < COLUMNS_MAX)
        row.cells[cell.column] = budget.spendText(shown(cell.raw, cell.attributes, workbook));
      if (name === 'row' && row.cells.some((value) => value?.trim()))
        rows.push({ number: row.number, cells: Array.from(row.cells, (value) => value ?? '') });
    },
  });
  return rows;
}

/** The column index, from 0, of a reference such as `AB12`. */
function columnOf(reference = ''): number | undefined {
  const letters = /^[A-Z]+/.exec(reference)?.[0];
  return letters === undefined
    ? undefined
    : [...letters].reduce((column, letter) => column * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}

function shown(raw: string, { t: type, s: style }: Attributes, { strings, areDates, epochMs }: Workbook): string {
  if (type === 's') return strings[Number(raw)] ?? '';
  if (type === 'b') return BOOLEANS[raw] ?? raw;
  if (type !== undefined && type !== 'n') return raw;
  return areDates[Number(style)] && raw !== '' ? shownDate(Number(raw), epochMs, raw) : raw;
}

/** Date numbers count days; a number below 1 is a time without a date. */
function shownDate(days: number, epochMs: number, raw: string): string {
  const date = new Date(epochMs + Math.round(days * DAY_MS));
  if (Number.isNaN(date.getTime())) return raw;
  const iso = date.toISOString().slice(0, 19);
  if (days < 1) return iso.slice(11);
  return Number.isInteger(days) ? iso.slice(0, 10) : iso.replace('T', ' ');
}
