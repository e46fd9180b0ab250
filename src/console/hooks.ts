// A listing that comes page by page, by cursor, as the user scrolls on.
// A hook, used by the documents, a document's chunks and the query log.
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
  /** All there are have come. */
  readonly isWhole: boolean;
  /** Asks for the next page, unless one is under way or there is none. */
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

// A value that a component loads: shown when it is there, kept while it is loaded again, thrown away when it is of
// another key. A hook; what is asked for in vain is aborted.

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
 * Loads when `name` or the key of the session changes, and when the server is back. What one key was shown is not shown
 * to the next, or to none.
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
  return { ...(state.key === key ? state : { isLoading: true }), reload };
}

interface Action {
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

// What a form holds while it is edited: what the address says, until the user changes it; and that again once the
// address has changed. A hook of the search views. Without an effect: one that ran behind the first strokes of a key
// took them back.

/** `key` is what `asked` says, as a text. */
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

// What has been opened is brought into sight: on a narrow page it does not stand beside the list.
// A hook of the panes.

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

// The field for the query has the focus when its view comes without hits, or by the keyboard. A hook of the views that
// have one; `autofocus` would do it once in the life of a page.

/** For the field, whose query is `q` when it comes: with hits in sight the keys are theirs. */
export function useQueryFocus(q: string): RefObject<HTMLInputElement> {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (asksForQuery.value || q === '') field.current?.focus();
    asksForQuery.value = false;
  }, []);
  return field;
}
