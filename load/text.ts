// Text ranking in this process: the text index compared with its peers, and BM25 with the stemming of each language.
// Rates are by CPU time, so that other work on the machine matters little.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { Ordinal } from '../src/api/ids.js';
import type { Language } from '../src/api/choices.js';
import type { TextIndex } from '../src/engine/postings/text-index.js';
import { makerOf } from '../src/engine/segments/indexes.js';
import { loadLanguage } from '../src/text/stemming.js';
import { type QueryTerms, chunkTerms, countedTerms } from '../src/text/terms.js';
import { tokensOf } from '../src/text/tokenize.js';
import { type LoadOptions, printTable, whole } from './kit/command.js';
import { createKernel } from './kit/kernel.js';
import { ownCpuMs, questionRate } from './kit/server-usage.js';
import type { PeerFigures, Questions } from './kit/text-peers.js';
import { type Analysis, type JudgedTexts, measureQuality, readJudgedTexts } from './kit/text-quality.js';
import {
  drawPhrases,
  drawPrefixes,
  drawQuestions,
  JUDGED_COLLECTIONS,
  readWordWindows,
  WINDOW_WORDS,
  type WordWindows,
} from './kit/text-sets.js';

const TERMS = [2, 5, 9];
/** A query of rare words leaves out words that more than one chunk in fifty has. */
const RARE_SHARE = 1 / 50;
const K = 10;
const BACKGROUND_MS = 2;
/** Chunks between two slices of background work. */
const TURN = 256;

/**
 * On windows of 22 words of real texts: indexing rate, bytes per chunk, and questions per second for any of 2, 5 and 9
 * words (the ten best), and for phrases and prefixes (where Sheaf returns all chunks, as filters need).
 */
export async function peers({ tiny, number }: LoadOptions): Promise<void> {
  const given = readWordWindows(number('chunks', tiny ? 3000 : 130_000));
  if (!given) return;
  const { measureInPython, measureMiniSearch, measureOrama } = await import('./kit/text-peers.js');
  const questions = questionsOf(given, tiny ? 20 : 1000);
  const ours = measureOurs(given, questions);
  // Words are split as Sheaf splits them.
  const split = given.windows.map((text) => tokensOf(text).join(' '));
  const python = (['tantivy', 'fts5'] as const).flatMap((peer) => measureInPython(peer, split, questions) ?? []);
  const others = [...python, measureMiniSearch(split, questions), await measureOrama(split, questions)];
  const rows = [...ours, ...others].map(({ name, rate, bytes, questions: rates }) => [
    name,
    whole(rate),
    Number.isNaN(bytes) ? '' : bytes.toFixed(0),
    ...Object.keys(questions).map((kind) => (rates[kind] === undefined ? '' : whole(rates[kind]))),
  ]);
  printTable(`${whole(given.windows.length)} chunks of ${WINDOW_WORDS} words, ${K} best, a second of CPU time`, [
    ['', 'chunks/s', 'bytes', ...Object.keys(questions)],
    ...rows,
  ]);
}

/** The longest slice of any kind, in milliseconds of CPU time. */
class Slices {
  longestMs = 0;

  time<T>(work: () => T): T {
    const startedAt = ownCpuMs();
    const answer = work();
    this.longestMs = Math.max(this.longestMs, ownCpuMs() - startedAt);
    return answer;
  }
}

function fill(index: TextIndex, windows: readonly string[], slices: Slices): number {
  const maker = makerOf('none');
  const startedAt = ownCpuMs();
  for (let from = 0; from < windows.length; from += TURN) {
    for (let i = from; i < Math.min(from + TURN, windows.length); i++)
      maker.add(index, i as Ordinal, windows[i] as string);
    while (slices.time(() => index.mergeSome(BACKGROUND_MS)));
  }
  return (windows.length / (ownCpuMs() - startedAt)) * 1000;
}

function askAll(index: TextIndex, questions: Questions): Record<string, number> {
  const rates = Object.entries(questions).map(([kind, all]) => {
    if (kind === 'phrase' || kind === 'prefix')
      return [kind, questionRate(all.length, () => all.forEach((terms) => index.phrase(terms, kind === 'prefix')))];
    const asked = all.map((terms) => ({ terms, statistics: index.statistics(terms) }));
    return [
      kind,
      questionRate(asked.length, () => asked.forEach(({ terms, statistics }) => index.rank(terms, statistics, K))),
    ];
  });
  return Object.fromEntries(rates) as Record<string, number>;
}

const bytesOf = (index: TextIndex): number => Object.values(index.bytes()).reduce((sum, kind) => sum + kind, 0);

/** Measures the text index of Sheaf as it is after the adds, and when it is idle, merged into one run. */
function measureOurs({ windows }: WordWindows, questions: Questions): PeerFigures[] {
  fill(createKernel().createTextIndex(), windows.slice(0, 20_000), new Slices()); // Warms the compilers up.
  const index = createKernel().createTextIndex();
  const slices = new Slices();
  const rate = fill(index, windows, slices);
  const asItIs = {
    name: 'ours, as added',
    rate,
    bytes: bytesOf(index) / windows.length,
    questions: askAll(index, questions),
  };
  index.freeze();
  while (slices.time(() => index.mergeSome(BACKGROUND_MS, true)));
  console.log(
    `bytes a chunk: ${Object.entries(index.bytes())
      .map(([kind, bytes]) => `${kind} ${(bytes / windows.length).toFixed(1)}`)
      .join(', ')}`,
  );
  console.log(
    `longest slice of background work: ${slices.longestMs.toFixed(1)} ms of CPU time, asked for ${BACKGROUND_MS}`,
  );
  return [
    asItIs,
    {
      ...asItIs,
      name: 'ours, one segment',
      bytes: bytesOf(index) / windows.length,
      questions: askAll(index, questions),
    },
  ];
}

function questionsOf({ windows, questions }: WordWindows, count: number): Questions {
  const chunks = new Map<string, number>();
  for (const window of windows)
    for (const term of new Set(chunkTerms(window, 'none'))) chunks.set(term, (chunks.get(term) ?? 0) + 1);
  const rare = questions.map((question) =>
    question.filter((term) => (chunks.get(term) ?? 0) < windows.length * RARE_SHARE),
  );
  const kinds = TERMS.flatMap((terms): [string, string[][]][] => [
    [`${terms} words`, drawQuestions(questions, terms, count)],
    [`${terms} rare words`, drawQuestions(rare, terms, count)],
  ]);
  return { ...Object.fromEntries(kinds), phrase: drawPhrases(windows, count), prefix: drawPrefixes(questions, count) };
}

const TERMS_MAX = 1024;
const PACKAGES = `manual pages of other languages: for l in da de es fi fr hu it nl pt-br ro ru sv tr; do apt-get download manpages-$l; done;
for f in manpages-*.deb; do dpkg -x "$f" pages; done; then --pages pages/usr/share/man`;

/**
 * BM25 over whole documents with unchanged words, with stemming, and with stemming and stop words: English collections
 * and, with --pages, manual pages in other languages, by English and by their own language; and the cost of terms.
 */
export async function languages({ tiny, text }: LoadOptions): Promise<void> {
  const head = ['texts of', 'texts', 'queries', 'ranked by', 'nDCG@10', 'recall@100', 'bytes a text'];
  const judged = JUDGED_COLLECTIONS.flatMap(
    (name) => readJudgedTexts(name, tiny ? 300 : Infinity, tiny ? 30 : Infinity) ?? [],
  );
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
  if (pages === undefined) return console.log(`skipped: ${PACKAGES}`);
  printTable('manual pages', [
    head,
    ...readPageSets(pages).flatMap((set) => rowsOf(set, [ranked('none'), ranked('english'), ranked(set.language)])),
  ]);
}

const ranked = (language: Language): Analysis => ({
  name: language,
  chunk: (text) => chunkTerms(text, language),
  question: (text) => countedTerms(text, TERMS_MAX, language),
});

/** Stemming without removing stop words, for comparison; the server does not do this. */
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

/** Chunks per second of CPU time. */
function termRate(windows: readonly string[], language: Language): number {
  const round = (): number => {
    const startedAt = ownCpuMs();
    for (const window of windows) chunkTerms(window, language);
    return (windows.length / (ownCpuMs() - startedAt)) * 1000;
  };
  return [round(), round(), round()].sort((a, b) => a - b)[1] as number;
}

/**
 * Languages of manual pages, by folder. Manual pages are a test of search in many languages: the line that says what a
 * page is about has to find the rest of the page.
 */
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
 * Reads manual pages; `folder` contains `de/man1` and so on. A line that several pages share is left out, because it
 * has several right answers.
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

/** The description of a page: in every language its second section is NAME, such as `ls - list directory contents`. */
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
