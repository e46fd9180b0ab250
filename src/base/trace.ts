// The event of a finished request, the phases of its work, and the interface of tracing: a trace for each request, which
// takes the event when the request is over and is named to the machines that are called for it. A tracer exists only
// where tracing is configured; the terms are those of W3C Trace Context.

/** As they follow each other, in a search and in an ingest. */
export const PHASES = ['prepare', 'embed', 'filter', 'search', 'hydrate', 'rerank', 'store'] as const;
/** Side by side within the phase `search`. */
export const PHASES_WITHIN_SEARCH = ['vector_search', 'lexical_search'] as const;

type PhaseName = (typeof PHASES | typeof PHASES_WITHIN_SEARCH)[number];

/**
 * How long the phases of some work took, in milliseconds by `<phase>_ms`. They follow each other; `startedAtMs` is by
 * performance.now().
 */
export interface Phases {
  readonly startedAtMs: number;
  readonly timing: { readonly [P in PhaseName as `${P}_ms`]?: number | undefined };
}

/**
 * How a request ended: with a reply handed over in full, with the client gone before that, cut off for a stalled body,
 * or by a failure after the reply had begun.
 */
export type RequestOutcome = 'answered' | 'aborted' | 'body_timeout' | 'failed';

/** One finished request, for the log, the metrics and its trace. */
export interface RequestEvent {
  readonly id: string;
  /** OTHER stands for every method that is not in use: clients may invent as many as they like. */
  readonly method: string;
  /** Path template of the route; '' where none was found. */
  readonly route: string;
  /** 0 when the client was gone before a reply was made. */
  readonly status: number;
  readonly latencyMs: number;
  /** Name of who called; '' before authentication. */
  readonly actor: string;
  /** Of the path; '' where it has none, or who called is not known. */
  readonly tenant: string;
  /** Bytes of the reply's body. */
  readonly bytes: number;
  readonly outcome: RequestOutcome;
  /** Takes its time by nature: an archive, or a streamed reply. */
  readonly isLong: boolean;
  /** Of an error. */
  readonly code?: string;
  /** Of a search or an ingest that succeeded. */
  readonly phases?: Phases;
  readonly traceId?: string;
}

export interface RequestTrace {
  /** 32 hexadecimal digits. */
  readonly id: string;
  /** Header for calls of other machines. */
  readonly traceparent: string;
  /** Once, when the request is over. */
  end(event: RequestEvent): void;
}

export interface Tracer {
  /** Goes on with the trace of the caller, where its headers name one. `startedAtMs` is by performance.now(). */
  begin(header: (name: string) => string, startedAtMs: number): RequestTrace;
  /** Sends what waits. Never rejects. */
  close(): Promise<void>;
}

/** Adds the milliseconds of `work` to its phase, whether it succeeds or not. */
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
