// What is told of a request when it is over, for the log, the metrics and the trace. Called by exchange.ts once for
// each request, on the front thread.
import type { Answer } from './envelope.js';
import type { Head } from './head.js';
import type { Outcome, RequestEvent } from './options.js';
import type { Visit } from './visit.js';

/** `sent`: undefined where there was no reply. `streamedBytes`: of a reply that was streamed. */
export function requestEvent(
  visit: Visit,
  head: Head,
  sent: Answer | undefined,
  streamedBytes: number | undefined,
  outcome: Outcome,
): RequestEvent {
  const { id, route, actor, trace } = visit;
  return {
    id,
    method: head.loggedMethod,
    route: route.path,
    status: sent?.status ?? 0,
    latencyMs: visit.closing().latencyMs,
    actor: actor.name,
    // Whoever is not known may invent as many as they like.
    tenant: actor.name === '' ? '' : (visit.params.tenant ?? ''),
    bytes: streamedBytes ?? (head.isHead ? 0 : (sent?.body.length ?? 0)),
    outcome,
    isLong: route.isLong === true || streamedBytes !== undefined,
    ...(sent?.code !== undefined && { code: sent.code }),
    ...(sent?.phases && { phases: sent.phases }),
    ...(trace && { traceId: trace.id }),
  };
}
