// The shared model, all-MiniLM-L6-v2, as the default embedder of a server; and texts that no cache has seen. Used by
// the load programs that search through the model.
import { resolve } from 'node:path';
import { dataFolder } from './data.js';
import type { Settings } from './server.js';

/** Settings of a server with the model; undefined, said once, where it is absent. */
export function modelSettings(): Settings | undefined {
  const folder = dataFolder('model-minilm-l6');
  return folder === undefined ? undefined : { SHEAF_EMBEDDER__MODEL: resolve(folder) };
}

/** Texts without end, as long as the queries and no two the same: each is a query with one word of another in it. */
export function* variantsOf(queries: readonly string[]): Generator<string, never> {
  const words = [...new Set(queries.flatMap((query) => query.split(' ')))];
  const seen = new Set<string>(queries);
  for (let n = 0; ; n++) {
    const own = (queries[n % queries.length] as string).split(' ');
    const round = Math.floor(n / queries.length);
    own[round % own.length] = words[(round * 31 + n) % words.length] as string;
    const text = own.join(' ');
    // Some thousand rounds later the same may come again.
    const told = seen.has(text) ? `${text} ${round}` : text;
    seen.add(told);
    yield told;
  }
}
