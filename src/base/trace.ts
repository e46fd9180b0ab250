// What the parts of the server need of tracing: one trace a request, told of its phases when it is over, and named to
// the machines that are called for it. The tracer itself (src/observability/tracing.ts) is there only where tracing is configured.
// Types and names; the terms are those of W3C Trace Context.

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

/** What a trace is told of its request. */
export interface TracedRequest {
  readonly id: string;
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly tenant: string;
  readonly code?: string | undefined;
  readonly outcome: string;
  readonly phases?: Phases | undefined;
}

export interface RequestTrace {
  /** 32 hexadecimal digits. */
  readonly id: string;
  /** Header for calls of other machines. */
  readonly traceparent: string;
  /** Once, when the request is over. */
  end(request: TracedRequest): void;
}

export interface Tracer {
  /** Goes on with the trace of the caller, where its headers name one. `startedAtMs` is by performance.now(). */
  begin(header: (name: string) => string, startedAtMs: number): RequestTrace;
  /** Sends what waits. Never rejects. */
  close(): Promise<void>;
}

// Measures how long the phases of some work take, each by its name. Pure but for the clock.
// Used by the use cases of searches and ingests, on the front thread.

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
