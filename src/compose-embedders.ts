// Composes what embeds: the instances of the configuration, the threads that run them, and who chooses among them.
// Called by compose-context.ts at start; front thread.
import type { Log } from './base/log.js';
import type { Config } from './config-shape.js';
import { Embedders } from './embedding/embedders.js';
import { BUILTIN } from './embedding/spaces.js';
import { EmbedPool } from './pool/embed-pool.js';
import type { Context } from './service/context.js';

export function createEmbedders({ embedder, threads }: Config, log: Log): Pick<Context, 'embed' | 'embedders'> {
  const instances = [BUILTIN];
  const embed = new EmbedPool({ threads: threads.embed, embedders: instances.map(({ spec }) => spec), rerankers: [], log });
  return { embed, embedders: new Embedders({ instances, defaultSelector: embedder.default || BUILTIN.key, pool: embed }) };
}
