// Recall against rate of an engine over its settings, and the rate at a given recall. Times are CPU time.
import { K, type Setting, type VectorEngine } from './vector-engine.js';
import { ownCpuMs } from './server-usage.js';

export interface CurvePoint extends Setting {
  readonly recall: number;
  /** Queries per second of CPU time, the best of PASSES passes. */
  qps: number;
}

/** An engine with its results. */
export interface Curve extends Pick<VectorEngine, 'name' | 'buildRate' | 'bytesAVector'> {
  readonly points: readonly CurvePoint[];
}

const PASSES = 5;

type Swept = Pick<VectorEngine, 'settings' | 'search'>;

/**
 * Measures all engines. `truth` has the ordinals of the K nearest for each query. Engines take turns, so that other
 * work on the machine slows all alike.
 */
export function measureCurves(engines: readonly VectorEngine[], truth: readonly ArrayLike<number>[]): Curve[] {
  const swept = sweepAll(engines, truth);
  return engines.map(({ name, buildRate, bytesAVector }, i) => ({
    name,
    buildRate,
    bytesAVector,
    points: swept[i] as CurvePoint[],
  }));
}

export const sweep = (engine: Swept, truth: readonly ArrayLike<number>[]): CurvePoint[] =>
  sweepAll([engine], truth)[0] as CurvePoint[];

function sweepAll(engines: readonly Swept[], truth: readonly ArrayLike<number>[]): CurvePoint[][] {
  const points = engines.map(({ settings, search }) =>
    settings.map((setting) => {
      const found = truth.map((wanted, query) => shareFound(wanted, search(query, setting)));
      return { ...setting, recall: found.reduce((sum, share) => sum + share, 0) / truth.length, qps: 0 };
    }),
  );
  for (let pass = 0; pass < PASSES; pass++) {
    for (const [i, { search }] of engines.entries())
      for (const point of points[i] as CurvePoint[])
        point.qps = Math.max(point.qps, rateOf(search, point, truth.length));
  }
  return points;
}

/** Queries per second of one pass through all queries, after a pass for warming up. */
function rateOf(search: Swept['search'], setting: Setting, queries: number): number {
  search(0, setting);
  const startedAt = ownCpuMs();
  for (let query = 0; query < queries; query++) search(query, setting);
  return (queries / (ownCpuMs() - startedAt)) * 1000;
}

function shareFound(wanted: ArrayLike<number>, found: ArrayLike<number>): number {
  const near = new Set(Array.from(wanted).slice(0, K));
  return (
    Array.from(found)
      .slice(0, K)
      .filter((ordinal) => near.has(ordinal)).length / near.size
  );
}

/**
 * The rate at a recall, interpolated logarithmically between two points; a faster point with more recall counts too.
 * NaN outside the curve.
 */
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

/** True if no other point lies between the two in recall: interpolating across another point would be wrong. */
function isNext(points: readonly CurvePoint[], below: CurvePoint, above: CurvePoint): boolean {
  return !points.some(({ recall }) => recall > below.recall && recall < above.recall);
}

export const largestRecall = (points: readonly CurvePoint[]): number => Math.max(...points.map(({ recall }) => recall));
