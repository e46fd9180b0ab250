// What is counted of the calls of embedders and rerankers, by instance: the operator has configured how many there are.
// Part of the metrics (metrics.ts); front thread.
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Embedders } from '../embedding/embedders.js';
import type { EmbedCall } from '../pool/embed-observer.js';
import type { EmbedPool } from '../pool/embed-pool.js';
import { CounterFamily, HistogramFamily } from './metrics-families.js';

/** Half a millisecond to a minute: from the built-in embedder to an endpoint that is tried again. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const TEXTS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096];

/** Whether each instance answers, looked up when it is scraped. */
export function lookUpInstances(registry: Registry, embedders: Embedders): void {
  const help =
    'Whether the instance answers: 0 while its breaker is open, and before it has answered for the first time.';
  new Gauge({
    name: 'sheaf_embedder_usable',
    help,
    labelNames: ['embedder'],
    registers: [registry],
    collect() {
      for (const { key, state } of embedders.states()) this.set({ embedder: key }, state === 'usable' ? 1 : 0);
    },
  });
}

/** What the endpoints of instances were called for, as the thread that calls them counts it. */
export function lookUpEndpoints(registry: Registry, pool: EmbedPool): void {
  const labelNames = ['embedder'] as const;
  const told = [
    [
      Counter,
      'sheaf_endpoint_calls_total',
      'Calls of the endpoint of an embedder or reranker, each try by itself.',
      'calls',
    ],
    [
      Counter,
      'sheaf_endpoint_tokens_total',
      'Tokens spent there, as it counts them, else as they are estimated.',
      'tokens',
    ],
    [
      Counter,
      'sheaf_endpoint_refused_total',
      'Calls that were given up, because its budgets left no room for them in time.',
      'refused',
    ],
    [Counter, 'sheaf_endpoint_rests_total', 'Times it asked to be left alone for a while.', 'rests'],
    [Gauge, 'sheaf_endpoint_waiting', 'Calls that wait for a place or for the budgets.', 'waiting'],
  ] as const;
  for (const [Kind, name, help, cell] of told) {
    new Kind({
      name,
      help,
      labelNames,
      registers: [registry],
      collect() {
        this.reset();
        for (const { key, ...counts } of pool.endpoints()) this.inc({ embedder: key }, counts[cell]);
      },
    });
  }
}

export class EmbedderMetrics {
  private readonly seconds: HistogramFamily;
  private readonly texts: HistogramFamily;
  private readonly failures: CounterFamily;

  constructor(registry: Registry) {
    const labelNames = ['embedder', 'kind'];
    this.seconds = new HistogramFamily(registry, {
      labelNames,
      name: 'sheaf_embedder_call_seconds',
      help: 'Time of the calls of embedders (queries, documents) and rerankers (rerank), failed ones too.',
      bounds: SECONDS,
    });
    this.texts = new HistogramFamily(registry, {
      labelNames,
      name: 'sheaf_embedder_call_texts',
      help: 'Texts that a call which succeeded embedded or scored.',
      bounds: TEXTS,
    });
    this.failures = new CounterFamily(registry, {
      labelNames,
      name: 'sheaf_embedder_failures_total',
      help: 'Calls that failed, as a whole or for any of their documents.',
    });
  }

  /** A call is over. */
  called({ key, kind, texts, ms, failed }: EmbedCall): void {
    this.seconds.add(ms / 1000, key, kind);
    if (texts > 0) this.texts.add(texts, key, kind);
    this.failures.add(failed ? 1 : 0, key, kind);
  }

  reset(): void {
    for (const metric of [this.seconds, this.texts, this.failures]) metric.reset();
  }
}
