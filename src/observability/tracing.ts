// Tracing by OpenTelemetry: a span per request with a child span per phase, sent by OTLP over HTTP as JSON. Loaded only
// if tracing is enabled. Phases are recorded when the request ends, so a request that is not sampled costs only the
// parsing of its header. Only this file uses OpenTelemetry. Runs on front threads and on the main thread.
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
  type Tracer as OtelTracer,
} from '@opentelemetry/api';
import { ExportResultCode, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type SpanExporter,
} from '@opentelemetry/sdk-trace';
import type { Log } from '../base/log.js';
import {
  PHASES,
  PHASES_WITHIN_SEARCH,
  type Phases,
  type RequestEvent,
  type RequestTrace,
  type Tracer,
} from '../base/trace.js';
import type { Config } from '../config/config.js';
import { SERVICE_VERSION } from '../api/common.js';

const BATCH_MAX = 512;
const SEND_EVERY_MS = 2000;
const CLOSE_WITHIN_MS = 3000;
const SAME_WARNING_MS = 60_000;

const propagator = new W3CTraceContextPropagator();
const HEADERS = {
  get: (header: (name: string) => string, name: string): string | undefined => header(name) || undefined,
  keys: (): string[] => propagator.fields(),
};
const INTO = {
  set: (headers: Record<string, string>, name: string, value: string): void => void (headers[name] = value),
};

export function createTracer(
  { endpoint, serviceName, sampleShare }: Config['tracing'],
  { spansWaitingMax, spansTimeoutMs }: Config['tuning'],
  log: Log,
): Tracer {
  const exporter = reporting(new OTLPTraceExporter({ url: endpoint, timeoutMillis: spansTimeoutMs }), log);
  const batches = {
    exporter,
    maxQueueSize: spansWaitingMax,
    maxExportBatchSize: Math.min(BATCH_MAX, spansWaitingMax),
    scheduledDelayMillis: SEND_EVERY_MS,
    exportTimeoutMillis: spansTimeoutMs,
  };
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': serviceName, 'service.version': SERVICE_VERSION }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampleShare) }),
    spanProcessors: [new BatchSpanProcessor(batches)],
  });
  const tracer = provider.getTracer('sheaf');
  return {
    begin: (header, startedAtMs) => begin(tracer, propagator.extract(ROOT_CONTEXT, header, HEADERS), startedAtMs),
    close: async () => {
      const late = new Promise<void>((resolve) => setTimeout(resolve, CLOSE_WITHIN_MS).unref());
      await Promise.race([provider.shutdown(), late]).catch((error: unknown) =>
        log.warn({ reason: String(error) }, 'the last spans were not sent'),
      );
    },
  };
}

/** Wraps an exporter, which drops spans silently, to log its failures, at most once a minute. */
function reporting(exporter: SpanExporter, log: Log): SpanExporter {
  let reportedAtMs = -Infinity;
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const nowMs = performance.now();
        if (result.code !== ExportResultCode.SUCCESS && nowMs - reportedAtMs > SAME_WARNING_MS) {
          reportedAtMs = nowMs;
          log.warn(
            { reason: result.error?.message, spans: spans.length },
            'spans could not be sent to tracing.endpoint',
          );
        }
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  };
}

/** Wall-clock time in milliseconds, which the library accepts for times in the past. */
const wallMs = (ms: number): number => performance.timeOrigin + ms;

function begin(tracer: OtelTracer, caller: Context, startedAtMs: number): RequestTrace {
  const span = tracer.startSpan('request', { kind: SpanKind.SERVER, startTime: wallMs(startedAtMs) }, caller);
  const own = trace.setSpan(caller, span);
  const headers: Record<string, string> = {};
  propagator.inject(own, headers, INTO);
  return {
    id: span.spanContext().traceId,
    traceparent: headers['traceparent'] ?? '',
    end: (request) => {
      if (span.isRecording()) tell(tracer, own, span, request);
      span.end(wallMs(performance.now()));
    },
  };
}

function tell(
  tracer: OtelTracer,
  own: Context,
  span: Span,
  { id, method, route, status, tenant, code, result, phases }: RequestEvent,
): void {
  const attributes: Attributes = {
    'http.request.method': method,
    'http.response.status_code': status,
    'sheaf.request_id': id,
    'sheaf.result': result,
  };
  if (route !== '') attributes['http.route'] = route;
  if (tenant !== '') attributes['sheaf.tenant'] = tenant;
  if (code !== undefined) attributes['error.type'] = code;
  span.updateName(route === '' ? method : `${method} ${route}`).setAttributes(attributes);
  // By convention, a client error is not an error of a server span.
  if (status >= 500 || result === 'failed')
    span.setStatus({ code: SpanStatusCode.ERROR, ...(code !== undefined && { message: code }) });
  if (phases) tellPhases(tracer, own, phases);
}

function tellPhases(tracer: OtelTracer, own: Context, { startedAtMs, timing }: Phases): void {
  let fromMs = wallMs(startedAtMs);
  for (const phase of PHASES) {
    const ms = timing[`${phase}_ms`];
    if (ms === undefined) continue;
    const within = child(tracer, own, phase, fromMs, ms);
    for (const part of phase === 'search' ? PHASES_WITHIN_SEARCH : []) {
      const partMs = timing[`${part}_ms`];
      if (partMs !== undefined) child(tracer, within, part, fromMs, partMs);
    }
    fromMs += ms;
  }
}

/** Returns the context of the span, for its children. */
function child(tracer: OtelTracer, below: Context, name: string, fromMs: number, ms: number): Context {
  const span = tracer.startSpan(name, { startTime: fromMs }, below);
  span.end(fromMs + ms);
  return trace.setSpan(below, span);
}
