// Charts as SVG: lines and bars on two axes, with a legend. Pure.
import type { Curve } from './recall-curve.js';

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
const GRID = '#dbdee4';
const INK = '#54555a';
const LEGEND_LINE_PX = 20;
/** Approximate number of ticks on a numeric axis. */
const TICKS = 7;
/** Share of a label's space that its bars take, and share of a bar's space that the bar takes. */
const [BARS_SHARE, BAR_SHARE] = [0.8, 0.9];
/** Charts with more bars have no numbers above them. */
const NUMBERED_BARS_MAX = 16;

interface Series {
  readonly name: string;
  readonly points: readonly { x: number | string; y: number }[];
}

/** x is a number in line charts, and the label of one bar per series in bar charts. */
export interface Chart {
  readonly title: string;
  readonly kind: 'line' | 'bar';
  /** Labels of the axes. */
  readonly x: string;
  readonly y: string;
  readonly series: readonly Series[];
}

export const escapedXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

interface Axis {
  readonly name: string;
  /** Position of a value on the axis, from 0 to 1. */
  readonly share: (value: number) => number;
  readonly ticks: readonly { value: number; label: string }[];
}

interface Frame {
  readonly title: string;
  readonly width: number;
  readonly height: number;
  /** Edges of the plot in pixels from the left and from the top. */
  readonly plot: { left: number; right: number; top: number; bottom: number };
  readonly x: Axis;
  readonly y: Axis;
  readonly legend: { left: number; top: number; names: readonly string[] };
}

/** Draws a chart; several series get a legend. */
export function chartSvg(chart: Chart): string {
  const names = chart.series.length > 1 ? chart.series.map(({ name }) => name) : [];
  const above = 70 + names.length * LEGEND_LINE_PX;
  const frame: Omit<Frame, 'x'> = {
    title: chart.title,
    width: 760,
    height: 340 + names.length * LEGEND_LINE_PX,
    plot: { left: 70, right: 730, top: above, bottom: above + 220 },
    y: linearAxis(chart.y, [0, ...chart.series.flatMap(({ points }) => points.map(({ y }) => y))]),
    legend: { left: 12, top: 46, names },
  };
  if (chart.kind === 'bar') return barChart(frame, chart);
  const numbered = chart.series.map(({ points }) => points.map(({ x, y }) => [Number(x), y] as const));
  const x = linearAxis(
    chart.x,
    numbered.flat().map(([value]) => value),
  );
  return svgOf({ ...frame, x }, lines({ ...frame, x }, numbered));
}

function barChart(frame: Omit<Frame, 'x'>, { x: name, series }: Chart): string {
  const labels = [...new Set(series.flatMap(({ points }) => points.map(({ x }) => String(x))))];
  const share = (value: number): number => (value + 0.5) / labels.length;
  const whole: Frame = { ...frame, x: { name, share, ticks: labels.map((label, value) => ({ value, label })) } };
  const { left, right, bottom } = frame.plot;
  const room = ((right - left) / labels.length) * (BARS_SHARE / series.length);
  const isNumbered = labels.length * series.length <= NUMBERED_BARS_MAX;
  const bars = series.flatMap(({ points }, i) =>
    points.flatMap(({ x, y }) => {
      const middle = at(whole, labels.indexOf(String(x)), y);
      const centre = middle.x + (i - (series.length - 1) / 2) * room;
      const bar = `<rect x="${px(centre - (room * BAR_SHARE) / 2)}" y="${px(middle.y)}" width="${px(room * BAR_SHARE)}" height="${px(bottom - middle.y)}" fill="${colourOf(i)}"/>`;
      return isNumbered ? [bar, textAt(centre, middle.y - 8, String(Number(y.toPrecision(3))))] : [bar];
    }),
  );
  return svgOf(whole, bars);
}

const RECALLS = [0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999];
const [RECALL_MIN, RECALL_MAX] = [0.75, 0.9995];

/** Scales recall so that nines are equidistant; values above RECALL_MAX are drawn at the end. */
const nines = (recall: number): number => -Math.log10(1 - Math.min(RECALL_MAX, recall));

/**
 * Recall against rate, a line per engine: recall on the x axis, stretched towards 1, rate on a logarithmic y axis.
 * Points below the least recall shown are omitted.
 */
export function recallChart(title: string, curves: readonly Pick<Curve, 'name' | 'points'>[]): string {
  const shown = curves.map(({ points }) =>
    points
      .filter(({ recall }) => recall >= RECALL_MIN)
      .sort((a, b) => b.qps - a.qps)
      .map(({ recall, qps }) => [nines(recall), Math.log10(qps)] as const),
  );
  const powers = shown.flat().map(([, power]) => power);
  const first = powers.length > 0 ? Math.floor(Math.min(...powers)) : 0;
  const last = Math.max(first + 1, Math.ceil(Math.max(...powers)));
  const frame: Frame = {
    title,
    width: 860,
    height: 440,
    plot: { left: 80, right: 610, top: 50, bottom: 390 },
    x: {
      name: 'recall@10',
      share: shareBetween(nines(RECALL_MIN), nines(RECALL_MAX)),
      ticks: RECALLS.map((recall) => ({ value: nines(recall), label: String(recall) })),
    },
    y: {
      name: 'queries a second, one thread',
      share: shareBetween(first, last),
      ticks: Array.from({ length: last - first + 1 }, (_, i) => ({
        value: first + i,
        label: (10 ** (first + i)).toLocaleString('en-US'),
      })),
    },
    legend: { left: 630, top: 60, names: curves.map(({ name }) => name) },
  };
  return svgOf(frame, lines(frame, shown));
}

const shareBetween =
  (least: number, most: number) =>
  (value: number): number =>
    (value - least) / (most - least || 1);

/** An axis between round numbers. */
function linearAxis(name: string, values: readonly number[]): Axis {
  const known = values.filter(Number.isFinite);
  const [least, most] = known.length > 0 ? [Math.min(...known), Math.max(...known)] : [0, 1];
  const rough = (most - least || Math.abs(most) || 1) / TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) as number);
  const from = Math.floor(least / step);
  const to = Math.max(from + 1, Math.ceil(most / step));
  const ticks = Array.from({ length: to - from + 1 }, (_, i) => Number(((from + i) * step).toPrecision(12)));
  return {
    name,
    share: shareBetween(from * step, to * step),
    ticks: ticks.map((value) => ({ value, label: value.toLocaleString('en-US', { maximumSignificantDigits: 12 }) })),
  };
}

const px = (value: number): string => String(Number(value.toFixed(1)));
const colourOf = (series: number): string => COLOURS[series % COLOURS.length] as string;

function at({ plot, x, y }: Frame, ofX: number, ofY: number): { x: number; y: number } {
  return {
    x: plot.left + x.share(ofX) * (plot.right - plot.left),
    y: plot.bottom - y.share(ofY) * (plot.bottom - plot.top),
  };
}

const textAt = (x: number, y: number, text: string, how = 'text-anchor="middle"', turned = ''): string =>
  `<text transform="translate(${px(x)} ${px(y)})${turned}" ${how} dominant-baseline="central">${escapedXml(text)}</text>`;

function lines(frame: Frame, series: readonly (readonly (readonly [number, number])[])[]): string[] {
  return series.flatMap((points, i) => {
    const places = points.map(([x, y]) => at(frame, x, y));
    const path = places.map(({ x, y }) => `${px(x)},${px(y)}`).join(' ');
    const marks = places.map(({ x, y }) => `<circle cx="${px(x)}" cy="${px(y)}" r="3" fill="${colourOf(i)}"/>`);
    return [`<polyline points="${path}" fill="none" stroke="${colourOf(i)}" stroke-width="2"/>`, ...marks];
  });
}

/** `marks` are the elements drawn in the plot. */
function svgOf(frame: Frame, marks: readonly string[]): string {
  const { title, width, height, plot, x, y, legend } = frame;
  const { left, right, top, bottom } = plot;
  const line = (from: string, to: string, colour: string): string =>
    `<path d="M${from}L${to}" stroke="${colour}" fill="none"/>`;
  const upwards = y.ticks.flatMap(({ value, label }) => {
    const place = bottom - y.share(value) * (bottom - top);
    return [
      line(`${left} ${px(place)}`, `${right} ${px(place)}`, GRID),
      textAt(left - 8, place, label, 'text-anchor="end"'),
    ];
  });
  const along = x.ticks.map(({ value, label }) => textAt(left + x.share(value) * (right - left), bottom + 15, label));
  const names = legend.names.flatMap((name, i) => {
    const place = legend.top + i * LEGEND_LINE_PX;
    return [
      `<rect x="${legend.left}" y="${place - 5}" width="18" height="10" rx="2" fill="${colourOf(i)}"/>`,
      textAt(legend.left + 26, place, name, 'text-anchor="start"'),
    ];
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12" fill="${INK}">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    textAt(12, 20, title, 'text-anchor="start" font-size="15" font-weight="bold"'),
    ...upwards,
    line(`${left} ${bottom}`, `${right} ${bottom}`, INK),
    ...along,
    textAt((left + right) / 2, bottom + 36, x.name),
    textAt(16, (top + bottom) / 2, y.name, 'text-anchor="middle"', ' rotate(-90)'),
    ...names,
    ...marks,
    '</svg>\n',
  ].join('\n');
}
