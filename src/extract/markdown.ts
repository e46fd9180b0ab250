// Finds the headings of Markdown: lines that begin with #, or are underlined with = or -, outside of fenced code. The
// text itself is not changed. Pure functions.
import { clipTitle, type Heading } from './extracted.js';

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HASHES = /^ {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$/;
const UNDERLINE = /^ {0,3}(=+|-{2,})[ \t]*$/;
/** Lines that are not paragraphs and therefore cannot be underlined. */
const NO_PARAGRAPH = /^\s*$|^ {0,3}([>#|]|[-*+] |\d+[.)] )|^ {4}|^\t/;
const LINE_CHARACTERS_MAX = 1000;

/** Headings in text order, with offsets in UTF-16 code units. YAML front matter at the beginning gives no heading. */
export function findHeadings(text: string): Heading[] {
  const headings: Heading[] = [];
  let fence: string | undefined;
  let above = { at: 0, line: '' };
  for (const current of lines(text)) {
    const { at, line } = current;
    const mark = FENCE.exec(line)?.[1];
    if (fence !== undefined ? mark?.startsWith(fence) : mark !== undefined)
      fence = fence === undefined ? mark : undefined;
    const title = fence === undefined && mark === undefined ? HASHES.exec(line)?.[1] : undefined;
    const isUnderlined = fence === undefined && UNDERLINE.test(line) && !NO_PARAGRAPH.test(above.line);
    if (title) headings.push({ at, title: clipTitle(title) });
    else if (isUnderlined) headings.push({ at: above.at, title: clipTitle(above.line.trim()) });
    above = fence === undefined && !isUnderlined ? current : { at, line: '' };
  }
  return headings;
}

/** Yields long lines as empty, because they are paragraphs, which keeps the regular expressions fast. */
function* lines(text: string): Generator<{ at: number; line: string }> {
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\n', at);
    const stop = end < 0 ? text.length : end;
    yield { at, line: stop - at > LINE_CHARACTERS_MAX ? '' : text.slice(at, stop).replace(/\r$/, '') };
    at = stop + 1;
  }
}
