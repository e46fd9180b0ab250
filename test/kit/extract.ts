// Makes small files of the zip-based types, PDFs and mails, and extracts them as the batch worker does.
import { deflateSync } from 'node:zlib';
import JSZip from 'jszip';
import type { Chunking } from '../../src/api/collections.js';
import { cut } from '../../src/extract/chunks.js';
import { extract } from '../../src/extract/extract.js';
import { kindOfFile } from '../../src/extract/file-kind.js';
import type { CsvOptions } from '../../src/extract/messages.js';

export async function zipOf(entries: Record<string, string | Uint8Array>): Promise<Uint8Array> {
  const zip = new JSZip();
  for (const [name, content] of Object.entries(entries)) zip.file(name, content);
  return zip.generateAsync({ type: 'uint8array', compression: 'DEFLATE' });
}

const relationships = (targets: Record<string, string>): string =>
  `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${Object.entries(targets)
    .map(([id, target]) => `<Relationship Id="${id}" Type="t" Target="${target}"/>`)
    .join('')}</Relationships>`;

const W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';

/** A Word document. `body` is the inside of w:body; `prolog` precedes the root element of the document. */
export const docx = (body: string, prolog = ''): Promise<Uint8Array> =>
  zipOf({
    '[Content_Types].xml': '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
    '_rels/.rels':
      '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>',
    'word/document.xml': `${prolog}<w:document ${W}><w:body>${body}</w:body></w:document>`,
  });

export const paragraph = (text: string): string => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`;

/** A presentation of slides, each with a title, text, and the speaker's notes. */
export const pptx = (slides: { title: string; text: string; notes?: string }[], prolog = ''): Promise<Uint8Array> => {
  const shape = (type: string, text: string): string =>
    `<p:sp><p:nvSpPr><p:nvPr><p:ph type="${type}"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:txBody></p:sp>`;
  const entries: Record<string, string> = {
    'ppt/presentation.xml': `<p:presentation><p:sldIdLst>${slides.map((_, i) => `<p:sldId id="${256 + i}" r:id="r${i}"/>`).join('')}</p:sldIdLst></p:presentation>`,
    'ppt/_rels/presentation.xml.rels': relationships(
      Object.fromEntries(slides.map((_, i) => [`r${i}`, `slides/slide${slides.length - i}.xml`])),
    ),
  };
  slides.forEach(({ title, text, notes }, i) => {
    const name = `slide${slides.length - i}.xml`;
    entries[`ppt/slides/${name}`] =
      `${prolog}<p:sld>${shape('title', title)}${shape('body', text)}${shape('sldNum', '77')}</p:sld>`;
    if (notes === undefined) return;
    entries[`ppt/slides/_rels/${name}.rels`] = relationships({ r1: `../notesSlides/notes${i}.xml` });
    entries[`ppt/notesSlides/notes${i}.xml`] = `<p:notes>${shape('body', notes)}</p:notes>`;
  });
  return zipOf(entries);
};

/** A workbook of sheets by name, each given as the inside of its sheetData. Cell style 1 shows dates. */
export const xlsx = (sheets: Record<string, string>, strings: string[] = [], prolog = ''): Promise<Uint8Array> => {
  const names = Object.keys(sheets);
  return zipOf({
    'xl/workbook.xml': `<workbook><sheets>${names.map((name, i) => `<sheet name="${name}" sheetId="${i + 1}" r:id="r${i}"/>`).join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relationships(
      Object.fromEntries(names.map((_, i) => [`r${i}`, `/xl/worksheets/sheet${i}.xml`])),
    ),
    'xl/styles.xml':
      '<styleSheet><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>',
    'xl/sharedStrings.xml': `${prolog}<sst>${strings.map((string) => `<si><t>${string}</t></si>`).join('')}</sst>`,
    ...Object.fromEntries(
      names.map((name, i) => [
        `xl/worksheets/sheet${i}.xml`,
        `<worksheet><sheetData>${sheets[name]}</sheetData></worksheet>`,
      ]),
    ),
  });
};

/** An OpenDocument text. `text` is the inside of office:text. */
export const odt = (text: string, prolog = '', more: Record<string, string> = {}): Promise<Uint8Array> =>
  zipOf({
    mimetype: 'application/vnd.oasis.opendocument.text',
    'content.xml': `${prolog}<office:document-content><office:body><office:text>${text}</office:text></office:body></office:document-content>`,
    ...more,
  });

/** An EPUB of chapters in XHTML, in the order of the spine. */
export const epub = (chapters: string[], more: Record<string, string> = {}): Promise<Uint8Array> => {
  const items = chapters
    .map((_, i) => `<item id="c${i}" href="text/chapter%20${i}.xhtml" media-type="application/xhtml+xml"/>`)
    .join('');
  const spine = chapters.map((_, i) => `<itemref idref="c${i}"/>`).join('');
  return zipOf({
    mimetype: 'application/epub+zip',
    'META-INF/container.xml': '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
    'OEBPS/book.opf': `<package><manifest>${items}</manifest><spine>${spine}</spine></package>`,
    ...Object.fromEntries(chapters.map((chapter, i) => [`OEBPS/text/chapter ${i}.xhtml`, chapter])),
    ...more,
  });
};

/** A PDF with one page for each content stream, deflated; the font is Helvetica. */
export function pdf(contents: (string | Uint8Array)[]): Buffer {
  const pages = contents.map((_, i) => 4 + 2 * i);
  const objects: (string | Buffer)[] = [
    '<</Type/Catalog/Pages 2 0 R>>',
    `<</Type/Pages/Count ${pages.length}/Kids[${pages.map((page) => `${page} 0 R`).join(' ')}]>>`,
    '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>',
  ];
  const streams = new Map([...new Set(contents)].map((content) => [content, deflateSync(content, { level: 9 })]));
  for (const [i, content] of contents.entries()) {
    const stream = streams.get(content) as Buffer;
    objects.push(
      `<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents ${5 + 2 * i} 0 R/Resources<</Font<</F 3 0 R>>>>>>`,
    );
    objects.push(
      Buffer.concat([
        Buffer.from(`<</Filter/FlateDecode/Length ${stream.length}>>\nstream\n`),
        stream,
        Buffer.from('\nendstream'),
      ]),
    );
  }
  return assembled(objects);
}

export const pdfText = (text: string): string => `BT /F 12 Tf 20 700 Td (${text}) Tj ET`;

function assembled(objects: (string | Buffer)[]): Buffer {
  const pieces = [Buffer.from('%PDF-1.4\n')];
  const offsets: number[] = [];
  let length = pieces[0]!.length;
  for (const [i, object] of objects.entries()) {
    const piece = Buffer.concat([
      Buffer.from(`${i + 1} 0 obj\n`),
      Buffer.from(object as string),
      Buffer.from('\nendobj\n'),
    ]);
    offsets.push(length);
    pieces.push(piece);
    length += piece.length;
  }
  const entries = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  const size = objects.length + 1;
  return Buffer.concat([
    ...pieces,
    Buffer.from(
      `xref\n0 ${size}\n0000000000 65535 f \n${entries}trailer\n<</Size ${size}/Root 1 0 R>>\nstartxref\n${length}\n%%EOF`,
    ),
  ]);
}

// Extracts a file as the batch worker does, and returns its chunks in a form that tests compare.

interface ReadOptions {
  csv?: Partial<CsvOptions>;
  chunking?: Chunking;
  textBytesMax?: number;
}

interface ReadChunk {
  path: string;
  text: string;
  meta: Record<string, unknown>;
}

/** Rejects with the AppError that an ingest of the file would give. */
export async function read(
  name: string,
  content: string | Uint8Array,
  { csv, chunking, textBytesMax = 2 ** 24 }: ReadOptions = {},
): Promise<ReadChunk[]> {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : Uint8Array.from(content);
  const kind = kindOfFile(name, '', bytes.subarray(0, 8192));
  if (kind === undefined) throw new Error(`${name} is of no type`);
  const options = {
    csv: { header: 'auto' as const, metaColumns: '', includeColumns: '', ...csv },
    textBytesMax,
    memoryBytesMax: 2 ** 27,
  };
  const chunks = cut(
    await extract(bytes, kind, options),
    chunking ?? { strategy: 'fixed', size: 1000, overlap: 200 },
    {},
  );
  return chunks.map(({ path, text = '', metaJson }) => ({
    path,
    text,
    meta: JSON.parse(metaJson) as Record<string, unknown>,
  }));
}

export const texts = (chunks: ReadChunk[]): string[] => chunks.map(({ text }) => text);
