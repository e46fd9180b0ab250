// Points on a canvas. The chunk under the pointer, or chosen by the arrow keys, is named below; a click or Enter opens
// it.
import type { RefObject } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { docidOf } from '../address.js';
import { type At, sampleVectors, search } from '../api.js';
import { ErrorNote } from '../components.tsx';
import { counted } from '../format.js';
import { useLoaded } from '../hooks.js';
import { chunkLink, isSystemDark, theme } from '../state.js';
import { principalPlane, vectorsOf } from './projection.js';

// Draws the points of the map: one colour per document, hits of the query large and ringed.

interface Picture {
  /** x and y of each point in px. */
  readonly places: Float32Array;
  readonly ids: readonly string[];
  readonly marked: ReadonlySet<string>;
  readonly chosen: number | undefined;
}

const MARGIN_PX = 20;
const HUES = 360;

/** Scales points to px so that all are visible, with the same scale on both axes. */
function placesOf(points: Float32Array, width: number, height: number): Float32Array {
  const xs = points.filter((_, i) => i % 2 === 0);
  const ys = points.filter((_, i) => i % 2 === 1);
  const [minX, maxX, minY, maxY] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const scale = Math.min((width - 2 * MARGIN_PX) / (maxX - minX || 1), (height - 2 * MARGIN_PX) / (maxY - minY || 1));
  const [left, top] = [(width - (maxX + minX) * scale) / 2, (height + (maxY + minY) * scale) / 2];
  return points.map((value, i) => (i % 2 === 0 ? left + value * scale : top - value * scale));
}

function drawPoints(canvas: HTMLCanvasElement, { places, ids, marked, chosen }: Picture): void {
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

/** The hue of a document, the same for all its chunks. */
function hueOf(rid: string): number {
  let sum = 7;
  for (const character of docidOf(rid)) sum = (sum * 31 + character.charCodeAt(0)) % 65_521;
  return (sum * 137) % HUES;
}

// Picks a point: the one under the pointer, or the next one in the direction of an arrow key. Pure. Places hold x and y
// of each point in px.

/** The nearest point, or undefined if none is within `reach`. */
function nearestTo(places: Float32Array, x: number, y: number, reach: number): number | undefined {
  let best: number | undefined;
  let least = reach;
  for (let i = 0; i < places.length / 2; i++) {
    const distance = Math.hypot((places[i * 2] as number) - x, (places[i * 2 + 1] as number) - y);
    if (distance < least) [best, least] = [i, distance];
  }
  return best;
}

const DIRECTIONS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/**
 * The nearest point within a right angle around the direction, or the first point if none is chosen. Undefined for
 * other keys and at the edge.
 */
function nextInDirection(places: Float32Array, from: number | undefined, key: string): number | undefined {
  const direction = DIRECTIONS[key];
  if (!direction || places.length === 0) return undefined;
  if (from === undefined) return 0;
  let best: number | undefined;
  let least = Infinity;
  for (let i = 0; i < places.length / 2; i++) {
    const [dx, dy] = [
      (places[i * 2] as number) - (places[from * 2] as number),
      (places[i * 2 + 1] as number) - (places[from * 2 + 1] as number),
    ];
    const along = dx * direction[0] + dy * direction[1];
    const distance = Math.hypot(dx, dy);
    if (i !== from && along > 0 && along >= distance * Math.SQRT1_2 && distance < least) [best, least] = [i, distance];
  }
  return best;
}

interface Props {
  /** x and y of each point. */
  readonly points: Float32Array;
  readonly ids: readonly string[];
  readonly marked: ReadonlySet<string>;
  readonly query: string;
}

const REACH_PX = 24;

function PointMap(props: Props) {
  const { ids, query } = props;
  const [chosen, setChosen] = useState<number>();
  const { canvas, places } = useDrawn(props, chosen);
  const linkOf = (i: number) => chunkLink(ids[i] as string, query);
  const pressed = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && chosen !== undefined) location.hash = linkOf(chosen);
    const next = nextInDirection(places.current, chosen, event.key);
    if (next === undefined) return;
    event.preventDefault();
    setChosen(next);
  };
  const words = `Map of ${ids.length} chunks. Arrow keys move from chunk to chunk, Enter opens one.`;
  return (
    <>
      <canvas
        ref={canvas}
        class="map"
        tabIndex={0}
        role="application"
        aria-label={words}
        onKeyDown={pressed}
        onPointerMove={({ offsetX, offsetY }) => setChosen(nearestTo(places.current, offsetX, offsetY, REACH_PX))}
        onClick={() => chosen !== undefined && (location.hash = linkOf(chosen))}
      />
      <p role="status">
        {chosen === undefined ? (
          <span class="faint">Point at a chunk to see which it is.</span>
        ) : (
          <a href={linkOf(chosen)}>{ids[chosen]}</a>
        )}
      </p>
    </>
  );
}

/** Draws the points. `places` are the positions on the canvas in px, which change with its size. */
function useDrawn(
  { points, ids, marked }: Props,
  chosen: number | undefined,
): { canvas: RefObject<HTMLCanvasElement>; places: { current: Float32Array } } {
  const canvas = useRef<HTMLCanvasElement>(null);
  const places = useRef<Float32Array>(new Float32Array());
  useEffect(() => {
    const element = canvas.current as HTMLCanvasElement;
    const draw = () => {
      places.current = placesOf(points, element.clientWidth, element.clientHeight);
      drawPoints(element, { places: places.current, ids, marked, chosen });
    };
    const watch = new ResizeObserver(draw);
    watch.observe(element);
    return () => watch.disconnect();
  }, [points, marked, chosen, theme.value, isSystemDark.value]);
  return { canvas, places };
}

// The embedding map: a sample of the collection's vectors, projected to their first two principal components. Hits of a
// query can be shown on it.

const SAMPLE = 500;
/** Number of hits that are looked up in the sample. */
const HITS_K = 20;

export function MapView(at: At) {
  const [query, setQuery] = useState('');
  const { value, error, isLoading } = useLoaded(`${at.tenant}/${at.collection}`, (signal) =>
    sampleVectors(at, SAMPLE, signal),
  );
  const hits = useLoaded(`${at.tenant}/${at.collection}/${query}`, async (signal) =>
    query ? (await search(at, { q: query, k: HITS_K }, signal)).matches.map(({ id }) => id) : [],
  );
  const marked = useMemo(() => new Set(hits.value ?? []), [hits.value]);
  const plane = useMemo(() => value && principalPlane(vectorsOf(value), value.dim), [value]);
  const ids = value?.vectors.map(({ rid }) => rid) ?? [];
  return (
    <>
      <QueryLine onQuery={setQuery} />
      <ErrorNote error={error ?? hits.error} />
      {isLoading && <p class="faint">Loading …</p>}
      {value?.count === 0 && <p class="empty">There are no vectors to show yet: ingest some documents first.</p>}
      {plane && ids.length > 0 && (
        <>
          <p class="faint">
            {counted(ids.length, 'chunk')}, spread evenly over the collection. The axes show{' '}
            {Math.round((plane.shares[0] + plane.shares[1]) * 100)} % of the variance; chunks of one document have one
            colour.
          </p>
          <PointMap points={plane.points} ids={ids} marked={marked} query={query} />
        </>
      )}
    </>
  );
}

function QueryLine({ onQuery }: { onQuery: (query: string) => void }) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    onQuery(String(new FormData(event.currentTarget as HTMLFormElement).get('q') ?? '').trim());
  };
  return (
    <form class="tools" role="search" onSubmit={submit}>
      <input
        type="search"
        name="q"
        class="query"
        data-query
        placeholder="Show the hits of a query on the map"
        aria-label="Query to show on the map"
      />
      <button type="submit">Show</button>
    </form>
  );
}
