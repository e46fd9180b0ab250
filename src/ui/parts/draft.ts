// What a form holds while it is edited: what the address says, until the user changes it; and that again once the
// address has changed. A hook of the search views. Without an effect: one that ran behind the first strokes of a key
// took them back.
import { useReducer, useRef } from 'preact/hooks';

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
