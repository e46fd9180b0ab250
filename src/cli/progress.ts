// Progress of an ingest: a bar with rate and time left on a terminal, else a plain line now and then. Called by ingest.ts;
// the only file that knows cli-progress.
import { SingleBar } from 'cli-progress';
import { count, duration, line, type Stream } from './output.js';

export interface Progress {
  /** `done` files of the total are dealt with. */
  update(done: number): void;
  stop(): void;
}

const PLAIN_LINE_EVERY_MS = 2000;

export function startProgress(stream: Stream, total: number): Progress {
  return stream.isTTY ? startBar(stream, total) : startLines(stream, total);
}

function startBar(stream: Stream, total: number): Progress {
  const startedAtMs = performance.now();
  const bar = new SingleBar({
    stream,
    format: '{bar} {value}/{total} files  {rate} files/s  {left} left',
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 30,
    // Nothing of the terminal's state is changed, so there is nothing to restore after a signal: those are the caller's.
    hideCursor: false,
    linewrap: true,
    gracefulExit: false,
  });
  bar.start(total, 0, { rate: '-', left: '-' });
  return { update: (done) => bar.update(done, pace(done, total, startedAtMs)), stop: () => bar.stop() };
}

function startLines(stream: Stream, total: number): Progress {
  const startedAtMs = performance.now();
  let saidAtMs = startedAtMs;
  const update = (done: number): void => {
    if (performance.now() - saidAtMs < PLAIN_LINE_EVERY_MS) return;
    saidAtMs = performance.now();
    const { rate, left } = pace(done, total, startedAtMs);
    line(stream, `${done} of ${count(total, 'file')}, ${rate} files/s, ${left} left`);
  };
  return { update, stop: () => {} };
}

/** Rate and time left as texts, by the mean since the start. */
export function pace(done: number, total: number, startedAtMs: number): { rate: string; left: string } {
  const perSecond = (done * 1000) / Math.max(1, performance.now() - startedAtMs);
  return { rate: perSecond.toFixed(perSecond < 10 ? 1 : 0), left: done === 0 ? '-' : duration((total - done) / perSecond) };
}
