// Preloaded into a server: its time of day is as many milliseconds off as the file CLOCK_OFFSET_FILE says, which may change
// while it runs. In every thread.
import { readFileSync } from 'node:fs';

const LOOK_MS = 50;
const file = process.env.CLOCK_OFFSET_FILE ?? '';
const RealDate = Date;
let offsetMs = 0;

function look(): void {
  try {
    offsetMs = Number(readFileSync(file, 'utf8')) || 0;
  } catch {
    // There is no file before the first jump.
  }
}

class JumpingDate extends RealDate {
  constructor(...given: unknown[]) {
    if (given.length === 0) super(RealDate.now() + offsetMs);
    else super(...(given as [number]));
  }

  static override now(): number {
    return RealDate.now() + offsetMs;
  }
}

look();
setInterval(look, LOOK_MS).unref();
globalThis.Date = JumpingDate as DateConstructor;
