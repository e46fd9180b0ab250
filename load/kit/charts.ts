// A chart of recall against rate as an SVG: recall to the right, stretched towards 1, the rate upwards in powers of
// ten, a line for each engine. Used by load/vectors.ts.
import { drawnSvg } from './drawn-svg.js';
import type { Curve } from './recall-curve.js';

const SIZE = { width: 860, height: 440 };
const RECALLS = [0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999];
const [RECALL_MIN, RECALL_MAX] = [0.75, 0.9995];

/** Nines stand at equal distances; more than RECALL_MAX stands at the end. */
const nines = (recall: number): number => -Math.log10(1 - Math.min(RECALL_MAX, recall));

export function chartOf(title: string, curves: readonly Pick<Curve, 'name' | 'points'>[]): string {
  const marks = { customValues: RECALLS.map(nines) };
  return drawnSvg(title, SIZE, {
    legend: { right: 12, top: 50, orient: 'vertical' },
    grid: { left: 80, right: 250, top: 50, bottom: 50 },
    xAxis: {
      type: 'value',
      name: 'recall@10',
      nameLocation: 'middle',
      nameGap: 30,
      min: nines(RECALL_MIN),
      max: nines(RECALL_MAX),
      axisTick: marks,
      axisLabel: { ...marks, formatter: recallAt },
      splitLine: { show: true },
    },
    yAxis: { type: 'log', name: 'queries a second, one thread', nameLocation: 'middle', nameGap: 60 },
    series: curves.map(({ name, points }) => ({ type: 'line', name, data: lineOf(points) })),
  });
}

/** What does not reach the least recall shown is left out. */
function lineOf(points: Curve['points']): [number, number][] {
  const shown = points.filter(({ recall }) => recall >= RECALL_MIN).sort((a, b) => b.qps - a.qps);
  return shown.map(({ recall, qps }) => [nines(recall), qps]);
}

const recallAt = (place: number): string => String(Number((1 - 10 ** -place).toFixed(4)));
