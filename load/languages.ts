// Ranking by words alone, BM25 over whole documents: with words as they stand, with stems, with stems and stop words.
// Of English collections, and with --pages of manual pages in other languages, by English and by their own language.
// And what terms cost. node dist/load/languages.js [--pages DIR] [--tiny]
import { tokensOf } from '../src/text/tokenize.js';
import type { Language } from '../src/contract/language.js';
import type { QueryTerms } from '../src/text/rank-terms.js';
import { chunkTerms, countedTerms } from '../src/text/rank-terms.js';
import { loadLanguage } from '../src/text/stemmers.js';
import { readArguments } from './kit/arguments.js';
import { readPageSets } from './kit/manual-pages.js';
import { printTable, whole } from './kit/report.js';
import { cpuMs } from './kit/word-peers.js';
import { measureQuality, readJudgedTexts, type Analysis, type JudgedTexts } from './kit/word-quality.js';
import { readWordWindows, WINDOW_WORDS } from './kit/word-windows.js';

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
