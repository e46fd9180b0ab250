// Progress of long work: on a terminal a bar with rate and remaining time, or a rewritten line if the total is unknown;
// elsewhere an occasional plain line. The only file that imports cli-progress.
import { SingleBar } from 'cli-progress';
import { type Stream, count, duration, line, plural, throttled } from './output.js';

export interface Progress {
  /** `done` of the total are finished. */
  update(done: number): void;
  stop(): void;
}

interface LineProgress {
  /** Number of finished documents, and bytes of input up to their end. */
  update(documents: number, bytes: number): void;
  /** Writes a line above the bar. */
  note(text: string): void;
  stop(): void;
}

interface ByteProgress {
  readonly bytes: number;
  add(bytes: number): void;
  stop(): void;
}

/** Minimum time between two lines, in ms. */
interface Intervals {
  readonly terminal: number;
  readonly plain: number;
}

const EVERY_MS: Intervals = { terminal: 100, plain: 2000 };
const BYTES_EVERY_MS: Intervals = { terminal: 200, plain: 5000 };
const CLEAR_LINE = '\r\x1b[K';

/** `noun` is the singular of what is counted, such as `file`. */
export function startProgress(stream: Stream, total: number, noun = 'file'): Progress {
  const nouns = plural(noun);
  const perSecond = startRate();
  const rate = (done: number): string => perSecond(done).toFixed(perSecond(done) < 10 ? 1 : 0);
  const left = (done: number): string => timeLeft(total - done, perSecond(done));
  if (stream.isTTY) {
    const bar = startBar(stream, total, `{bar} {value}/{total} ${nouns}  {rate} ${nouns}/s  {left} left`);
    return { update: (done) => bar.update(done, { rate: rate(done), left: left(done) }), stop: () => bar.stop() };
  }
  const update = startLine(
    stream,
    EVERY_MS,
    (done: number) => `${done} of ${count(total, noun)}, ${rate(done)} ${nouns}/s, ${left(done)} left`,
  );
  return { update, stop: () => {} };
}

/** Progress of a stream of documents: a bar by bytes of input, or a count if their number is unknown. */
export function startLineProgress(stream: Stream, totalBytes: number | undefined): LineProgress {
  const perSecond = startRate();
  const note = (text: string): void => line(stream, stream.isTTY ? `${CLEAR_LINE}${text}` : text);
  const rate = (documents: number): string => perSecond(documents).toFixed(0);
  if (stream.isTTY && totalBytes !== undefined) {
    const bar = startBar(
      stream,
      totalBytes,
      '{bar} {percentage}%  {documents} documents  {rate} documents/s  {left} left',
    );
    const update = (documents: number, bytes: number): void =>
      bar.update(bytes, {
        documents: documents.toLocaleString('en-US'),
        rate: rate(documents),
        left: timeLeft(totalBytes - bytes, perSecond(bytes)),
      });
    return { update, note, stop: () => bar.stop() };
  }
  const update = startLine(
    stream,
    EVERY_MS,
    (documents: number) => `${count(documents, 'document')}, ${rate(documents)} documents/s`,
  );
  return { update, note, stop: () => void (stream.isTTY && stream.write(CLEAR_LINE)) };
}

/** Progress of a download. */
export function startBytes(stream: Stream): ByteProgress {
  const perSecond = startRate();
  let bytes = 0;
  const show = startLine(
    stream,
    BYTES_EVERY_MS,
    () => `${(bytes / 1e6).toFixed(1)} MB, ${(perSecond(bytes) / 1e6).toFixed(0)} MB/s`,
  );
  return {
    get bytes() {
      return bytes;
    },
    add(more) {
      bytes += more;
      show();
    },
    stop: () => void (stream.isTTY && stream.write('\n')),
  };
}

function startBar(stream: Stream, total: number, format: string): SingleBar {
  const bar = new SingleBar({
    stream,
    format,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    // The longest line fits into 80 columns.
    barsize: 20,
    // The state of the terminal is not changed, so nothing must be restored after a signal; the caller handles signals.
    hideCursor: false,
    linewrap: true,
    gracefulExit: false,
  });
  bar.start(total, 0, { rate: '-', left: '-', documents: '0' });
  return bar;
}

/** Writes the text of `textOf`, at most once per interval. */
function startLine<A extends unknown[]>(
  stream: Stream,
  { terminal, plain }: Intervals,
  textOf: (...args: A) => string,
): (...args: A) => void {
  return throttled(stream.isTTY ? terminal : plain, (...args: A) => {
    if (stream.isTTY) stream.write(`${CLEAR_LINE}${textOf(...args)}`);
    else line(stream, textOf(...args));
  });
}

/** Mean rate since the start. */
function startRate(): (done: number) => number {
  const startedAtMs = performance.now();
  return (done) => (done * 1000) / Math.max(1, performance.now() - startedAtMs);
}

const timeLeft = (missing: number, perSecond: number): string =>
  perSecond === 0 ? '-' : duration(missing / perSecond);
