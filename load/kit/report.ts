// What load programs print: the figures as a short table, with the command and the machine that gave them. Called last
// by each of the programs beside this folder.
import { availableParallelism, cpus } from 'node:os';

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
