// How a search in mode hybrid fuses its halves: what it says itself, for what it leaves out what the instance says,
// where that is of the same method, else the defaults. Pure. Called at start for the instance, and by the search use
// case.
import { FUSION_K_DEFAULT, FUSION_WEIGHTS_DEFAULT } from '../contract/limits.js';
import type { FusionSettings } from '../contract/api/search.js';
import type { FusionWeights } from '../contract/api/search.js';

export interface FusionWish {
  readonly method: 'rank' | 'score';
  readonly k?: number | null | undefined;
  readonly weights?: Readonly<FusionWeights> | null | undefined;
}

export function fusionSettings({ method, k, weights }: FusionWish, instance?: FusionSettings): FusionSettings {
  const same = instance?.method === method ? instance : undefined;
  const weighed = { ...(weights ?? same?.weights ?? FUSION_WEIGHTS_DEFAULT[method]) };
  if (method === 'score') return { method, weights: weighed };
  return { method, k: k ?? (same?.method === 'rank' ? same.k : FUSION_K_DEFAULT), weights: weighed };
}
