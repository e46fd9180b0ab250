// A listing that is loaded page by page, by cursor, while the user scrolls.
import type { RefObject } from 'preact';
import { useCallback, useEffect, useReducer, useRef, useState } from 'preact/hooks';
import { asksForQuery } from './shortcuts.js';
import { apiKey, returns } from './state.js';

interface Page<T> {
  readonly entries: readonly T[];
  readonly next?: string | undefined;
}

export interface Pages<T> {
  readonly entries: readonly T[];
  readonly error?: unknown;
  readonly isLoading: boolean;
  /** Whether all entries are loaded. */
  readonly isWhole: boolean;
  /** Requests the next page, unless a request is pending or there is none. */
  more(): void;
  reload(): void;
}

interface PagesState<T> {
  readonly entries: readonly T[];
  readonly next?: string | undefined;
  readonly error?: unknown;
  readonly isLoading: boolean;
}

/**
 * One load of the list and of the pages after it. While a request is pending no other page is requested, because it
 * could belong to the list before a reload.
 */
interface Asking {
  readonly controller: AbortController;
  isUnderWay: boolean;
}

const newAsking = (): Asking => ({ controller: new AbortController(), isUnderWay: true });

/** `load` receives the previous number of entries, so that a reload does not shorten the list under its reader. */
export function usePages<T>(
  key: string,
  load: (cursor: string | undefined, signal: AbortSignal, lengthBefore: number) => Promise<Page<T>>,
): Pages<T> {
  const [state, setState] = useState<PagesState<T>>({ entries: [], isLoading: true });
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

async function stateAfter<T>(page: Promise<Page<T>>, before: readonly T[]): Promise<PagesState<T>> {
  try {
    const { entries, next } = await page;
    return { entries: [...before, ...entries], next, isLoading: false };
  } catch (error) {
    return { entries: before, error, isLoading: false };
  }
}

// A value that a component loads. It stays visible during a reload and is discarded when its key changes. An obsolete
// request is aborted.

interface Loaded<T> {
  readonly value?: T;
  readonly error?: unknown;
  readonly isLoading: boolean;
  reload(): void;
}

interface LoadState<T> {
  readonly key: string;
  readonly value?: T;
  readonly error?: unknown;
  readonly isLoading: boolean;
}

/**
 * Loads when `name` or the API key changes, and when the server is reachable again. A value loaded with one API key is
 * never shown with another, or without one.
 */
export function useLoaded<T>(name: string, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const key = `${apiKey.value} ${name}`;
  const [state, setState] = useState<LoadState<T>>({ key, isLoading: true });
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
  const { value, error, isLoading } = state;
  return state.key === key ? { value, error, isLoading, reload } : { isLoading: true, reload };
}

interface Action {
  readonly isBusy: boolean;
  readonly error?: unknown;
  /** Runs `work`; its rejection is stored in `error`. */
  run(work: () => Promise<unknown>): void;
}

/** An action of a button, with its error. */
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

// The state of a form: initially that of the address, then the user's changes, until the address changes. Implemented
// without an effect, because an effect that ran after the first keystrokes reverted them.

/** `key` is the serialized form of `asked`. */
export function useDraft<T>(key: string, asked: T): [T, (draft: T) => void] {
  const [, redraw] = useReducer((turn: number) => turn + 1, 0);
  const held = useRef({ key, draft: asked });
  if (held.current.key !== key) held.current = { key, draft: asked };
  const change = (draft: T): void => {
    held.current = { key, draft };
    redraw(undefined);
  };
  return [held.current.draft, change];
}

// Scrolls an opened pane into view, which on a narrow page is not beside the list.

/** The same breakpoint as in views.css. */
const isNarrow = matchMedia('(max-width: 60rem)');

/** A ref for the element of a component that is mounted when it is opened. */
export function useInSight(): RefObject<HTMLElement> {
  const element = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isNarrow.matches) element.current?.scrollIntoView({ block: 'start' });
  }, []);
  return element;
}

// Focuses the query field when its view is shown without hits or was opened by the keyboard. `autofocus` would work
// only once per page.

/** A ref for the query field. `q` is its initial query: if there are hits, the keyboard is for them. */
export function useQueryFocus(q: string): RefObject<HTMLInputElement> {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (asksForQuery.value || q === '') field.current?.focus();
    asksForQuery.value = false;
  }, []);
  return field;
}
