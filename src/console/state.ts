// What the page keeps beside its address: the key, for this session of the browser's tab alone, and light or dark, for
// good. Read by whatever calls the server, and by the bar at the top.
import { signal } from '@preact/signals';
import { type Place, docidOf, hrefOf, parsePlace } from './address.js';

const KEY = 'sheaf.key';
const THEME = 'sheaf.theme';

const THEMES = ['system', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];

/** '' for none. */
export const apiKey = signal(sessionStorage.getItem(KEY) ?? '');
/** Whether the dialog for it is open. */
export const asksForKey = signal(false);
/** The key that the server did not take, '' for none; undefined where the user has opened the dialog. */
export const refusedKey = signal<string | undefined>(undefined);

/** Called when an answer is a 401. Of a key that has been changed since it says nothing. */
export function askForKey(sent: string): void {
  if (sent !== apiKey.value) return;
  if (!asksForKey.value) refusedKey.value = sent;
  asksForKey.value = true;
}

export function closeKey(): void {
  asksForKey.value = false;
  refusedKey.value = undefined;
}

/** What the server has said of a key: whether it is one of its own. */
export const judgedKey = signal<{ readonly key: string; readonly isGood: boolean } | undefined>(undefined);

export function judgeKey(key: string, isGood: boolean): void {
  const { value } = judgedKey;
  if (value?.key !== key || value.isGood !== isGood) judgedKey.value = { key, isGood };
}

/** How often a call or a stream has broken off: whether the server is still there is asked at once. */
export const breaks = signal(0);

/** How often the server has come back after it did not answer: what failed meanwhile is loaded again. */
export const returns = signal(0);
export const theme = signal<Theme>(THEMES.find((known) => known === localStorage.getItem(THEME)) ?? 'system');

/** What is drawn on a canvas has to be drawn again when it changes. */
const systemDark = matchMedia('(prefers-color-scheme: dark)');
export const isSystemDark = signal(systemDark.matches);
systemDark.addEventListener('change', () => (isSystemDark.value = systemDark.matches));

export function useKey(key: string): void {
  if (key) sessionStorage.setItem(KEY, key);
  else sessionStorage.removeItem(KEY);
  apiKey.value = key;
}

export function useTheme(next: Theme): void {
  localStorage.setItem(THEME, next);
  theme.value = next;
  showTheme();
}

export function showTheme(): void {
  const { dataset } = document.documentElement;
  if (theme.value === 'system') delete dataset.theme;
  else dataset.theme = theme.value;
}

export const nextTheme = (): Theme => THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] as Theme;

// Where the user is now, and the ways to elsewhere: links, for what is named beside the present place.
// Read by every view; follows the address of the page.

export const place = signal<Place>(parsePlace(location.hash));
addEventListener('hashchange', () => (place.value = parsePlace(location.hash)));

/** The same place but for what is named; the parameters are of the new place alone. */
export const there = (change: Partial<Place>): string => hrefOf({ ...place.value, params: {}, ...change });

/** A chunk among its neighbours, with the words of a query marked. */
export const chunkLink = (rid: string, q: string): string =>
  there({ view: 'documents', params: { document: docidOf(rid), chunk: rid, q } });

/** What the server does, with the collections of a tenant. */
export const overviewOf = (tenant: string): string => hrefOf({ tenant, view: 'documents', params: {} });

export function go(change: Partial<Place>): void {
  location.hash = there(change);
}
