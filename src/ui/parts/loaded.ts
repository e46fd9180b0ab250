// A value that a component loads: shown when it is there, kept while it is loaded again, thrown away when it is of
// another key. A hook; what is asked for in vain is aborted.
import { useCallback, useEffect, useState } from 'preact/hooks';
import { apiKey, returns } from '../state/session.js';

export interface Loaded<T> {
  readonly value?: T;
  readonly error?: unknown;
  readonly isLoading: boolean;
  reload(): void;
}

interface State<T> {
  readonly key: string;
  readonly value?: T;
  readonly error?: unknown;
  readonly isLoading: boolean;
}

/**
 * Loads when `name` or the key of the session changes, and when the server is back. What one key was shown is not shown
 * to the next, or to none.
 */
export function useLoaded<T>(name: string, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const key = `${apiKey.value} ${name}`;
  const [state, setState] = useState<State<T>>({ key, isLoading: true });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const controller = new AbortController();
    setState((before) => ({ ...(before.key === key ? before : { key }), isLoading: true }));
    load(controller.signal).then(
      (value) => controller.signal.aborted || setState({ key, value, isLoading: false }),
      (error: unknown) => controller.signal.aborted || setState((before) => ({ ...before, error, isLoading: false })),
    );
    return () => controller.abort();
  }, [key, turn, returns.value]);
  const reload = useCallback(() => setTurn((before) => before + 1), []);
  return { ...(state.key === key ? state : { isLoading: true }), reload };
}

export interface Action {
  readonly isBusy: boolean;
  readonly error?: unknown;
  /** Runs it; what it rejects with is in `error`. */
  run(work: () => Promise<unknown>): void;
}

/** Something that a button does, with its failure. */
export function useAction(): Action {
  const [{ isBusy, error }, setState] = useState<{ isBusy: boolean; error?: unknown }>({ isBusy: false });
  const run = useCallback((work: () => Promise<unknown>) => {
    setState({ isBusy: true });
    work().then(
      () => setState({ isBusy: false }),
      (failure: unknown) => setState({ isBusy: false, error: failure }),
    );
  }, []);
  return { isBusy, error, run };
}
