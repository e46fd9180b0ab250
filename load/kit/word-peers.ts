// The peer of the index of words, tantivy in a Python process, and the clock for both.
// Used by load/words.ts.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** By kind of question, e.g. `5 words`. */
export type Questions = Readonly<Record<string, readonly (readonly string[])[]>>;

export interface PeerFigures {
  readonly name: string;
  /** Documents a second of CPU time. */
  readonly rate: number;
  readonly bytes: number;
  /** Questions a second of CPU time, by kind. */
  readonly questions: Readonly<Record<string, number>>;
}

/** Milliseconds of CPU time of this process: other work on the machine is not in it. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** The median of five rounds. */
export function questionRate(count: number, ask: () => void): number {
  const rounds = Array.from({ length: 5 }, () => {
    const startedAt = cpuMs();
    ask();
    return cpuMs() - startedAt;
  });
  return (count / (rounds.sort((a, b) => a - b)[2] as number)) * 1000;
}

/** Undefined, said on standard output, where there is no Python with tantivy. The words given are split as ours are. */
export function measureTantivy(windows: readonly string[], questions: Questions): PeerFigures | undefined {
  const python = process.env['PYTHON'] ?? 'python3';
  if (spawnSync(python, ['-c', 'import tantivy']).status !== 0) {
    console.log('skipped: tantivy (pip install tantivy; PYTHON names the interpreter)');
    return undefined;
  }
  const folder = mkdtempSync(join(tmpdir(), 'sheaf-words-'));
  try {
    const file = join(folder, 'given.json');
    writeFileSync(file, JSON.stringify({ windows, questions }));
    return JSON.parse(execFileSync(python, ['load/kit/words_tantivy.py', file], { encoding: 'utf8' })) as PeerFigures;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
