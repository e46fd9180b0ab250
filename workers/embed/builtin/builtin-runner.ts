// The built-in embedder as a runner: long input in slices, between which the messages that have arrived meanwhile get
// their turn. Called by runners.ts; embed worker only.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Runner } from '../runner.js';
import { loadBuiltinEmbedder } from './builtin-embedder.js';

/** Characters a slice: about 2 ms of work (load/embed-rate). */
const SLICE_CHARACTERS = 32_768;

export function createBuiltinRunner(): Runner {
  const embedder = loadBuiltinEmbedder();
  const { dim } = embedder;
  return {
    dim,
    isTruncated: () => false,
    async embed(texts, _purpose, isCancelled) {
      const vectors = new Float32Array(texts.length * dim);
      for (let from = 0; from < texts.length && !isCancelled(); ) {
        const to = endOfSlice(texts, from);
        vectors.set(embedder.embed(texts.slice(from, to)), from * dim);
        from = to;
        if (from < texts.length) await nextTurn();
      }
      return { vectors, truncated: new Uint8Array(texts.length) };
    },
  };
}

function endOfSlice(texts: readonly string[], from: number): number {
  let characters = 0;
  let to = from;
  while (to < texts.length && characters < SLICE_CHARACTERS) characters += (texts[to++] as string).length;
  return to;
}
