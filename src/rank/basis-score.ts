// The score of a hit before its priority, out of what it was found by. Pure.
// Called by the shard workers for what hits tell.
import type { Basis } from '../contract/ranking.js';
import { fusedScore } from './fuse.js';

export function scoreOf(basis: Basis): number {
  if (basis.mode === 'hybrid') return fusedScore(basis.fusion, basis);
  return basis.mode === 'boost' ? basis.cosine + basis.boost : basis.cosine;
}
