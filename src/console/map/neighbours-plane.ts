// A plane in which neighbours stay neighbours, by UMAP (McInnes, Healy, Melville 2018, arXiv:1802.03426; umap-js). The
// layout is made in steps, so that the page goes on meanwhile.
import { UMAP } from 'umap-js';
import { createPrng } from '../../base/prng.js';

const NEIGHBOURS = 15;
const MIN_DISTANCE = 0.15;
/** Fewer points have no layout of neighbours. */
export const POINTS_MIN = 8;
const SEED = 7;
/** The page is drawn between two turns of so long. */
const TURN_MS = 12;

/**
 * Lays out rows of `dim` numbers and calls `moved` with x and y of each, interleaved, again and again until the layout
 * has settled. Ends early when the signal is aborted.
 */
export async function layOut(
  rows: Float32Array,
  dim: number,
  moved: (points: Float32Array) => void,
  signal: AbortSignal,
): Promise<void> {
  const length = rows.length / dim;
  const vectors = Array.from({ length }, (_, i) => Array.from(rows.subarray(i * dim, (i + 1) * dim)));
  const prng = createPrng(SEED);
  const umap = new UMAP({
    nNeighbors: Math.min(NEIGHBOURS, length - 1),
    minDist: MIN_DISTANCE,
    random: () => prng.next(),
  });
  await pause();
  const epochs = umap.initializeFit(vectors);
  for (let epoch = 0; epoch < epochs && !signal.aborted; ) {
    for (const untilMs = performance.now() + TURN_MS; epoch < epochs && performance.now() < untilMs; epoch++)
      umap.step();
    moved(Float32Array.from(umap.getEmbedding().flat()));
    await pause();
  }
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));
