// Progress of long work: a bar with rate and time left on a terminal, else a plain line now and then. Called by the
// commands that send files, stream documents or follow a job; the only file that knows cli-progress.
import { SingleBar } from 'cli-progress';
import { count, duration, line, throttled, type Stream } from './output.js';

export interface Progress {
  /** `done` of the total are dealt with. */
  update(done: number): void;
  stop(): void;
}

export interface Bar {
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

export function startBarOf(stream: Stream, total: number, format: string): Bar {
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
