// Where the user is now, and the ways to elsewhere: links, for what is named beside the present place.
// Read by every view; follows the address of the page.
import { signal } from '@preact/signals';
import { hrefOf, parsePlace, type Place } from '../plain/address.js';
import { docidOf } from '../plain/chunk-ids.js';

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
