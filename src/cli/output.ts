// Output of the command line: streams (those of the process or of a test) and text helpers.
import { styleText } from 'node:util';
import type { CommonFields } from '../api/common.js';

/** A standard stream. `isTTY` and `columns` are set on a terminal; `isClosed` once its reader has gone. */
export type Stream = NodeJS.WritableStream & { isTTY?: boolean; columns?: number; isClosed?: boolean };

/** Standard input. */
export type Input = NodeJS.ReadableStream & { isTTY?: boolean };

export interface Output {
  stdout: Stream;
  stderr: Stream;
}

/**
 * A reader such as `| head` may close the pipe early. This is not a failure: further output is dropped, and long
 * listings end.
 */
export function outliveReader(stream: Stream): void {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    stream.isClosed = true;
  });
}

/** Calls `say` at most once per `everyMs`, and not at once. */
export function throttled<A extends unknown[]>(everyMs: number, say: (...args: A) => void): (...args: A) => void {
  let saidAtMs = performance.now();
  return (...args) => {
    if (performance.now() - saidAtMs < everyMs) return;
    saidAtMs = performance.now();
    say(...args);
  };
}

export const line = (stream: Stream, text: string): void => void stream.write(`${text}\n`);

/** An answer without the fields that all answers have. */
export function ownFields<T extends CommonFields>({
  ok: _ok,
  latency_ms: _latency,
  request_id: _id,
  ...own
}: T): Omit<T, keyof CommonFields> {
  return own;
}

/** `1 file`, `2 files`, `2 searches`, `2 queries`. */
export const count = (n: number, noun: string): string =>
  `${n.toLocaleString('en-US')} ${n === 1 ? noun : plural(noun)}`;

export const plural = (noun: string): string => (noun.endsWith('ch') ? `${noun}es` : noun.replace(/y$/, 'ie') + 's');

/** `0.8 s`, `42 s`, `3 min 5 s`. */
export function duration(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

/** A summary such as `3 files (6 chunks) ingested into acme/docs in 0.8 s, 4 files/s`. */
export function ingestedLine(
  ingested: number,
  noun: string,
  chunks: number,
  place: { tenant: string; collection: string },
  seconds: number,
): string {
  const rate = (ingested / Math.max(seconds, 0.001)).toFixed(0);
  return `${count(ingested, noun)} (${count(chunks, 'chunk')}) ingested into ${place.tenant}/${place.collection} in ${duration(seconds)}, ${rate} ${plural(noun)}/s`;
}

/** Replaces line breaks and control characters, which could control the terminal, by spaces. */
export const oneLine = (text: string): string => text.replace(/[\s\p{Cc}]+/gu, ' ').trim();

/** A text table: columns of equal width, numbers right-aligned, the last column not padded. */
export function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const lines = [head, ...rows.map((row) => row.map((cell) => oneLine(String(cell))))];
  const widths = head.map((_, i) => Math.max(...lines.map((cells) => (cells[i] ?? '').length)));
  const isNumber = head.map((_, i) => rows.length > 0 && rows.every((row) => typeof row[i] === 'number'));
  const padded = (cell: string, i: number): string =>
    isNumber[i] ? cell.padStart(widths[i] as number) : cell.padEnd(widths[i] as number);
  return lines.map((cells) => cells.map(padded).join('  ').trimEnd()).join('\n');
}

export interface Style {
  strong: (text: string) => string;
  weak: (text: string) => string;
  good: (text: string) => string;
  bad: (text: string) => string;
}

const plain = (text: string): string => text;
export const PLAIN: Style = { strong: plain, weak: plain, good: plain, bad: plain };

const COLOURED: Style = {
  strong: (text) => styleText(['bold', 'yellow'], text),
  weak: (text) => styleText('dim', text),
  good: (text) => styleText('green', text),
  bad: (text) => styleText(['bold', 'red'], text),
};

/** Styled on a terminal; plain elsewhere and if NO_COLOR is set. */
export const styleOf = (stream: Stream, env: Record<string, string | undefined>): Style =>
  stream.isTTY && !env['NO_COLOR'] && env['TERM'] !== 'dumb' ? COLOURED : PLAIN;
