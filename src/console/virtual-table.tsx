// A table of any length that renders only visible rows (@tanstack/virtual-core). A row is a link or button that fills
// its line. Requests more entries near the end.
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from '@tanstack/virtual-core';
import type { ComponentChildren } from 'preact';
import { useEffect, useReducer, useRef } from 'preact/hooks';

interface Props<T> {
  readonly label: string;
  readonly columns: readonly string[];
  readonly entries: readonly T[];
  readonly rowHeight: number;
  /** The widths of the columns as CSS has them; those of the style sheet by default. */
  readonly widths?: string;
  /** One cell per column. */
  readonly cellsOf: (entry: T) => readonly ComponentChildren[];
  readonly isChosen?: (entry: T) => boolean;
  /** Called repeatedly while the end is in view. */
  readonly onEnd?: () => void;
}

const END_ROWS = 20;
const BORDERS_PX = 2;

export function Rows<T>({ label, columns, entries, rowHeight, widths, cellsOf, isChosen, onEnd }: Props<T>) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtual(scroller, entries.length, rowHeight);
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? -1;
  // Runs after every render, because a request made during a reload is ignored and must be repeated.
  useEffect(() => {
    if (last >= entries.length - END_ROWS) onEnd?.();
  });
  return (
    <div
      class="rows"
      role="table"
      aria-label={label}
      aria-rowcount={entries.length + 1}
      ref={scroller}
      style={{ height: `${virtual.getTotalSize() + rowHeight + BORDERS_PX}px`, ...(widths && { '--columns': widths }) }}
    >
      <div class="head" role="rowgroup">
        <div class="row" role="row">
          {columns.map((name) => (
            <span role="columnheader">{name}</span>
          ))}
        </div>
      </div>
      <div class="body" role="rowgroup" style={{ height: `${virtual.getTotalSize()}px` }}>
        {items.map(({ index, start }) => (
          <div
            key={index}
            role="row"
            aria-rowindex={index + 2}
            class={`row${isChosen?.(entries[index] as T) ? ' chosen' : ''}`}
            style={{ transform: `translateY(${start}px)` }}
          >
            {cellsOf(entries[index] as T).map((cell) => (
              <span role="cell">{cell}</span>
            ))}
          </div>
        ))}
      </div>
    </div>
  );
}

function useVirtual(
  scroller: { current: HTMLDivElement | null },
  length: number,
  rowHeight: number,
): Virtualizer<HTMLDivElement, HTMLDivElement> {
  const [, redraw] = useReducer((turn: number) => turn + 1, 0);
  const options = {
    count: length,
    overscan: 8,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => redraw(undefined),
  };
  const held = useRef<Virtualizer<HTMLDivElement, HTMLDivElement>>();
  held.current ??= new Virtualizer<HTMLDivElement, HTMLDivElement>(options);
  held.current.setOptions(options);
  useEffect(() => held.current?._didMount(), []);
  useEffect(() => held.current?._willUpdate());
  return held.current;
}
