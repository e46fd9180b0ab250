// How fast text is taken out of files by one batch thread: pages/s of PDF, rows/s of CSV, MB/s of HTML and DOCX.
// node dist/load/extract.js [--tiny] [--rows 100000]; real files of ../shared/data/files where they are there.
import { readFileSync } from 'node:fs';
import { extract } from '../src/extract/extract.js';
import { kindOfFile } from '../src/extract/file-kind.js';
import { printTable, readArguments, seconds, whole } from './kit/command.js';
import { dataFolder } from './kit/text-sets.js';

const { tiny, number } = readArguments('rows');
const OPTIONS = {
  csv: { header: 'auto' as const, metaColumns: '', includeColumns: '' },
  textBytesMax: 2 ** 28,
  memoryBytesMax: 2 ** 30,
};
const table: string[][] = [['file', 'size', 'units', 'time', 'units/s', 'MB/s']];

async function measure(name: string, bytes: Uint8Array): Promise<void> {
  const kind = kindOfFile(name, '', bytes.subarray(0, 8192));
  if (kind === undefined) throw new Error(`${name} is of no type`);
  const sizeMb = bytes.length / 1e6;
  const startedAtMs = performance.now();
  const content = await extract(bytes, kind, OPTIONS);
  const tookMs = performance.now() - startedAtMs;
  const units = content.kind === 'units' ? content.units.length : 1;
  table.push([
    name,
    `${sizeMb.toFixed(2)} MB`,
    whole(units),
    seconds(tookMs),
    whole((units * 1000) / tookMs),
    ((sizeMb * 1000) / tookMs).toFixed(1),
  ]);
}

const folder = dataFolder('files');
const real = tiny
  ? ['pdf-text/multicolumn.pdf', 'html/bbc-1.html']
  : [
      'pdf-text/tracemonkey.pdf',
      'pdf-text/freeculture.pdf',
      'pdf-text/GeoTopo-komprimiert.pdf',
      'html/wikipedia-2.html',
      'docx/pandoc_tables.docx',
      'csv/world-cities.csv',
    ];
if (folder) {
  await measure('pdf-text/pdfkit.pdf', readFileSync(`${folder}/pdf-text/pdfkit.pdf`));
  for (const name of real) await measure(name, readFileSync(`${folder}/${name}`));
}
const rows = tiny ? 1000 : number('rows', 100_000);
await measure(
  'generated.csv',
  Buffer.from(
    `id,name,city,amount,note\n${Array.from({ length: rows }, (_, i) => `${i},name ${i},"Oslo, Norway",${i / 7},a short note`).join('\n')}`,
  ),
);
printTable('Text out of files, one thread; the first PDF loads the library', table);
