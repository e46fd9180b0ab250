// Ranking by words alone, BM25 over whole documents: with words as they stand, with stems, with stems and stop words.
// Of English collections, and with --pages of manual pages in other languages, by English and by their own language.
// And what terms cost. node dist/load/languages.js [--pages DIR] [--tiny]
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { Language } from '../src/api/choices.js';
import { loadLanguage } from '../src/text/stemming.js';
import { type QueryTerms, chunkTerms, countedTerms } from '../src/text/terms.js';
import { tokensOf } from '../src/text/tokenize.js';
import { printTable, readArguments, whole } from './kit/command.js';
import { cpuMs } from './kit/text-peers.js';
import { type Analysis, type JudgedTexts, measureQuality, readJudgedTexts } from './kit/text-quality.js';
import { WINDOW_WORDS, readWordWindows } from './kit/text-sets.js';

// Manual pages of many languages as a test of search: the one line that says what a page is about has to find the rest
// of the page. Used by load/languages.ts.

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

interface PageSet extends JudgedTexts {
  language: Language;
}

/**
 * `folder`: the one with `de/man1` and its like in it. A line that several pages have is no query, as it has no one
 * answer.
 */
function readPageSets(folder: string): PageSet[] {
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

const COLLECTIONS = ['cranfield', 'scifact', 'npl-vaswani'];
const TERMS_MAX = 1024;
const PACKAGES = `manual pages of other languages: for l in da de es fi fr hu it nl pt-br ro ru sv tr; do apt-get download manpages-$l; done;
for f in manpages-*.deb; do dpkg -x "$f" pages; done; then --pages pages/usr/share/man`;

const ranked = (language: Language): Analysis => ({
  name: language,
  chunk: (text) => chunkTerms(text, language),
  question: (text) => countedTerms(text, TERMS_MAX, language),
});

/** What the server does not do, for comparison. */
function stemsOnly(): Analysis {
  const { stem } = loadLanguage('english');
  const terms = (text: string): string[] => tokensOf(text).map(stem);
  return { name: 'english stems, no stop list', chunk: terms, question: (text) => countsOf(terms(text)) };
}

function countsOf(all: readonly string[]): QueryTerms {
  const terms = [...new Set(all)];
  return { terms, counts: terms.map((term) => all.filter((one) => one === term).length) };
}

function rowsOf(given: JudgedTexts, analyses: readonly Analysis[]): string[][] {
  return analyses.map((analysis) => {
    const { ndcg, recall, bytes } = measureQuality(given, analysis);
    return [
      given.name,
      whole(given.texts.length),
      whole(given.queries.length),
      analysis.name,
      ndcg.toFixed(4),
      recall.toFixed(4),
      whole(bytes),
    ];
  });
}

/** Chunks a second of CPU time. */
function termRate(windows: readonly string[], language: Language): number {
  const round = (): number => {
    const startedAt = cpuMs();
    for (const window of windows) chunkTerms(window, language);
    return (windows.length / (cpuMs() - startedAt)) * 1000;
  };
  return [round(), round(), round()].sort((a, b) => a - b)[1] as number;
}

const { tiny, text } = readArguments('pages');
const head = ['texts of', 'texts', 'queries', 'ranked by', 'nDCG@10', 'recall@100', 'bytes a text'];
const judged = COLLECTIONS.flatMap((name) => readJudgedTexts(name, tiny ? 300 : Infinity, tiny ? 30 : Infinity) ?? []);
const rows = judged.flatMap((given) => rowsOf(given, [ranked('none'), stemsOnly(), ranked('english')]));
if (rows.length > 0) printTable('BM25 alone, k1 1.2, b 0.75', [head, ...rows]);

const windows = readWordWindows(tiny ? 2000 : 50_000)?.windows;
if (windows) {
  const rates = (['none', 'english', 'german'] as const).map((language) => [
    language,
    whole(termRate(windows, language)),
  ]);
  printTable(`terms of ${whole(windows.length)} chunks of ${WINDOW_WORDS} words`, [
    ['language', 'chunks a second of CPU time'],
    ...rates,
  ]);
}

const pages = text('pages');
if (pages === undefined) console.log(`skipped: ${PACKAGES}`);
else
  printTable('manual pages', [
    head,
    ...readPageSets(pages).flatMap((set) => rowsOf(set, [ranked('none'), ranked('english'), ranked(set.language)])),
  ]);
