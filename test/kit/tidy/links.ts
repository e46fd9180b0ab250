// Relative links of the Markdown pages lead somewhere: to a file or folder inside the project, or to a heading of the
// page itself. Links to the web are not followed.
import { posix } from 'node:path';
import type { Page } from './project.js';

/** `exists` answers for a path relative to the project. */
export function linkComplaints(pages: readonly Page[], exists: (path: string) => boolean): string[] {
  return pages.flatMap((page) =>
    linksOf(page.text).flatMap((link) => {
      const why = refusal(page, link, exists);
      return why === undefined ? [] : [`${page.path} links to ${link}, ${why}`];
    }),
  );
}

function linksOf(text: string): string[] {
  const prose = withoutFences(text).replace(/`[^`\n]*`/g, '');
  return [...prose.matchAll(/\]\(([^()\s]+)\)/g)].map((match) => match[1] as string);
}

const withoutFences = (text: string): string => text.replace(/^```[^]*?^```/gm, '');

function refusal(page: Page, link: string, exists: (path: string) => boolean): string | undefined {
  if (/^[a-z]+:/.test(link)) return undefined;
  const [target, heading] = link.split('#') as [string, string | undefined];
  if (target === '') return headingsOf(page.text).includes(heading ?? '') ? undefined : 'which is no heading there';
  const path = posix.join(posix.dirname(page.path), decodeURI(target));
  if (path.startsWith('..')) return 'which is outside the project';
  return exists(path) ? undefined : 'which does not exist';
}

/** Anchors as GitHub makes them: lower case, no punctuation, dashes for spaces. */
function headingsOf(text: string): string[] {
  const headings = [...withoutFences(text).matchAll(/^#+ +(.+)$/gm)];
  return headings.map((match) =>
    (match[1] as string)
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  );
}
