// Recall against rate of an engine, swept over its settings, and what the curve says at a given recall.
// The clock is that of CPU time. Used by load/vectors.ts.
import { K, type Setting, type VectorEngine } from './vector-engines.js';
import { cpuMs } from './word-peers.js';

export interface CurvePoint extends Setting {
  readonly recall: number;
  /** Queries a second of CPU time, the best of PASSES passes: the machine may be doing other things. */
  readonly qps: number;
}

/** An engine with what it reached. */
export interface Curve extends Pick<VectorEngine, 'name' | 'buildRate' | 'bytesAVector'> {
  readonly points: readonly CurvePoint[];
}

const PASSES = 3;

export function curveOf({ name, buildRate, bytesAVector, ...engine }: VectorEngine, truth: readonly ArrayLike<number>[]): Curve {
  return { name, buildRate, bytesAVector, points: sweep(engine, truth) };
}

/** `truth`: for each query the ordinals of its K nearest. */
export function sweep(engine: Pick<VectorEngine, 'settings' | 'search'>, truth: readonly ArrayLike<number>[], settings = engine.settings): CurvePoint[] {
  return settings.map((setting) => {
    const recall = truth.reduce((sum, wanted, query) => sum + shareFound(wanted, engine.search(query, setting)), 0) / truth.length;
    const passes = Array.from({ length: PASSES }, () => {
      const startedAt = cpuMs();
      for (let query = 0; query < truth.length; query++) engine.search(query, setting);
      return cpuMs() - startedAt;
    });
    return { ...setting, recall, qps: (truth.length / Math.min(...passes)) * 1000 };
  });
}

function shareFound(wanted: ArrayLike<number>, found: ArrayLike<number>): number {
  const near = new Set(Array.from(wanted).slice(0, K));
  return Array.from(found).slice(0, K).filter((ordinal) => near.has(ordinal)).length / near.size;
}

/** The rate at a recall: between two points the logarithm runs straight; a faster point of more recall counts too. NaN beyond the curve. */
export function qpsAt(points: readonly CurvePoint[], recall: number): number {
  const rates = points.filter((point) => point.recall >= recall).map(({ qps }) => qps);
  for (const below of points.filter((point) => point.recall < recall)) {
    for (const above of points.filter((point) => point.recall > recall && point.qps < below.qps)) {
      const share = (recall - below.recall) / (above.recall - below.recall);
      if (isNext(points, below, above)) rates.push(below.qps * (above.qps / below.qps) ** share);
    }
  }
  return rates.length > 0 ? Math.max(...rates) : NaN;
}

/** True when no other point lies between the two in recall: a line across one would flatter the curve or hide it. */
function isNext(points: readonly CurvePoint[], below: CurvePoint, above: CurvePoint): boolean {
  return !points.some(({ recall }) => recall > below.recall && recall < above.recall);
}

export const largestRecall = (points: readonly CurvePoint[]): number => Math.max(...points.map(({ recall }) => recall));
