// Options that load programs share, and their output: short tables with the command and machine that produced them.
import { availableParallelism, cpus } from 'node:os';

/** The options of one program. */
export interface LoadOptions {
  /** Seconds instead of minutes and small data, to check that the program runs. Its figures mean nothing. */
  readonly tiny: boolean;
  /** A running server to measure instead of a new one. */
  readonly url: string | undefined;
  /** The arguments after the program's name. */
  readonly names: readonly string[];
  text(name: string): string | undefined;
  /** Throws if the value is not a whole number. */
  number(name: string, fallback: number): number;
  /** Whether an option without a value was given. */
  flag(name: string): boolean;
}

/** `values` are the options by name. */
export function loadOptions(values: Readonly<Record<string, unknown>>, names: readonly string[] = []): LoadOptions {
  return {
    tiny: values['tiny'] === true,
    url: values['url'] as string | undefined,
    names,
    text: (name) => values[name] as string | undefined,
    number: (name, fallback) => {
      const value = values[name] === undefined ? fallback : Number(values[name]);
      if (!Number.isInteger(value) || value < 0) throw new TypeError(`--${name} wants a whole number`);
      return value;
    },
    flag: (name) => values[name] === true,
  };
}

/** A function that selects the named items of a list, or all if none of it is named. Throws for unknown names. */
export function chooser(
  names: readonly string[],
  ...lists: readonly (readonly string[])[]
): (list: readonly string[]) => readonly string[] {
  const unknown = names.find((name) => !lists.flat().includes(name));
  if (unknown !== undefined) throw new TypeError(`${unknown} is none of ${lists.flat().join(', ')}`);
  return (list) => {
    const named = list.filter((name) => names.includes(name));
    return named.length > 0 ? named : list;
  };
}

/** Prints rows of cells below a header row. The caller rounds numbers. */
export function printTable(title: string, rows: readonly (readonly string[])[]): void {
  printRows(title, rows);
  printOrigin();
}

/** Prints the command and the machine, for output without a table. */
export function printOrigin(): void {
  const [program = '', ...options] = process.argv.slice(1);
  console.log(`  command: node ${[program.replace(`${process.cwd()}/`, ''), ...options].join(' ')}`);
  console.log(
    `  machine: ${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'}), Node ${process.version}, ${process.platform} ${process.arch}`,
  );
}

/** Prints a table without command and machine. */
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

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;
export const whole = (n: number): string => Math.round(n).toLocaleString('en-US');
