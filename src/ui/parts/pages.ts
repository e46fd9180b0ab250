// A listing that comes page by page, by cursor, as the user scrolls on.
// A hook, used by the documents, a document's chunks and the query log.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { apiKey } from '../state/session.js';

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

/** `load` is told how many entries there were, so that a list that is loaded again need not become shorter under its reader. */
export function usePages<T>(key: string, load: (cursor: string | undefined, signal: AbortSignal, lengthBefore: number) => Promise<Page<T>>): Pages<T> {
  const [state, setState] = useState<State<T>>({ entries: [], isLoading: true });
  const [turn, setTurn] = useState(0);
  const controller = useRef(new AbortController());
  const fetchPage = (cursor: string | undefined, before: readonly T[]): void => {
    const { signal } = controller.current;
    load(cursor, signal, cursor === undefined ? state.entries.length : 0).then(
      ({ entries, next }) => signal.aborted || setState({ entries: [...before, ...entries], next, isLoading: false }),
      (error: unknown) => signal.aborted || setState({ entries: before, error, isLoading: false }),
    );
  };
  useEffect(() => {
    controller.current = new AbortController();
    fetchPage(undefined, []);
    return () => controller.current.abort();
  }, [key, turn, apiKey.value]);
  const more = (): void => {
    if (state.isLoading || state.next === undefined) return;
    setState({ ...state, isLoading: true });
    fetchPage(state.next, state.entries);
  };
  const reload = useCallback(() => setTurn((before) => before + 1), []);
  return { ...state, isWhole: !state.isLoading && state.next === undefined, more, reload };
}
