// The field for the query has the focus when its view comes without hits, or by the keyboard. A hook of the views that
// have one; `autofocus` would do it once in the life of a page.
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { asksForQuery } from '../state/shortcuts.js';

/** For the field, whose query is `q` when it comes: with hits in sight the keys are theirs. */
export function useQueryFocus(q: string): RefObject<HTMLInputElement> {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (asksForQuery.value || q === '') field.current?.focus();
    asksForQuery.value = false;
  }, []);
  return field;
}
