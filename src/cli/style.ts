// Emphasis on a terminal, and none elsewhere or where NO_COLOR is set. Used by what shows hits and findings.
// Pure, but for what the stream is.
import { styleText } from 'node:util';
import type { Stream } from './output.js';

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

export const styleOf = (stream: Stream, env: Record<string, string | undefined>): Style =>
  stream.isTTY && !env['NO_COLOR'] && env['TERM'] !== 'dumb' ? COLOURED : PLAIN;
