// A chart of recall against rate as an SVG: recall to the right, stretched towards 1, the rate upwards in powers of ten, a line
// for each engine. Written by hand: forty lines of text need no library. Used by load/vectors.ts.
import type { CurvePoint } from './recall-curve.js';

export interface Curve {
  readonly name: string;
  readonly points: readonly CurvePoint[];
}

const WIDTH = 760;
const HEIGHT = 440;
const LEFT = 70;
const RIGHT = 190;
const BASE = HEIGHT - 50;
const TOP = 40;
const COLOURS = ['#0b6bcb', '#c8511b', '#2e7d32', '#7b1fa2', '#5d4037', '#00838f', '#ad1457', '#827717', '#37474f', '#ef6c00', '#4527a0'];
const RECALLS = [0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999];
const [RECALL_MIN, RECALL_MAX] = [0.75, 0.9995];

export function chartOf(title: string, curves: readonly Curve[]): string {
  const rates = curves.flatMap(({ points }) => points.map(({ qps }) => qps));
  const [low, high] = [Math.floor(Math.log10(Math.min(...rates))), Math.ceil(Math.log10(Math.max(...rates)))];
  const y = (qps: number): number => BASE - ((Math.log10(qps) - low) / (high - low || 1)) * (BASE - TOP);
  const powers = Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>${text(LEFT, 22, title, 'start', 15)}`,
    ...powers.map((qps) => `${line(LEFT, y(qps), WIDTH - RIGHT, y(qps))}${text(LEFT - 8, y(qps) + 4, qps.toLocaleString('en-US'), 'end')}`),
    ...RECALLS.map((recall) => `${line(x(recall), TOP, x(recall), BASE)}${text(x(recall), BASE + 18, String(recall), 'middle')}`),
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, 'recall@10'),
    `<g transform="rotate(-90 16 ${(BASE + TOP) / 2})">${text(16, (BASE + TOP) / 2, 'queries a second, one thread')}</g>`,
    ...curves.map((curve, i) => drawCurve(curve, i, y)),
    '</svg>',
  ].join('\n');
}

/** Nines stand at equal distances. */
function x(recall: number): number {
  const nines = (share: number): number => -Math.log10(1 - Math.min(RECALL_MAX, Math.max(RECALL_MIN, share)));
  return LEFT + ((nines(recall) - nines(RECALL_MIN)) / (nines(RECALL_MAX) - nines(RECALL_MIN))) * (WIDTH - RIGHT - LEFT);
}

function drawCurve({ name, points }: Curve, number: number, y: (qps: number) => number): string {
  const colour = COLOURS[number % COLOURS.length]!;
  const shown = points.filter(({ recall }) => recall >= RECALL_MIN).sort((a, b) => b.qps - a.qps);
  const path = shown.map(({ recall, qps }) => `${x(recall).toFixed(1)},${y(qps).toFixed(1)}`).join(' ');
  const dots = shown.map(({ recall, qps, ef }) => `<circle cx="${x(recall).toFixed(1)}" cy="${y(qps).toFixed(1)}" r="3" fill="${colour}"><title>${escaped(name)}, ef ${ef}: ${recall.toFixed(4)}, ${Math.round(qps)}</title></circle>`);
  const key = TOP + 10 + 20 * number;
  const label = `<rect x="${WIDTH - RIGHT + 14}" y="${key - 9}" width="10" height="10" fill="${colour}"/>${text(WIDTH - RIGHT + 30, key, name, 'start')}`;
  return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>${dots.join('')}${label}`;
}

const escaped = (words: string): string => words.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const text = (left: number, base: number, words: string, anchor = 'middle', size = 12): string => `<text x="${left.toFixed(1)}" y="${base.toFixed(1)}" text-anchor="${anchor}" font-size="${size}">${escaped(words)}</text>`;
const line = (x1: number, y1: number, x2: number, y2: number): string => `<path d="M${x1.toFixed(1)} ${y1.toFixed(1)}L${x2.toFixed(1)} ${y2.toFixed(1)}" stroke="#ddd"/>`;
