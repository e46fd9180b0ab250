// What the files that add commands to the command line share: what they are given, exit codes, examples below a help,
// and options that read numbers. Called by program.ts and the *-commands.ts beside it.
import { changedNumber } from '../base/exact-numbers.js';
import { InvalidArgumentError, type Command } from 'commander';
import type { Input, Output } from './output.js';

export interface CommandLine {
  readonly program: Command;
  readonly env: Record<string, string | undefined>;
  readonly output: Output;
  readonly stdin: Input;
  /**
   * The serve command, with variables over those of the environment; resolves with its exit code once the server has
   * stopped.
   */
  readonly serve: (variables: Record<string, string>) => Promise<number>;
  /** Told the exit code of the command that ran. */
  readonly ended: (exitCode: number) => void;
}

/** Exit codes of every command; the help of the program tells them. */
export const EXIT = { done: 0, failed: 1, usage: 2, unreachable: 3 } as const;

/** Lines for `addHelpText('after', …)`. */
export const examples = (...lines: readonly string[]): string =>
  `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`;

export function integerBetween(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== '' && Number.isInteger(value) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Give a whole number from ${min} to ${max}.`);
  };
}

export function numberBetween(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== '' && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Give a number from ${min} to ${max}.`);
  };
}

/** For an option that may be given several times. */
export const gathered = (text: string, before: readonly string[] = []): string[] => [...before, text];

export function jsonObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    const number = changedNumber(text);
    if (number !== undefined)
      throw new InvalidArgumentError(`${number} has more digits than a number keeps: quote it.`);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw error;
    // Told below, like what is JSON and no object.
  }
  throw new InvalidArgumentError('Give a JSON object, such as \'{"lang":"en"}\'.');
}
