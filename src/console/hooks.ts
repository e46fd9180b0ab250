// A listing that comes page by page, by cursor, as the user scrolls on.
// A hook, used by the documents, a document's chunks and the query log.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { apiKey, returns } from '../state/session.js';

export interface Page<T> {
  readonly entries: readonly T[];
  readonly next?: string | undefined;
}

export interface Pages<T> {
  readonly entries: readonly T[];
  readonly error?: unknown;
  readonly isLoading: boolean;
  /** All there are have come. */
  readonly isWhole: boolean;
  /** Asks for the next page, unless one is under way or there is none. */
  more(): void;
  reload(): void;
}

interface State<T> {
  readonly entries: readonly T[];
  readonly next?: string | undefined;
  readonly error?: unknown;
  readonly isLoading: boolean;
}

/**
 * One loading of the list and of the pages behind it. While it has something under way no page is asked for: behind a
 * list that comes anew it would be one of the old.
 */
interface Asking {
  readonly controller: AbortController;
  isUnderWay: boolean;
}

const newAsking = (): Asking => ({ controller: new AbortController(), isUnderWay: true });

/**
 * `load` is told how many entries there were, so that a list that is loaded again need not become shorter under its
 * reader.
 */
export function usePages<T>(
  key: string,
  load: (cursor: string | undefined, signal: AbortSignal, lengthBefore: number) => Promise<Page<T>>,
): Pages<T> {
  const [state, setState] = useState<State<T>>({ entries: [], isLoading: true });
  const [turn, setTurn] = useState(0);
  const asked = useRef(newAsking());
  const fetchPage = (asking: Asking, cursor: string | undefined, before: readonly T[]): void => {
    const { signal } = asking.controller;
    asking.isUnderWay = true;
    void stateAfter(load(cursor, signal, cursor === undefined ? state.entries.length : 0), before).then((next) => {
      asking.isUnderWay = false;
      if (!signal.aborted) setState(next);
    });
  };
  useEffect(() => {
    fetchPage((asked.current = newAsking()), undefined, []);
    return () => asked.current.controller.abort();
  }, [key, turn, apiKey.value, returns.value]);
  const more = (): void => {
    if (asked.current.isUnderWay || state.next === undefined) return;
    setState({ ...state, isLoading: true });
    fetchPage(asked.current, state.next, state.entries);
  };
  const reload = useCallback(() => setTurn((before) => before + 1), []);
  return { ...state, isWhole: !state.isLoading && state.next === undefined, more, reload };
}

async function stateAfter<T>(page: Promise<Page<T>>, before: readonly T[]): Promise<State<T>> {
  try {
    const { entries, next } = await page;
    return { entries: [...before, ...entries], next, isLoading: false };
  } catch (error) {
    return { entries: before, error, isLoading: false };
  }
}
