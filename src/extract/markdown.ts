// Headings of Markdown: lines that begin with #, or stand over a line of = or -, outside of fenced code. The text
// itself stays as it is, since Markdown is meant to be read so. Pure.
import { clipTitle, type Heading } from './extracted.js';

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HASHES = /^ {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$/;
const UNDERLINE = /^ {0,3}(=+|-{2,})[ \t]*$/;
/** Lines that begin so are no paragraph that could be underlined. */
const NO_PARAGRAPH = /^\s*$|^ {0,3}([>#|]|[-*+] |\d+[.)] )|^ {4}|^\t/;
const LINE_CHARACTERS_MAX = 1000;

/**
 * In the order of the text, with their places in code units. Where the text opens with YAML front matter, that is no
 * heading.
 */
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

/** Long lines are paragraphs, not headings: they are given as empty, which keeps the patterns quick. */
function* lines(text: string): Generator<{ at: number; line: string }> {
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\n', at);
    const stop = end < 0 ? text.length : end;
    yield { at, line: stop - at > LINE_CHARACTERS_MAX ? '' : text.slice(at, stop).replace(/\r$/, '') };
    at = stop + 1;
  }
}
