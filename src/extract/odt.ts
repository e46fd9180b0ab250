// Extracts text from ODT: paragraphs, headings, lists, tables and notes of content.xml. OpenDocument 1.3, part 3.
import { AppError } from '../api/errors.js';
import { Blocks, type Budget, type Flow } from './extracted.js';
import { type Attributes, type ZipPackage, walkXml } from './zip-package.js';

/** Elements that are not text of the document: comments, tracked deletions, forms and scripts. */
const SKIPPED = new Set([
  'annotation',
  'tracked-changes',
  'forms',
  'scripts',
  'automatic-styles',
  'font-face-decls',
  'sequence-decls',
]);
const SPACES_MAX = 100;

/** Throws AppError `file_encrypted` or `file_unreadable`. */
export async function readOdt(zip: ZipPackage, budget: Budget): Promise<Flow> {
  const manifest = (await zip.text('META-INF/manifest.xml')) ?? '';
  if (manifest.includes('encryption-data')) throw new AppError('file_encrypted');
  const xml = await zip.text('content.xml');
  if (xml === undefined) throw new AppError('file_unreadable');
  const blocks = new Blocks(budget);
  let skippedDepth = 0;
  walkXml(xml, {
    open(name, attributes) {
      if (skippedDepth > 0 || SKIPPED.has(name)) skippedDepth++;
      else open(blocks, name, attributes);
    },
    text: (text) => skippedDepth === 0 && blocks.add(text),
    close(name) {
      if (skippedDepth > 0) skippedDepth--;
      else if (name === 'h') blocks.endHeading();
      else if (name === 'table') blocks.break(2);
    },
  });
  return blocks.flow();
}

function open(blocks: Blocks, name: string, attributes: Attributes): void {
  if (name === 'h') blocks.beginHeading();
  else if (name === 'p' || name === 'line-break' || name === 'table-row') blocks.break(1);
  else if (name === 'table-cell') blocks.cell();
  else if (name === 'tab') blocks.add(' ');
  else if (name === 's')
    blocks.addExactly(' '.repeat(Math.min(SPACES_MAX, Math.max(1, Number(attributes['text:c']) || 1))));
}
