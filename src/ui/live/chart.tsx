// Lines over time, by uPlot, in the colours of the page. Its latest values stand as text beside its name, for those who
// do not see it. A part of the overview.
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { isSystemDark, theme } from '../state/session.js';
import { KEPT_S } from './samples.js';

interface Line {
  readonly name: string;
  readonly values: readonly (number | null)[];
}

interface Props {
  readonly title: string;
  readonly unit: string;
  /** Unix seconds. */
  readonly times: readonly number[];
  readonly lines: readonly Line[];
}

const HEIGHT_PX = 220;
const COLOURS = ['--line-1', '--line-2', '--line-3'];

export function Chart({ title, unit, times, lines }: Props) {
  const place = usePlot(unit, times, lines);
  return (
    <figure class="card">
      <figcaption>
        {title}
        {lines.map(({ name, values }, i) => (
          <span class={`key line-${i + 1}`}>
            {name} {shown(values.at(-1))}
          </span>
        ))}
      </figcaption>
      <div ref={place} />
    </figure>
  );
}

/** The element that it is drawn in; drawn anew in other colours, and whenever values come or the page is resized. */
function usePlot(unit: string, times: readonly number[], lines: readonly Line[]): RefObject<HTMLDivElement> {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>();
  useEffect(() => {
    const element = place.current as HTMLDivElement;
    const made = new uPlot(optionsOf(element, unit, lines), [[]], element);
    plot.current = made;
    const watch = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT_PX }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      made.destroy();
    };
  }, [theme.value, isSystemDark.value]);
  useEffect(
    () => plot.current?.setData([times as number[], ...lines.map(({ values }) => values as number[])]),
    [times, theme.value, isSystemDark.value],
  );
  return place;
}

/** Up to the last sample; for none, or for a single one, the library would take years. */
function timeRange(lastS: number | undefined): [number, number] {
  const endS = lastS ?? Date.now() / 1000;
  return [endS - KEPT_S, endS];
}

const shown = (value: number | null | undefined): string =>
  value == null ? '–' : value >= 100 ? value.toFixed(0) : value.toFixed(1);

function optionsOf(element: HTMLElement, unit: string, lines: readonly Line[]): uPlot.Options {
  const axis = {
    stroke: colourOf(element, '--faint'),
    grid: { stroke: colourOf(element, '--rule'), width: 1 },
    ticks: { show: false },
  };
  return {
    width: element.clientWidth,
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { y: false },
    scales: {
      x: { range: ({ data: [times] }) => timeRange(times.at(-1)) },
      y: { range: (_, __, max) => [0, Math.max(max * 1.1, 1)] },
    },
    axes: [axis, { ...axis, size: 56, values: (_, ticks) => ticks.map((tick) => `${tick} ${unit}`) }],
    series: [
      {},
      ...lines.map(({ name }, i) => ({
        label: name,
        stroke: colourOf(element, COLOURS[i] as string),
        width: 2,
        points: { show: false },
      })),
    ],
  };
}

/** As it is shown: the property itself may say one colour for light and one for dark. */
function colourOf(element: HTMLElement, property: string): string {
  const probe = element.appendChild(document.createElement('i'));
  probe.style.color = `var(${property})`;
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
