// The index of words against its peers, one thread each, on windows of 22 words of real texts: rate of indexing, bytes
// a chunk, and questions a second for any of 2, 5 and 9 words, the ten best, and for phrases and prefixes (of which
// ours answers all chunks, as filters want them). By CPU time, so that other work on the machine counts little. node
// dist/load/words.js [--chunks N] [--tiny]
import type { Ordinal } from '../src/api/ids.js';
import { chunkTerms } from '../src/text/terms.js';
import { tokensOf } from '../src/text/tokenize.js';
import { makerOf } from '../src/engine/segments/indexes.js';
import type { WordIndex } from '../src/engine/postings/text-index.js';
import { printTable, readArguments, whole } from './kit/command.js';
import { createWordIndex } from './kit/text-quality.js';
import {
  cpuMs,
  measureInPython,
  measureMiniSearch,
  measureOrama,
  questionRate,
  type PeerFigures,
  type Questions,
} from './kit/text-peers.js';
import {
  drawPhrases,
  drawPrefixes,
  drawQuestions,
  readWordWindows,
  WINDOW_WORDS,
  type WordWindows,
} from './kit/text-sets.js';

const MAKER = makerOf('none');
const TERMS = [2, 5, 9];
/** A question of rare words leaves out those that more than one chunk in fifty has. */
const RARE_SHARE = 1 / 50;
const K = 10;
const BACKGROUND_MS = 2;
/** Chunks between two turns of the background. */
const TURN = 256;

/** The longest slice of any kind, in milliseconds of CPU time. */
class Slices {
  longestMs = 0;

  time<T>(work: () => T): T {
    const startedAt = cpuMs();
    const answer = work();
    this.longestMs = Math.max(this.longestMs, cpuMs() - startedAt);
    return answer;
  }
}

function fill(index: WordIndex, windows: readonly string[], slices: Slices): number {
  const startedAt = cpuMs();
  for (let from = 0; from < windows.length; from += TURN) {
    for (let i = from; i < Math.min(from + TURN, windows.length); i++)
      MAKER.add(index, i as Ordinal, windows[i] as string);
    while (slices.time(() => index.mergeSome(BACKGROUND_MS)));
  }
  return (windows.length / (cpuMs() - startedAt)) * 1000;
}

function askAll(index: WordIndex, questions: Questions): Record<string, number> {
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

const bytesOf = (index: WordIndex): number => Object.values(index.bytes()).reduce((sum, part) => sum + part, 0);

/** As it stands after the adds, and merged into one segment, as an index that rests. */
function measureOurs({ windows }: WordWindows, questions: Questions): PeerFigures[] {
  fill(createWordIndex(), windows.slice(0, 20_000), new Slices()); // Warms the compilers up.
  const index = createWordIndex();
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
      .map(([part, bytes]) => `${part} ${(bytes / windows.length).toFixed(1)}`)
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

const { tiny, number } = readArguments('chunks');
const given = readWordWindows(number('chunks', tiny ? 3000 : 130_000));
if (given) {
  const questions = questionsOf(given, tiny ? 20 : 1000);
  const ours = measureOurs(given, questions);
  // Words as ours are split.
  const split = given.windows.map((text) => tokensOf(text).join(' '));
  const python = (['tantivy', 'fts5'] as const).flatMap((peer) => measureInPython(peer, split, questions) ?? []);
  const peers = [...python, measureMiniSearch(split, questions), await measureOrama(split, questions)];
  const rows = [...ours, ...peers].map(({ name, rate, bytes, questions: rates }) => [
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
