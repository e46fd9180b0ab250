// State of the page besides its address: the API key, for the session of this tab, and the theme, permanently.
import { signal } from '@preact/signals';
import { type Place, docidOf, hrefOf, parsePlace } from './address.js';

const KEY = 'sheaf.key';
const THEME = 'sheaf.theme';

const THEMES = ['system', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];

/** '' if there is none. */
export const apiKey = signal(sessionStorage.getItem(KEY) ?? '');
/** Whether the key dialog is open. */
export const asksForKey = signal(false);
/** The key that the server rejected, '' for a missing key; undefined if the user opened the dialog. */
export const refusedKey = signal<string | undefined>(undefined);

/** Opens the key dialog after a 401. Ignored if the key has been changed since the request. */
export function askForKey(sent: string): void {
  if (sent !== apiKey.value) return;
  if (!asksForKey.value) refusedKey.value = sent;
  asksForKey.value = true;
}

export function closeKey(): void {
  asksForKey.value = false;
  refusedKey.value = undefined;
}

/** Whether the server has accepted a key. */
export const judgedKey = signal<{ readonly key: string; readonly isGood: boolean } | undefined>(undefined);

export function judgeKey(key: string, isGood: boolean): void {
  const { value } = judgedKey;
  if (value?.key !== key || value.isGood !== isGood) judgedKey.value = { key, isGood };
}

/** Counts broken calls and streams; each one triggers a health check. */
export const breaks = signal(0);

/** Counts returns of the server after an outage; what failed meanwhile is loaded again. */
export const returns = signal(0);
export const theme = signal<Theme>(THEMES.find((known) => known === localStorage.getItem(THEME)) ?? 'system');

/** Canvases must be redrawn when the system's theme changes. */
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

// The current place in the console, and links relative to it. It follows the address of the page.

export const place = signal<Place>(parsePlace(location.hash));
addEventListener('hashchange', () => (place.value = parsePlace(location.hash)));

/** The current place with the given changes; parameters are not carried over. */
export const there = (change: Partial<Place>): string => hrefOf({ ...place.value, params: {}, ...change });

/** A link to a chunk among its neighbours, with the words of a query marked. */
export const chunkLink = (rid: string, q: string, at: Partial<Pick<Place, 'tenant' | 'collection'>> = {}): string =>
  there({ ...at, view: 'documents', params: { document: docidOf(rid), chunk: rid, q } });

/** A link to the list of documents as it is, with a document open, or with none. */
export const inList = (document = ''): string =>
  there({ view: 'documents', params: { ...place.value.params, document, chunk: '', q: '' } });

/** A link to the overview of a tenant. */
export const overviewOf = (tenant: string): string => hrefOf({ tenant, view: 'documents', params: {} });

/** As `go`, without an entry in the browser's history. */
export function goInPlace(change: Partial<Place>): void {
  history.replaceState(null, '', there(change));
  place.value = parsePlace(location.hash);
}

export function go(change: Partial<Place>): void {
  location.hash = there(change);
}
