// The log: JSON lines on standard error by pino, which only this file uses; and the log lines of finished requests. A
// request is logged if it was slow, if it is sampled, or at level debug; no line contains the text of a search or a
// key. Runs on front threads and on the main thread.
import { pino } from 'pino';
import { roundTo } from '../base/numbers.js';
import type { Log } from '../base/log.js';
import type { RequestEvent } from '../base/trace.js';
import type { Config } from '../config/config.js';

/** Samples deterministically: a share of 0.1 selects exactly every tenth request of this thread. */
function createSampler(share: number): () => boolean {
  let credit = 0;
  return () => {
    credit += share;
    if (credit < 1) return false;
    credit -= 1;
    return true;
  };
}

/** Returns a function that counts each finished request, and logs it if it was slow or sampled, or at level debug. */
export function createRecorder(
  metrics: { finished(event: RequestEvent): void },
  { level, requestShare, slowMs }: Config['log'],
  log: Log,
): (event: RequestEvent) => void {
  const hasTurn = createSampler(requestShare);
  const isSlow = ({ latencyMs, isLong }: RequestEvent): boolean => slowMs > 0 && latencyMs > slowMs && !isLong;
  return (event) => {
    metrics.finished(event);
    if (isSlow(event)) log.warn(lineOf(event), 'slow request');
    else if (requestShare > 0 && hasTurn()) log.info(lineOf(event), 'request');
    else if (level === 'debug') log.debug(lineOf(event), 'request');
  };
}

function lineOf({
  id,
  method,
  route,
  status,
  latencyMs,
  actor,
  tenant,
  bytes,
  result,
  code,
  phases,
  traceId,
}: RequestEvent): Record<string, unknown> {
  return {
    requestId: id,
    method,
    route,
    status,
    code,
    result,
    bytes,
    latencyMs: roundTo(latencyMs, 3),
    actor: actor || undefined,
    tenant: tenant || undefined,
    traceId,
    phases:
      phases &&
      Object.fromEntries(
        Object.entries<number | undefined>(phases.timing).map(([phase, ms]) => [phase, roundTo(ms ?? 0, 3)]),
      ),
  };
}

/** `level` is `log.level` of the configuration. */
export function createLogger(level: string): Log {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: 2, sync: true }),
  );
}
