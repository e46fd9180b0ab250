// Charts of a report as SVG: lines and bars, with the legend above. Called by write-report.ts;
// pure but for the names that the drawing library counts up (kit/drawn-svg.ts).
import { drawnSvg } from '../kit/drawn-svg.js';
import type { Chart } from './report.js';

const SIZE = { width: 760, height: 340 };
/** Of a line of the legend: one below the other, as nothing here can measure text. */
const LEGEND_LINE = 20;

export function svgOf(chart: Chart): string {
  const legend = chart.series.length > 1 ? chart.series.length * LEGEND_LINE : 0;
  return drawnSvg(
    chart.title,
    { width: SIZE.width, height: SIZE.height + legend },
    {
      legend: { show: legend > 0, top: 36, left: 12, orient: 'vertical', itemGap: LEGEND_LINE - 14 },
      grid: { left: 70, right: 30, top: 70 + legend, bottom: 50 },
      xAxis: { ...xAxis(chart), name: chart.x, nameLocation: 'middle', nameGap: 30 },
      yAxis: { type: 'value', name: chart.y, min: 0 },
      series: chart.series.map((series) => ({ name: series.name, ...seriesOf(chart, series) })),
    },
  );
}

function xAxis({ kind, series }: Chart): object {
  if (kind === 'line') return { type: 'value', scale: true };
  return { type: 'category', data: labelsOf(series), axisLabel: { interval: 0 } };
}

function seriesOf({ kind, series }: Chart, { points }: Chart['series'][number]): object {
  if (kind === 'line') return { type: 'line', data: points.map(({ x, y }) => [x, y]) };
  const byLabel = new Map(points.map(({ x, y }) => [String(x), y]));
  return {
    type: 'bar',
    data: labelsOf(series).map((label) => byLabel.get(label) ?? null),
    label: {
      show: labelsOf(series).length * series.length <= 16,
      position: 'top',
      formatter: ({ value }: { value: number }) => String(Number(value.toPrecision(3))),
    },
  };
}

const labelsOf = (series: Chart['series']): string[] => [
  ...new Set(series.flatMap(({ points }) => points.map(({ x }) => String(x)))),
];
