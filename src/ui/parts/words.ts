// Numbers and times as people read them. Pure; used by all views.
// No locale of its own: that of the browser.

export const count = (value: number): string => value.toLocaleString();

/** `1 chunk`, `2 chunks`. */
export const counted = (value: number, word: string): string => `${count(value)} ${word}${value === 1 ? '' : 's'}`;

/** Three digits that matter. */
export const score = (value: number): string => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3));

export function ms(value: number): string {
  if (value >= 10_000) return `${(value / 1000).toFixed(1)} s`;
  return value >= 100 ? `${value.toFixed(0)} ms` : value >= 10 ? `${value.toFixed(1)} ms` : `${value.toFixed(2)} ms`;
}

export function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const power = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(value) / 3));
  const scaled = value / 1000 ** power;
  return `${power === 0 || scaled >= 100 ? scaled.toFixed(0) : scaled.toFixed(1)} ${units[power]}`;
}

export const moment = (iso: string): string =>
  new Date(iso).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });

export function span(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
