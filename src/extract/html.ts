// Extracts the visible text of HTML with htmlparser2, including title, headings and alternative texts, and excluding
// scripts, navigation and hidden elements. Used for web pages, EPUB chapters, HTML mail and the output of mammoth.
import { Parser } from 'htmlparser2';
import { Blocks, type Budget, type Flow } from './extracted.js';

/** Elements without readable text, or whose text does not belong to the page. */
const NEVER = new Set([
  'script',
  'style',
  'noscript',
  'template',
  'svg',
  'math',
  'iframe',
  'object',
  'canvas',
  'audio',
  'video',
  'select',
  'button',
  'textarea',
  'datalist',
]);
/** Navigation elements, which are omitted unless the page has no other text. */
const NAVIGATION = new Set(['nav', 'menu']);
const NAVIGATION_ROLES = new Set(['navigation', 'menu', 'menubar', 'search', 'dialog', 'alertdialog']);
const PARAGRAPHS = new Set([
  'p',
  'ul',
  'ol',
  'dl',
  'table',
  'blockquote',
  'pre',
  'section',
  'article',
  'main',
  'aside',
  'header',
  'footer',
  'figure',
  'form',
  'hr',
  'title',
  'body',
  'address',
  'details',
  'fieldset',
]);
const LINES = new Set([
  'br',
  'div',
  'li',
  'dt',
  'dd',
  'tr',
  'caption',
  'figcaption',
  'summary',
  'option',
  'legend',
  'center',
]);
const CELLS = new Set(['td', 'th']);
const HEADING = /^h[1-6]$/;

/** Accepts any input, because HTML has no syntax errors. Throws AppError `file_unreadable` over the budget. */
export function readHtml(html: string, budget: Budget): Flow {
  const page = walk(html, budget, true);
  return page.text === '' ? walk(html, budget, false) : page;
}

function walk(html: string, budget: Budget, skipNavigation: boolean): Flow {
  const blocks = new Blocks(budget);
  let skippedDepth = 0;
  let preDepth = 0;
  const parser = new Parser({
    onopentag(name, attributes) {
      if (skippedDepth > 0 || isSkipped(name, attributes, skipNavigation)) return void skippedDepth++;
      if (name === 'pre') preDepth++;
      if (HEADING.test(name)) blocks.beginHeading();
      else open(blocks, name, attributes);
    },
    ontext(text) {
      if (skippedDepth === 0) blocks[preDepth > 0 ? 'addExactly' : 'add'](text);
    },
    onclosetag(name) {
      if (skippedDepth > 0) return void skippedDepth--;
      if (name === 'pre') preDepth--;
      if (HEADING.test(name)) blocks.endHeading();
      else separate(blocks, name);
    },
  });
  parser.end(html);
  return blocks.flow();
}

function isSkipped(
  name: string,
  { hidden, style, role, ...attributes }: Record<string, string>,
  skipNavigation: boolean,
): boolean {
  if (NEVER.has(name) || hidden !== undefined || attributes['aria-hidden'] === 'true') return true;
  if (style !== undefined && /display\s*:\s*none|visibility\s*:\s*hidden/i.test(style)) return true;
  return skipNavigation && (NAVIGATION.has(name) || (role !== undefined && NAVIGATION_ROLES.has(role)));
}

function open(blocks: Blocks, name: string, attributes: Record<string, string>): void {
  if (name === 'img' && attributes.alt) blocks.add(` ${attributes.alt} `);
  if (CELLS.has(name)) blocks.cell();
  else separate(blocks, name);
}

function separate(blocks: Blocks, name: string): void {
  if (PARAGRAPHS.has(name)) blocks.break(2);
  else if (LINES.has(name)) blocks.break(1);
}
