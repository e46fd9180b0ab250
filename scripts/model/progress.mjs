// Progress of a download: on a terminal a bar with rate and time left, otherwise one line for each file.
import { SingleBar } from 'cli-progress';
import { duration } from '../../dist/src/cli/output.js';

/**
 * Options with which cli-progress changes no state of the terminal, so that a signal leaves nothing to restore. Lines
 * are cut to the terminal's width.
 */
const CALM = { hideCursor: false, linewrap: true, gracefulExit: false };
const UNITS = ['bytes', 'kB', 'MB', 'GB'];
const FORMAT = '{bar} {done} of {all}  {rate}/s  {left} left  {what}';

/** A size as text: `812 bytes`, `90.9 MB`. */
export function sizeText(bytes) {
  const unit = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  return `${(bytes / 1000 ** unit).toFixed(unit === 0 ? 0 : 1)} ${UNITS[unit]}`;
}

/** Shows nothing before `start`. `note` shows a line about a retry; the path of a file is shown until its `end`. */
export function startProgress(stream) {
  const show = stream.isTTY ? bar(stream) : lines(stream);
  let file;
  let ended = 0;
  return {
    start: (total, held) => show.start(total, held),
    begin: (next) => (file = next),
    at: (bytes) => show.at(ended + bytes, file),
    end: () => {
      ended += file.size;
      show.end(file);
    },
    note: show.note,
    stop: show.stop,
  };
}

function lines(stream) {
  const line = (text) => stream.write(`${text}\n`);
  return {
    start: () => {},
    at: () => {},
    end: ({ path, size }) => line(`${path}: ${sizeText(size)}`),
    note: line,
    stop: () => {},
  };
}

function bar(stream) {
  const single = new SingleBar({
    stream,
    format: FORMAT,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 16,
    ...CALM,
  });
  let isShown = false;
  let pace;
  const values = (done, what) => ({ ...pace(done), what });
  return {
    start: (total, held) => {
      pace = paceOf(total, held, performance.now());
      single.start(total, held, values(held, ''));
      isShown = true;
    },
    at: (done, file) => single.update(done, values(done, file.path)),
    end: () => {},
    note: (text) => (isShown ? single.update({ what: text }) : stream.write(`${text}\n`)),
    stop: () => isShown && single.stop(),
  };
}

/**
 * Texts for the bytes done and the time left, by the mean rate of this run. An earlier run has downloaded `held` bytes.
 */
function paceOf(total, held, startedAtMs) {
  return (done) => {
    const perSecond = (Math.max(0, done - held) * 1000) / Math.max(1, performance.now() - startedAtMs);
    return {
      done: sizeText(done),
      all: sizeText(total),
      rate: sizeText(perSecond),
      left: perSecond === 0 ? '-' : duration((total - done) / perSecond),
    };
  };
}
