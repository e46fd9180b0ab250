// Points on a canvas, with the chunk under the pointer, or chosen by the arrow keys, named below; a click or Enter
// opens it. A part of the map.
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { chunkLink } from '../state/place.js';
import { isSystemDark, theme } from '../state/session.js';
import { drawPoints, placesOf } from './draw.js';
import { nearestTo, nextInDirection } from './pick.js';

interface Props {
  /** x, y of each. */
  readonly points: Float32Array;
  readonly ids: readonly string[];
  readonly marked: ReadonlySet<string>;
  readonly query: string;
}

const REACH_PX = 24;

export function PointMap(props: Props) {
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

/** The places are those on the canvas, in px; they change with its size. */
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
