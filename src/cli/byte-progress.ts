// Progress of a download: bytes and rate, in one line of a terminal, else a plain line now and then.
// Called by archive.ts.
import { line, throttled, type Stream } from './output.js';

export interface ByteProgress {
  readonly bytes: number;
  add(bytes: number): void;
  stop(): void;
}

const TERMINAL_EVERY_MS = 200;
const PLAIN_EVERY_MS = 5000;

export function startBytes(stream: Stream): ByteProgress {
  const startedAtMs = performance.now();
  let bytes = 0;
  const say = throttled(stream.isTTY ? TERMINAL_EVERY_MS : PLAIN_EVERY_MS, (): void => {
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
