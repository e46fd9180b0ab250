// What is counted of the calls of embedders and rerankers, by instance: the operator has configured how many there are.
// Part of the metrics (metrics.ts); front thread.
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Embedders } from '../embedding/embedders.js';
import type { EmbedCall } from '../pool/embed-observer.js';

/** Half a millisecond to a minute: from the built-in embedder to an endpoint that is tried again. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const TEXTS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096];
const LABELS = ['embedder', 'kind'] as const;

type Child = Readonly<{ seconds: { observe(seconds: number): void }; texts: { observe(texts: number): void }; failures: { inc(): void } }>;

/** Whether each instance answers, looked up when it is scraped. */
export function lookUpInstances(registry: Registry, embedders: Embedders): void {
  const help = 'Whether the instance answers: 0 while its breaker is open, and before it has answered for the first time.';
  new Gauge({ name: 'sheaf_embedder_usable', help, labelNames: ['embedder'], registers: [registry], collect() {
    for (const { key, state } of embedders.states()) this.set({ embedder: key }, state === 'usable' ? 1 : 0);
  } });
}

export class EmbedderMetrics {
  private readonly seconds: Histogram<(typeof LABELS)[number]>;
  private readonly texts: Histogram<(typeof LABELS)[number]>;
  private readonly failures: Counter<(typeof LABELS)[number]>;
  /** Resolving labels costs more than counting: each combination is resolved once. */
  private readonly children = new Map<string, Child>();

  constructor(registry: Registry) {
    const common = { labelNames: LABELS, registers: [registry] };
    this.seconds = new Histogram({ ...common, name: 'sheaf_embedder_call_seconds', help: 'Time of the calls of embedders (queries, documents) and rerankers (rerank), failed ones too.', buckets: SECONDS });
    this.texts = new Histogram({ ...common, name: 'sheaf_embedder_call_texts', help: 'Texts that a call which succeeded embedded or scored.', buckets: TEXTS });
    this.failures = new Counter({ ...common, name: 'sheaf_embedder_failures_total', help: 'Calls that failed, as a whole or for any of their documents.' });
  }

  /** A call is over. */
  called({ key, kind, texts, ms, failed }: EmbedCall): void {
    const child = this.childOf(key, kind);
    child.seconds.observe(ms / 1000);
    if (texts > 0) child.texts.observe(texts);
    if (failed) child.failures.inc();
  }

  reset(): void {
    for (const metric of [this.seconds, this.texts, this.failures]) metric.reset();
  }

  private childOf(key: string, kind: EmbedCall['kind']): Child {
    const known = this.children.get(`${kind} ${key}`);
    if (known) return known;
    const child: Child = { seconds: this.seconds.labels(key, kind), texts: this.texts.labels(key, kind), failures: this.failures.labels(key, kind) };
    this.children.set(`${kind} ${key}`, child);
    return child;
  }
}
