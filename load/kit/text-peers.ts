// Peers of the text index: MiniSearch and Orama in this process, tantivy and SQLite's FTS5 in a Python process.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, insertMultiple, search } from '@orama/orama';
import MiniSearch from 'minisearch';
import { ownCpuMs, questionRate } from './server-usage.js';

/** Questions by kind: `phrase`, `prefix`, or the number of words of which any may match. */
export type Questions = Readonly<Record<string, readonly (readonly string[])[]>>;

export interface PeerFigures {
  readonly name: string;
  /** Documents per second of CPU time. */
  readonly rate: number;
  /** NaN if the memory is on the JavaScript heap. */
  readonly bytes: number;
  /** Questions per second of CPU time, by kind; absent if the peer does not support the kind. */
  readonly questions: Readonly<Record<string, number | undefined>>;
}

type Ask = (kind: string, terms: readonly string[]) => unknown;

const TOP = 10;
/** Number of queries for the peers in JavaScript, which take milliseconds for each. */
const FEW = 10;

/** Measures MiniSearch, which has no phrase search. */
export function measureMiniSearch(windows: readonly string[], questions: Questions): PeerFigures {
  const index = new MiniSearch({ fields: ['text'], tokenize: (text) => text.split(' '), processTerm: (term) => term });
  const startedAt = ownCpuMs();
  index.addAll(windows.map((text, id) => ({ id, text })));
  const rate = (windows.length / (ownCpuMs() - startedAt)) * 1000;
  return {
    name: 'MiniSearch 7',
    rate,
    bytes: NaN,
    questions: ratesOf(questions, (kind, terms) =>
      index.search(terms.join(' '), { prefix: kind === 'prefix' }).slice(0, TOP),
    ),
  };
}

/** Measures Orama, which has no phrase search either, and matches words by prefix. */
export async function measureOrama(windows: readonly string[], questions: Questions): Promise<PeerFigures> {
  const index = create({
    schema: { text: 'string' } as const,
    components: {
      tokenizer: {
        language: 'english',
        normalizationCache: new Map<string, string>(),
        tokenize: (text: string) => [...new Set(text.split(' '))],
      },
    },
  });
  const startedAt = ownCpuMs();
  await insertMultiple(
    index,
    windows.map((text) => ({ text })),
    windows.length,
  );
  const rate = (windows.length / (ownCpuMs() - startedAt)) * 1000;
  return {
    name: 'Orama 3',
    rate,
    bytes: NaN,
    questions: ratesOf(questions, (_, terms) => search(index, { term: terms.join(' '), limit: TOP, threshold: 1 })),
  };
}

function ratesOf(questions: Questions, ask: Ask): PeerFigures['questions'] {
  const rates = Object.entries(questions).map(([kind, all]) => {
    const few = all.slice(0, FEW);
    return [
      kind,
      kind === 'phrase' ? undefined : questionRate(few.length, () => few.forEach((terms) => ask(kind, terms))),
    ];
  });
  return Object.fromEntries(rates) as PeerFigures['questions'];
}

/** Measures `peer`, which is tantivy or fts5. Undefined, with a message on standard output, if no Python has it. */
export function measureInPython(
  peer: 'tantivy' | 'fts5',
  windows: readonly string[],
  questions: Questions,
): PeerFigures | undefined {
  const python = process.env['PYTHON'] ?? 'python3';
  const wanted = peer === 'tantivy' ? 'tantivy' : 'sqlite3';
  if (spawnSync(python, ['-c', `import ${wanted}`]).status !== 0) {
    console.log(`skipped: ${peer} (a Python with ${wanted}; PYTHON names the interpreter)`);
    return undefined;
  }
  const folder = mkdtempSync(join(tmpdir(), 'sheaf-words-'));
  try {
    const file = join(folder, 'given.json');
    writeFileSync(file, JSON.stringify({ windows, questions }));
    return JSON.parse(
      execFileSync(python, ['load/kit/text_peers.py', peer, file], { encoding: 'utf8' }),
    ) as PeerFigures;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
