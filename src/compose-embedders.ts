// Composes what embeds: the instances of the configuration, the threads that run them, and who chooses among them.
// Called by compose-context.ts at start; front thread.
import type { Log } from './base/log.js';
import type { Config } from './config-shape.js';
import { Embedders } from './embedding/embedders.js';
import { QueryCache } from './embedding/query-cache.js';
import { Rerankers } from './embedding/rerankers.js';
import type { EmbedObserver } from './pool/embed-observer.js';
import { EmbedPool } from './pool/embed-pool.js';
import type { PoolMeters } from './pool/pool-meters.js';
import type { Context } from './service/context.js';

export function createEmbedders(
  { embedder, rerankers, threads }: Config,
  log: Log,
  observe: EmbedObserver,
  meters: PoolMeters,
): Pick<Context, 'embed' | 'embedders' | 'rerankers' | 'queryCache'> {
  const { instances, default: defaultSelector, cacheBytesMax } = embedder;
  const embed = new EmbedPool({
    threads: threads.embed,
    embedders: instances.map(({ spec }) => spec),
    rerankers: rerankers.map(({ spec }) => spec),
    log,
    observe,
    meters,
  });
  const embedders = new Embedders({ instances, defaultSelector, pool: embed, log });
  return { embed, embedders, rerankers: new Rerankers(rerankers, embed), queryCache: new QueryCache(cacheBytesMax) };
}
