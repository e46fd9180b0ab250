// Draws the points of the map: a colour a document, hits of the query large and ringed.
// Called by point-map.tsx whenever something has changed.
import { docidOf } from '../plain/chunk-ids.js';

interface Picture {
  /** x, y of each in px. */
  readonly places: Float32Array;
  readonly ids: readonly string[];
  readonly marked: ReadonlySet<string>;
  readonly chosen: number | undefined;
}

const MARGIN_PX = 20;
const HUES = 360;

/** Points to px, so that all are seen and neither axis is stretched against the other. */
export function placesOf(points: Float32Array, width: number, height: number): Float32Array {
  const xs = points.filter((_, i) => i % 2 === 0);
  const ys = points.filter((_, i) => i % 2 === 1);
  const [minX, maxX, minY, maxY] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const scale = Math.min((width - 2 * MARGIN_PX) / (maxX - minX || 1), (height - 2 * MARGIN_PX) / (maxY - minY || 1));
  const [left, top] = [(width - (maxX + minX) * scale) / 2, (height + (maxY + minY) * scale) / 2];
  return points.map((value, i) => (i % 2 === 0 ? left + value * scale : top - value * scale));
}

export function drawPoints(canvas: HTMLCanvasElement, { places, ids, marked, chosen }: Picture): void {
  const ratio = devicePixelRatio;
  canvas.width = canvas.clientWidth * ratio;
  canvas.height = canvas.clientHeight * ratio;
  const pen = canvas.getContext('2d') as CanvasRenderingContext2D;
  pen.scale(ratio, ratio);
  const ink = getComputedStyle(canvas).color;
  const dot = (i: number, radius: number, isRinged: boolean): void => {
    pen.beginPath();
    pen.arc(places[i * 2] as number, places[i * 2 + 1] as number, radius, 0, 2 * Math.PI);
    pen.fillStyle = `hsl(${hueOf(ids[i] as string)} 62% 52%)`;
    pen.fill();
    pen.strokeStyle = ink;
    if (isRinged) pen.stroke();
  };
  pen.globalAlpha = marked.size > 0 ? 0.35 : 0.85;
  for (const [i] of ids.entries()) dot(i, 4, false);
  pen.globalAlpha = 1;
  for (const [i, id] of ids.entries()) if (marked.has(id)) dot(i, 6, true);
  if (chosen !== undefined && chosen < ids.length) dot(chosen, 8, true);
}

/** The same for all chunks of a document. */
function hueOf(rid: string): number {
  let sum = 7;
  for (const character of docidOf(rid)) sum = (sum * 31 + character.charCodeAt(0)) % 65_521;
  return (sum * 137) % HUES;
}
