// Progress of long work: a bar with rate and time left on a terminal, else a plain line now and then. Called by the
// commands that send files, stream documents or follow a job; the only file that knows cli-progress.
import { SingleBar } from 'cli-progress';
import { type Stream, count, duration, line, throttled } from './output.js';

export interface Progress {
  /** `done` of the total are dealt with. */
  update(done: number): void;
  stop(): void;
}

interface Bar {
  /** `words` stand in the format by their names, beside `{bar}`, `{percentage}`, `{value}`, `{total}` and `{left}`. */
  update(done: number, words?: Readonly<Record<string, string>>): void;
  stop(): void;
}

const PLAIN_LINE_EVERY_MS = 2000;

/** `noun`: one of what is counted, such as `file`. */
export function startProgress(stream: Stream, total: number, noun = 'file'): Progress {
  if (!stream.isTTY) return startLines(stream, total, noun);
  const startedAtMs = performance.now();
  const bar = startBarOf(stream, total, `{bar} {value}/{total} ${noun}s  {rate} ${noun}s/s  {left} left`);
  return { update: (done) => bar.update(done, { rate: pace(done, total, startedAtMs).rate }), stop: bar.stop };
}

function startBarOf(stream: Stream, total: number, format: string): Bar {
  const startedAtMs = performance.now();
  const bar = new SingleBar({
    stream,
    format,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    // The longest line fits into 80 columns.
    barsize: 20,
    // Nothing of the terminal's state is changed, so there is nothing to restore after a signal: those are the
    // caller's.
    hideCursor: false,
    linewrap: true,
    gracefulExit: false,
  });
  bar.start(total, 0, { rate: '-', left: '-', documents: '0' });
  return {
    update: (done, words) => bar.update(done, { ...words, left: pace(done, total, startedAtMs).left }),
    stop: () => bar.stop(),
  };
}

function startLines(stream: Stream, total: number, noun: string): Progress {
  const startedAtMs = performance.now();
  const update = throttled(PLAIN_LINE_EVERY_MS, (done: number): void => {
    const { rate, left } = pace(done, total, startedAtMs);
    line(stream, `${done} of ${count(total, noun)}, ${rate} ${noun}s/s, ${left} left`);
  });
  return { update, stop: () => {} };
}

/** Rate and time left as texts, by the mean since the start. */
function pace(done: number, total: number, startedAtMs: number): { rate: string; left: string } {
  const perSecond = (done * 1000) / Math.max(1, performance.now() - startedAtMs);
  return {
    rate: perSecond.toFixed(perSecond < 10 ? 1 : 0),
    left: done === 0 ? '-' : duration((total - done) / perSecond),
  };
}

// Progress of a stream of documents: on a terminal a bar by the bytes of the files, or a count where their length is
// unknown, else a plain line now and then. Called by ingest-lines.ts.

interface LineProgress {
  /** So many documents are dealt with, which end so many bytes behind the start. */
  update(documents: number, bytes: number): void;
  /** A line of its own, above the bar. */
  note(text: string): void;
  stop(): void;
}

const LINES_TERMINAL_EVERY_MS = 100;
const LINES_PLAIN_EVERY_MS = 2000;

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
  const update = throttled(stream.isTTY ? LINES_TERMINAL_EVERY_MS : LINES_PLAIN_EVERY_MS, (documents: number): void => {
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

// Progress of a download: bytes and rate, in one line of a terminal, else a plain line now and then.
// Called by archive.ts.

interface ByteProgress {
  readonly bytes: number;
  add(bytes: number): void;
  stop(): void;
}

const BYTES_TERMINAL_EVERY_MS = 200;
const BYTES_PLAIN_EVERY_MS = 5000;

export function startBytes(stream: Stream): ByteProgress {
  const startedAtMs = performance.now();
  let bytes = 0;
  const say = throttled(stream.isTTY ? BYTES_TERMINAL_EVERY_MS : BYTES_PLAIN_EVERY_MS, (): void => {
    const text = `${(bytes / 1e6).toFixed(1)} MB, ${(bytes / 1e3 / Math.max(1, performance.now() - startedAtMs)).toFixed(0)} MB/s`;
    if (stream.isTTY) stream.write(`\r${text}  `);
    else line(stream, text);
  });
  return {
    get bytes() {
      return bytes;
    },
    add(more) {
      bytes += more;
      say();
    },
    stop() {
      if (stream.isTTY) stream.write('\n');
    },
  };
}
