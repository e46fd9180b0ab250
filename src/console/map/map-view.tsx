// Points on a canvas, which zooms and moves (d3-zoom). The chunk under the pointer, or chosen by the arrow keys, is shown
// with its text; a click or Enter opens it.
import type { RefObject } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { select } from 'd3-selection';
import { type ZoomTransform, zoom, zoomIdentity } from 'd3-zoom';
import { type At, chunkText, sampleVectors, search } from '../api.js';
import { Choice, ErrorNote } from '../components.tsx';
import { counted } from '../format.js';
import type { VectorSample } from '../../api/recall.js';
import { useLoaded } from '../hooks.js';
import { chunkLink, isSystemDark, theme } from '../state.js';
import { type Colouring, type Mapped, colouringOf, fieldsOf } from './colours.js';
import { POINTS_MIN, layOut } from './neighbours-plane.js';
import { principalPlane, vectorsOf } from './projection.js';

// Draws the points of the map: hits of the query large and ringed.

interface Picture {
  /** x and y of each point in px. */
  readonly places: Float32Array;
  readonly ids: readonly string[];
  readonly colours: readonly string[];
  readonly marked: ReadonlySet<string>;
  readonly chosen: number | undefined;
}

const MARGIN_PX = 20;

/** Scales points to px so that all are visible, with the same scale on both axes. */
function placesOf(points: Float32Array, width: number, height: number): Float32Array {
  const xs = points.filter((_, i) => i % 2 === 0);
  const ys = points.filter((_, i) => i % 2 === 1);
  const [minX, maxX, minY, maxY] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const scale = Math.min((width - 2 * MARGIN_PX) / (maxX - minX || 1), (height - 2 * MARGIN_PX) / (maxY - minY || 1));
  const [left, top] = [(width - (maxX + minX) * scale) / 2, (height + (maxY + minY) * scale) / 2];
  return points.map((value, i) => (i % 2 === 0 ? left + value * scale : top - value * scale));
}

function drawPoints(canvas: HTMLCanvasElement, { places, ids, colours, marked, chosen }: Picture): void {
  const ratio = devicePixelRatio;
  canvas.width = canvas.clientWidth * ratio;
  canvas.height = canvas.clientHeight * ratio;
  const pen = canvas.getContext('2d') as CanvasRenderingContext2D;
  pen.scale(ratio, ratio);
  const ink = getComputedStyle(canvas).color;
  const dot = (i: number, radius: number, isRinged: boolean): void => {
    pen.beginPath();
    pen.arc(places[i * 2] as number, places[i * 2 + 1] as number, radius, 0, 2 * Math.PI);
    pen.fillStyle = colours[i] as string;
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
  readonly at: At;
  /** x and y of each point. */
  readonly points: Float32Array;
  readonly ids: readonly string[];
  readonly colours: readonly string[];
  readonly marked: ReadonlySet<string>;
  readonly query: string;
}

const REACH_PX = 16;
const ZOOM_MAX = 60;

function PointMap(props: Props) {
  const { at, ids, query } = props;
  const [chosen, setChosen] = useState<number>();
  const { canvas, places, reset } = useDrawn(props, chosen);
  const linkOf = (i: number) => chunkLink(ids[i] as string, query);
  const pressed = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && chosen !== undefined) location.hash = linkOf(chosen);
    if (event.key === '0') reset();
    const next = nextInDirection(places.current, chosen, event.key);
    if (next === undefined) return;
    event.preventDefault();
    setChosen(next);
  };
  const words = `Map of ${ids.length} chunks. Arrow keys move from chunk to chunk, Enter opens one, 0 shows all.`;
  return (
    <div class="map-frame">
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
      <div class="map-note" role="status">
        {chosen === undefined ? (
          <span class="faint">
            Point at a chunk to read it. The wheel zooms, dragging moves, a double click shows all.
          </span>
        ) : (
          <>
            <a href={linkOf(chosen)}>{ids[chosen]}</a>
            <ChunkText key={ids[chosen] as string} at={at} rid={ids[chosen] as string} />
          </>
        )}
      </div>
    </div>
  );
}

const TEXT_CHARACTERS = 300;
/** The pointer rests so long on a chunk before its text is asked for. */
const REST_MS = 80;

/** The begin of the text of a chunk; nothing for a chunk that is a vector. */
function ChunkText({ at, rid }: { at: At; rid: string }) {
  const [text, setText] = useState('');
  useEffect(() => {
    const controller = new AbortController();
    const timer = setTimeout(() => {
      chunkText(at, rid, controller.signal).then(
        (found) => setText(found.length > TEXT_CHARACTERS ? `${found.slice(0, TEXT_CHARACTERS)} …` : found),
        () => undefined,
      );
    }, REST_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [rid]);
  return <p>{text}</p>;
}

/** Draws the points. `places` are the positions on the canvas in px, which change with its size and with the zoom. */
function useDrawn(
  { points, ids, colours, marked }: Props,
  chosen: number | undefined,
): { canvas: RefObject<HTMLCanvasElement>; places: { current: Float32Array }; reset: () => void } {
  const canvas = useRef<HTMLCanvasElement>(null);
  const places = useRef<Float32Array>(new Float32Array());
  const [transform, setTransform] = useState<ZoomTransform>(zoomIdentity);
  const zooming = useMemo(
    () =>
      zoom<HTMLCanvasElement, unknown>()
        .scaleExtent([1, ZOOM_MAX])
        .on('zoom', ({ transform: next }: { transform: ZoomTransform }) => setTransform(next)),
    [],
  );
  const reset = (): void => {
    if (canvas.current) select(canvas.current).call(zooming.transform, zoomIdentity);
  };
  useEffect(() => {
    const chart = select(canvas.current as HTMLCanvasElement).call(zooming);
    chart.on('dblclick.zoom', reset);
    return () => void chart.on('.zoom', null);
  }, []);
  useEffect(() => {
    const element = canvas.current as HTMLCanvasElement;
    const draw = () => {
      const { k, x, y } = transform;
      const all = placesOf(points, element.clientWidth, element.clientHeight);
      places.current = all.map((value, i) => value * k + (i % 2 === 0 ? x : y));
      drawPoints(element, { places: places.current, ids, colours, marked, chosen });
    };
    const watch = new ResizeObserver(draw);
    watch.observe(element);
    return () => watch.disconnect();
  }, [points, colours, marked, chosen, transform, theme.value, isSystemDark.value]);
  return { canvas, places, reset };
}

// The embedding map: a sample of the collection's vectors in a plane. Hits of a query can be shown on it.

const SAMPLE = 1000;
/** Number of hits that are looked up in the sample. */
const HITS_K = 20;

const PLANES = [
  ['neighbours', 'neighbours (UMAP)'],
  ['variance', 'two axes of most variance'],
] as const;

export function MapView(at: At) {
  const [query, setQuery] = useState('');
  const [plane, setPlane] = useState<string>('neighbours');
  const [field, setField] = useState('');
  const { value, error, isLoading } = useLoaded(`${at.tenant}/${at.collection}`, (signal) =>
    sampleVectors(at, SAMPLE, signal),
  );
  const hits = useLoaded(`${at.tenant}/${at.collection}/${query}`, async (signal) =>
    query ? (await search(at, { q: query, k: HITS_K }, signal)).matches.map(({ id }) => id) : [],
  );
  const marked = useMemo(() => new Set(hits.value ?? []), [hits.value]);
  const sampled: readonly Mapped[] = value?.vectors ?? [];
  const { points, words } = usePlane(value, plane === 'neighbours' && sampled.length >= POINTS_MIN);
  const ids = useMemo(() => sampled.map(({ rid }) => rid), [value]);
  const fields = useMemo(() => fieldsOf(sampled), [value]);
  const colouring = useMemo(() => colouringOf(sampled, field), [value, field]);
  return (
    <>
      <QueryLine onQuery={setQuery} />
      <ErrorNote error={error ?? hits.error} />
      {isLoading && <p class="faint">Loading …</p>}
      {value?.count === 0 && <p class="empty">There are no vectors to show yet: ingest some documents first.</p>}
      {points && ids.length > 0 && (
        <>
          <div class="map-tools">
            <Choice label="Plane" value={plane} choices={PLANES} onChoice={setPlane} />
            <Choice
              label="Colours"
              value={field}
              choices={[['', 'document'], ...fields.map((name) => [name, name] as const)]}
              onChoice={setField}
            />
            <Legend colouring={colouring} />
          </div>
          <p class="faint">
            {counted(ids.length, 'chunk')}, spread evenly over the collection. {words}
          </p>
          <PointMap at={at} points={points} ids={ids} colours={colouring.colours} marked={marked} query={query} />
        </>
      )}
    </>
  );
}

function Legend({ colouring: { legend } }: { colouring: Colouring }) {
  return (
    <p class="legend">
      {legend.map(({ colour, words }) => (
        <span>
          <i style={{ background: colour }} /> {words}
        </span>
      ))}
    </p>
  );
}

/** The places of the sample in a plane, and what the plane shows. Undefined until there is a first one. */
function usePlane(value: VectorSample | undefined, isOfNeighbours: boolean): { points?: Float32Array; words: string } {
  const [points, setPoints] = useState<Float32Array>();
  const variance = useMemo(
    () => (value && !isOfNeighbours ? principalPlane(vectorsOf(value), value.dim) : undefined),
    [value, isOfNeighbours],
  );
  useEffect(() => {
    setPoints(undefined);
    if (!value || !isOfNeighbours) return undefined;
    const controller = new AbortController();
    void layOut(vectorsOf(value), value.dim, setPoints, controller.signal);
    return () => controller.abort();
  }, [value, isOfNeighbours]);
  if (!variance)
    return { ...(points && { points }), words: 'Chunks that are near each other on the map have similar texts.' };
  const share = Math.round((variance.shares[0] + variance.shares[1]) * 100);
  return { points: variance.points, words: `The axes show ${share} % of the variance.` };
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
