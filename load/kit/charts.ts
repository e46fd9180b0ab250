// A chart of recall against rate as an SVG: recall to the right, stretched towards 1, the rate upwards in powers of
// ten, a line for each engine. Used by load/vectors.ts.
import { type EChartsOption, init } from 'echarts';
import type { Curve } from './recall-curve.js';

// A chart as SVG, drawn by ECharts without a browser, in the looks that all charts of the load programs have. Called by
// those that know what to draw; pure but for the names that ECharts counts up, so that several pictures can stand in
// one page.

const COLOURS = [
  '#0b6bcb',
  '#c8511b',
  '#2e7d32',
  '#7b1fa2',
  '#5d4037',
  '#00838f',
  '#ad1457',
  '#827717',
  '#37474f',
  '#ef6c00',
  '#4527a0',
];

export function drawnSvg(title: string, size: { width: number; height: number }, option: EChartsOption): string {
  const drawn = init(null, null, { renderer: 'svg', ssr: true, ...size });
  drawn.setOption({
    animation: false,
    backgroundColor: '#fff',
    color: COLOURS,
    textStyle: { fontFamily: 'sans-serif' },
    title: { text: title, left: 12, top: 8, textStyle: { fontSize: 15 } },
    ...option,
  });
  const svg = drawn.renderToSVGString();
  drawn.dispose();
  return svg;
}

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
