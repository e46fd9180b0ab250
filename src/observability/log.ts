// The log: pino, JSON lines on standard error, known by this file alone; and the lines of finished requests. A request
// has one where it was slow, where its turn has come, or where everything is logged; no line holds the text of a search
// or a key. Front thread.
import { pino } from 'pino';
import { roundTo } from '../base/numbers.js';
import type { Log } from '../base/log.js';
import type { RequestEvent } from '../base/trace.js';
import type { Config } from '../config/config.js';

/** Every so many-th request by share: no random number decides, so that a share of 0.1 is a tenth of any thousand. */
function createSampler(share: number): () => boolean {
  let credit = 0;
  return () => {
    credit += share;
    if (credit < 1) return false;
    credit -= 1;
    return true;
  };
}

/** What takes each request that is over: it is counted, and logged where it has a line. */
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
  outcome,
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
    outcome,
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

/** `level`: `log.level` of the configuration. */
export function createLogger(level: string): Log {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: 2, sync: true }),
  );
}
