// The arguments that load programs share: how small, against which server, and a few numbers. Called first by each of
// the programs beside this folder.
import { availableParallelism, cpus } from 'node:os';
import { parseArgs } from 'node:util';

interface LoadArguments {
  /** Seconds instead of minutes, small instead of full: so that the suite can run it. */
  tiny: boolean;
  /** A running server to measure instead of one of its own. */
  url?: string;
  /** An option as it was given. */
  text(name: string): string | undefined;
  /** A number by name, or what stands for it. */
  number(name: string, fallback: number): number;
  /** Whether an option without a value was given. */
  flag(name: string): boolean;
}

/**
 * Reads `--tiny`, `--url URL` and the given options, those that end with `?` without a value. Exits with a message
 * where another is given.
 */
export function readArguments(...names: string[]): LoadArguments {
  const given: Record<string, { type: 'string' | 'boolean' }> = Object.fromEntries(
    names.map((name) => (name.endsWith('?') ? [name.slice(0, -1), { type: 'boolean' }] : [name, { type: 'string' }])),
  );
  const { values } = parseArgs({ options: { ...given, tiny: { type: 'boolean' }, url: { type: 'string' } } });
  const all = values as Record<string, string | boolean | undefined>;
  const number = (name: string, fallback: number): number => {
    const value = all[name] === undefined ? fallback : Number(all[name]);
    if (!Number.isInteger(value) || value < 0) throw new TypeError(`--${name} wants a whole number`);
    return value;
  };
  return {
    tiny: all['tiny'] === true,
    url: all['url'] as string | undefined,
    number,
    text: (name) => all[name] as string | undefined,
    flag: (name) => all[name] === true,
  };
}

/** Reads `--tiny` and words that choose among names. Throws where a word is none of them. */
export function readChoices(...lists: readonly (readonly string[])[]): {
  tiny: boolean;
  chosen: (all: readonly string[]) => readonly string[];
} {
  const { values, positionals: words } = parseArgs({ options: { tiny: { type: 'boolean' } }, allowPositionals: true });
  const unknown = words.find((word) => !lists.flat().includes(word));
  if (unknown !== undefined) throw new TypeError(`${unknown} is none of ${lists.flat().join(', ')}`);
  const chosen = (all: readonly string[]): readonly string[] =>
    all.some((name) => words.includes(name)) ? all.filter((name) => words.includes(name)) : all;
  return { tiny: values.tiny === true, chosen };
}

// What load programs print: the figures as a short table, with the command and the machine that gave them. Called last
// by each of the programs beside this folder.

/** Rows of cells; the first row is the head. Numbers are for people: the caller rounds them. */
export function printTable(title: string, rows: readonly (readonly string[])[]): void {
  printRows(title, rows);
  printOrigin();
}

/** The command and the machine, where the figures are no table. */
export function printOrigin(): void {
  console.log(
    `  command: node ${process.argv
      .slice(1)
      .map((part, i) => (i === 0 ? relativeToHere(part) : part))
      .join(' ')}`,
  );
  console.log(
    `  machine: ${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'}), Node ${process.version}, ${process.platform} ${process.arch}`,
  );
}

/** Without command and machine. */
export function printRows(title: string, rows: readonly (readonly string[])[]): void {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  console.log(title);
  for (const row of rows)
    console.log(
      `  ${row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd()}`,
    );
}

const relativeToHere = (path: string): string => path.replace(`${process.cwd()}/`, '');

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;
export const whole = (n: number): string => Math.round(n).toLocaleString('en-US');
