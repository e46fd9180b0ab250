// What has been opened is brought into sight: on a narrow page it does not stand beside the list.
// A hook of the panes.
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/** The limit is that of views.css. */
const isNarrow = matchMedia('(max-width: 60rem)');

/** For the element of a component that is made when it is opened. */
export function useInSight(): RefObject<HTMLElement> {
  const element = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isNarrow.matches) element.current?.scrollIntoView({ block: 'start' });
  }, []);
  return element;
}
