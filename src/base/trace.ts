// The event of a finished request, the phases of its work, and the tracing interface: a trace per request, which
// receives the event at the end, and whose context is passed to other services. A tracer exists only if tracing is
// configured. The terms are those of W3C Trace Context.

/** In the order in which they run, in a search and in an ingest. */
export const PHASES = ['prepare', 'embed', 'filter', 'search', 'hydrate', 'rerank', 'store'] as const;
/** These run concurrently within the phase `search`. */
export const PHASES_WITHIN_SEARCH = ['vector_search', 'lexical_search'] as const;

type PhaseName = (typeof PHASES | typeof PHASES_WITHIN_SEARCH)[number];

/** Durations of sequential phases, in milliseconds by `<phase>_ms`. `startedAtMs` is a value of performance.now(). */
export interface Phases {
  readonly startedAtMs: number;
  readonly timing: { readonly [P in PhaseName as `${P}_ms`]?: number | undefined };
}

/**
 * How a request ended: answered completely; aborted by the client before that; cut off because its body stalled; or
 * failed after the reply had begun.
 */
export type RequestEnd = 'answered' | 'aborted' | 'body_timeout' | 'failed';

/** A finished request, for the log, the metrics and its trace. */
export interface RequestEvent {
  readonly id: string;
  /** OTHER for unknown methods, so that clients cannot create arbitrary values. */
  readonly method: string;
  /** The path template of the route; '' if no route matched. */
  readonly route: string;
  /** 0 if the client disconnected before there was a reply. */
  readonly status: number;
  readonly latencyMs: number;
  /** The name of the actor; '' before authentication. */
  readonly actor: string;
  /** The tenant of the path; '' if there is none or the caller is not authenticated. */
  readonly tenant: string;
  /** Size of the body of the reply in bytes. */
  readonly bytes: number;
  readonly result: RequestEnd;
  /** True for requests that take long by nature, such as archives and streams; they are not logged as slow. */
  readonly isLong: boolean;
  /** The error code, if there was an error. */
  readonly code?: string;
  /** Present for a successful search or ingest. */
  readonly phases?: Phases;
  readonly traceId?: string;
}

export interface RequestTrace {
  /** The trace id: 32 hexadecimal digits. */
  readonly id: string;
  /** The header for calls to other services. */
  readonly traceparent: string;
  /** Must be called once, when the request ends. */
  end(event: RequestEvent): void;
}

export interface Tracer {
  /**
   * Begins a trace; continues the caller's trace if its headers name one. `startedAtMs` is a value of
   * performance.now().
   */
  begin(header: (name: string) => string, startedAtMs: number): RequestTrace;
  /** Sends the buffered spans. Never rejects. */
  close(): Promise<void>;
}

/** Adds the duration of `work` in milliseconds to the phase, whether it succeeds or fails. */
export async function timed<P extends string, T>(
  timing: Partial<Record<P, number>>,
  phase: P,
  work: () => Promise<T>,
): Promise<T> {
  const startedAtMs = performance.now();
  try {
    return await work();
  } finally {
    timing[phase] = (timing[phase] ?? 0) + performance.now() - startedAtMs;
  }
}
