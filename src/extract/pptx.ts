// Extracts text from PPTX, one unit per slide in the order of the presentation: the title as heading, the text, then
// the speaker's notes. ECMA-376 part 1, section 19.
import { AppError } from '../api/errors.js';
import { Blocks, type Budget, type Unit, type Units } from './extracted.js';
import { type ZipPackage, folderOf, relationshipTargets, walkXml } from './zip-package.js';

const PRESENTATION = 'ppt/presentation.xml';
const TITLES = new Set(['title', 'ctrTitle']);
/** Placeholders that repeat on every slide: number, date, footer and header. */
const CHROME = new Set(['sldNum', 'dt', 'ftr', 'hdr']);

/** `slide` in the metadata counts from 0. Throws AppError `file_unreadable`. */
export async function readPptx(zip: ZipPackage, budget: Budget): Promise<Units> {
  const slides = await slideEntries(zip);
  const units: Unit[] = [];
  for (const [i, entry] of slides.entries()) {
    const blocks = new Blocks(budget);
    const isThere = await addSlide(zip, entry, blocks);
    if (!isThere) continue;
    const { text, headings } = blocks.flow();
    units.push({ path: `slide_${i}`, text, meta: { slide: i }, headings });
  }
  return { kind: 'units', units, areRows: false };
}

async function slideEntries(zip: ZipPackage): Promise<string[]> {
  const presentation = await zip.text(PRESENTATION);
  if (presentation === undefined) throw new AppError('file_unreadable');
  const targets = await targetsOf(zip, PRESENTATION);
  const entries: string[] = [];
  walkXml(presentation, {
    open(name, attributes) {
      const target = name === 'sldId' ? targets.get(attributes['r:id'] ?? '') : undefined;
      if (target !== undefined && !entries.includes(target)) entries.push(target);
    },
  });
  return entries;
}

async function targetsOf(zip: ZipPackage, entry: string): Promise<Map<string, string>> {
  const folder = folderOf(entry);
  const xml = await zip.text(`${folder}_rels/${entry.slice(folder.length)}.rels`);
  return relationshipTargets(xml ?? '', folder);
}

async function addSlide(zip: ZipPackage, entry: string, blocks: Blocks): Promise<boolean> {
  const xml = await zip.text(entry);
  if (xml === undefined) return false;
  addShapes(xml, blocks);
  const targets = await targetsOf(zip, entry);
  const notes = [...targets.values()].find((target) => /\/notesSlides\//.test(target));
  const notesXml = notes && (await zip.text(notes));
  blocks.break(2);
  if (notesXml) addShapes(notesXml, blocks);
  return true;
}

function addShapes(xml: string, blocks: Blocks): void {
  let isText = false;
  let placeholder = '';
  walkXml(xml, {
    open(name, { type }) {
      if (name === 'sp') placeholder = '';
      else if (name === 'ph') placeholder = type ?? '';
      else if (name === 'txBody' && TITLES.has(placeholder)) blocks.beginHeading();
      else if (name === 'tab') blocks.add(' ');
      else if (name === 'p' || name === 'br' || name === 'tr') blocks.break(1);
      else if (name === 'tc') blocks.cell();
      isText = name === 't' && !CHROME.has(placeholder);
    },
    text: (text) => isText && blocks.add(text),
    close(name) {
      isText = false;
      if (name === 'txBody' && TITLES.has(placeholder)) blocks.endHeading();
      if (name === 'sp') blocks.break(1);
    },
  });
}
