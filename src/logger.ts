// The logger: pino, JSON lines on standard error. Made by main once; everything else sees base/log's interface.
// The only file that knows pino; the level is `log.level` of the configuration.
import { pino } from 'pino';
import type { Log } from './base/log.js';

export function createLogger(level: string): Log {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: 2, sync: true }),
  );
}
