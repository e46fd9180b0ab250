// Keyboard shortcuts: one listener for the page. `g` and a letter open a view. Keys pressed in a field are ignored.
import { signal } from '@preact/signals';
import type { View } from './address.js';
import { asksForKey, go, nextTheme, overviewOf, place, useTheme } from './state.js';

export const showsHelp = signal(false);
/** Whether the query field gets the focus when it is shown. */
export const asksForQuery = signal(false);

const VIEW_KEYS: Readonly<Record<string, View>> = {
  d: 'documents',
  s: 'search',
  c: 'compare',
  q: 'queries',
  r: 'reindex',
  m: 'map',
  t: 'settings',
};
const SECOND_KEY_MS = 1200;

export const SHORTCUTS: readonly (readonly [string, string])[] = [
  ['/', 'go to the query field'],
  ['j  k', 'next and previous hit, document or query'],
  ['Enter', 'open the chosen entry'],
  ['g d  g s  g c', 'documents, search, compare'],
  ['g q  g r  g m  g t', 'query log, reindex, map, settings'],
  ['g h', 'overview'],
  ['n', 'new collection'],
  ['t', 'theme: light, dark, or that of the system'],
  ['K', 'enter a key'],
  ['?', 'this list'],
  ['Esc', 'close a dialog'],
];

export function listenToKeys(): void {
  let gPressedAtMs = -Infinity;
  addEventListener('keydown', (event) => {
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      isTyping(event.target) ||
      document.querySelector('dialog[open]')
    )
      return;
    // Uses the times of the key presses, because a busy page handles them later.
    const isSecond = event.timeStamp - gPressedAtMs < SECOND_KEY_MS;
    gPressedAtMs = event.key === 'g' && !isSecond ? event.timeStamp : -Infinity;
    if (isSecond ? goTo(event.key) : act(event.key)) event.preventDefault();
  });
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  target.closest('input:not([type=checkbox]):not([type=range]), textarea, select') !== null;

function goTo(key: string): boolean {
  const view = VIEW_KEYS[key];
  if (key === 'h') location.hash = overviewOf(place.value.tenant);
  else if (key === 's') toSearch();
  else if (view && place.value.collection) go({ view });
  return true;
}

function act(key: string): boolean {
  if (key === '?') showsHelp.value = true;
  else if (key === 't') useTheme(nextTheme());
  else if (key === 'K') asksForKey.value = true;
  else if (key === 'n') document.querySelector<HTMLElement>('[data-new-collection]')?.click();
  else if (key === '/') toQuery();
  else if (key === 'j' || key === 'k') step(key === 'j' ? 1 : -1);
  else return false;
  return true;
}

function toQuery(): void {
  const field = document.querySelector<HTMLInputElement>('[data-query]');
  if (!field) return toSearch();
  field.focus();
  field.select();
}

function toSearch(): void {
  const { collection, view } = place.value;
  if (collection === undefined) return;
  if (view === 'search') return toQuery();
  asksForQuery.value = true;
  go({ view: 'search' });
}

/** Moves the focus within the displayed list. */
function step(by: number): void {
  const entries = [...document.querySelectorAll<HTMLElement>('[data-entry]')];
  const at = entries.indexOf(document.activeElement as HTMLElement);
  entries[at < 0 ? 0 : Math.min(entries.length - 1, Math.max(0, at + by))]?.focus();
}
