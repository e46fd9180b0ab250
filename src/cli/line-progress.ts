// Progress of a stream of documents: on a terminal a bar by the bytes of the files, or a count where their length is
// unknown, else a plain line now and then. Called by ingest-lines.ts.
import { startBarOf, type Bar } from './progress.js';
import { count, line, throttled, type Stream } from './output.js';

export interface LineProgress {
  /** So many documents are dealt with, which end so many bytes behind the start. */
  update(documents: number, bytes: number): void;
  /** A line of its own, above the bar. */
  note(text: string): void;
  stop(): void;
}

const TERMINAL_EVERY_MS = 100;
const PLAIN_EVERY_MS = 2000;

export function startLineProgress(stream: Stream, totalBytes: number | undefined): LineProgress {
  const bar =
    stream.isTTY && totalBytes !== undefined
      ? startBarOf(stream, totalBytes, '{bar} {percentage}%  {documents} documents  {rate} documents/s  {left} left')
      : undefined;
  return bar ? withBar(bar, stream) : withLines(stream);
}

function withBar(bar: Bar, stream: Stream): LineProgress {
  const startedAtMs = performance.now();
  return {
    update: (documents, bytes) =>
      bar.update(bytes, { documents: documents.toLocaleString('en-US'), rate: rateOf(documents, startedAtMs) }),
    note: (text) => line(stream, `\r\x1b[K${text}`),
    stop: () => bar.stop(),
  };
}

function withLines(stream: Stream): LineProgress {
  const startedAtMs = performance.now();
  const update = throttled(stream.isTTY ? TERMINAL_EVERY_MS : PLAIN_EVERY_MS, (documents: number): void => {
    const text = `${count(documents, 'document')}, ${rateOf(documents, startedAtMs)} documents/s`;
    if (stream.isTTY) stream.write(`\r\x1b[K${text}`);
    else line(stream, text);
  });
  return {
    update,
    note: (text) => line(stream, stream.isTTY ? `\r\x1b[K${text}` : text),
    stop: () => void (stream.isTTY && stream.write('\r\x1b[K')),
  };
}

const rateOf = (documents: number, startedAtMs: number): string =>
  ((documents * 1000) / Math.max(1, performance.now() - startedAtMs)).toFixed(0);
