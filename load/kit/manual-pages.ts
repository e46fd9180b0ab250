// Manual pages of many languages as a test of search: the one line that says what a page is about has to find the rest
// of the page. Used by load/languages.ts.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { Language } from '../../src/contract/language.js';
import type { JudgedTexts } from './word-quality.js';

/** By the folder's name. */
const LANGUAGES: Readonly<Record<string, Language>> = {
  da: 'danish',
  de: 'german',
  el: 'greek',
  es: 'spanish',
  fi: 'finnish',
  fr: 'french',
  hu: 'hungarian',
  id: 'indonesian',
  it: 'italian',
  nb: 'norwegian',
  nl: 'dutch',
  pt_BR: 'portuguese',
  ro: 'romanian',
  ru: 'russian',
  sr: 'serbian',
  sv: 'swedish',
  tr: 'turkish',
};
const QUERY_CHARACTERS_MAX = 200;

interface Page {
  about: string;
  text: string;
}

export interface PageSet extends JudgedTexts {
  language: Language;
}

/**
 * `folder`: the one with `de/man1` and its like in it. A line that several pages have is no query, as it has no one
 * answer.
 */
export function readPageSets(folder: string): PageSet[] {
  return Object.entries(LANGUAGES).flatMap(([code, language]) => {
    if (!existsSync(`${folder}/${code}`)) return [];
    const pages = readPages(`${folder}/${code}`);
    const times = new Map<string, number>();
    for (const { about } of pages) times.set(about, (times.get(about) ?? 0) + 1);
    const queries = pages.flatMap(({ about }, page) =>
      times.get(about) === 1 && about.length <= QUERY_CHARACTERS_MAX
        ? [{ text: about, grades: new Map([[page, 1]]) }]
        : [],
    );
    return [{ name: `pages ${code}`, language, texts: pages.map(({ text }) => text), queries }];
  });
}

function readPages(folder: string): Page[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && entry.name.endsWith('.gz'),
  );
  const paths = files.map(({ parentPath, name }) => `${parentPath}/${name}`).sort();
  return paths.flatMap((path) => pageOf(gunzipSync(readFileSync(path)).toString('utf8')));
}

/** Its second section is NAME, in whatever language: `ls - list directory contents`. */
function pageOf(source: string): Page[] {
  const [, name, ...rest] = source.split(/^\.S[Hh] .*$/m);
  const about = name === undefined ? undefined : / [-–—]+ (.*)$/.exec(plain(name))?.[1];
  return about === undefined || rest.length === 0 ? [] : [{ about, text: plain(rest.join(' ')) }];
}

/** The text without the macros and escapes of troff. */
function plain(troff: string): string {
  const lines = troff.replace(/^\.\\".*$/gm, '').replace(/^\.[A-Za-z]{1,2}\b ?/gm, '');
  const escapes = lines
    .replace(/\\f(\[[A-Z]*\]|\([A-Z]{2}|.)/g, '')
    .replace(/\\[,/|&%]/g, '')
    .replace(/\\-/g, '-')
    .replace(/\\\(../g, ' ')
    .replace(/\\./g, ' ');
  return escapes.replace(/\s+/g, ' ').trim();
}
