// The peers of the text index: MiniSearch and Orama in this process, tantivy and SQLite's FTS5 in a Python process.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, insertMultiple, search } from '@orama/orama';
import MiniSearch from 'minisearch';
import { ownCpuMs, questionRate } from './server-usage.js';

/** By kind: `phrase`, `prefix`, or how many words of which any may be there. */
export type Questions = Readonly<Record<string, readonly (readonly string[])[]>>;

export interface PeerFigures {
  readonly name: string;
  /** Documents a second of CPU time. */
  readonly rate: number;
  /** NaN where the memory is the heap's. */
  readonly bytes: number;
  /** Questions a second of CPU time, by kind; absent where the peer has no such question. */
  readonly questions: Readonly<Record<string, number | undefined>>;
}

type Ask = (kind: string, terms: readonly string[]) => unknown;

const TOP = 10;
/** The peers in JavaScript take milliseconds a question. */
const FEW = 10;

/** It has no phrases. */
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

/** It has no phrases either; a question of words finds what begins with them, which is its way. */
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

/** `peer` is tantivy or fts5. Undefined, said on standard output, where there is no Python with it. */
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
