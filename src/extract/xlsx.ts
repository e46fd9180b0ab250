// Rows of XLSX, a unit a row, sheet by sheet: a `column: value` line for each cell that holds something. Formulas give
// the value that was stored with them. ECMA-376 part 1, section 18.3.
import type { Budget } from './budget.js';
import type { Unit, Units } from './extracted.js';
import { cellLine, columnNames, looksLikeHeader } from './table.js';
import { walkXml, type Attributes } from './xml.js';
import { readWorkbook, type Workbook } from './xlsx-workbook.js';
import type { ZipPackage } from './zip-package.js';

const COLUMNS_MAX = 16_384;
const DAY_MS = 86_400_000;
const BOOLEANS: Readonly<Record<string, string>> = { '1': 'true', '0': 'false' };

interface SheetRow {
  /** As the program shows it, from 1. */
  number: number;
  cells: string[];
}

/**
 * `sheet` is its name, `row` its number as the program shows it; paths count the rows of all sheets. Throws AppError
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

/** The rows with something in them. */
function readRows(xml: string, workbook: Workbook, budget: Budget): SheetRow[] {
  const rows: SheetRow[] = [];
  // Cells without a value may be left out: there are holes.
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

/** The column of a reference such as `AB12`, from 0. */
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

/** A day is 1; below 1 it is a time alone. */
function shownDate(days: number, epochMs: number, raw: string): string {
  const date = new Date(epochMs + Math.round(days * DAY_MS));
  if (Number.isNaN(date.getTime())) return raw;
  const iso = date.toISOString().slice(0, 19);
  if (days < 1) return iso.slice(11);
  return Number.isInteger(days) ? iso.slice(0, 10) : iso.replace('T', ' ');
}
