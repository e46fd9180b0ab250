// The place in the console, stored in the address fragment: `#/tenant/collection/view?name=value`. Every view can be
// linked to, and the browser's history works. Pure.

export const VIEWS = ['documents', 'search', 'compare', 'evaluation', 'queries', 'reindex', 'map', 'settings'] as const;
export type View = (typeof VIEWS)[number];

/** Pages beside the collections, which the parameter `page` names. */
export const PAGES = ['overview', 'tenants', 'backups', 'cluster'] as const;
export type Page = (typeof PAGES)[number];

export const pageOf = ({ params }: Pick<Place, 'params'>): Page =>
  PAGES.find((known) => known === params.page) ?? 'overview';

export interface Place {
  readonly tenant: string;
  /** Absent in the overview. */
  readonly collection?: string;
  readonly view: View;
  readonly params: Readonly<Record<string, string>>;
}

const TENANT_DEFAULT = 'default';

export function parsePlace(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#?\/?/, '').split('?', 2);
  const [tenant, collection, view] = path.split('/').map(decoded);
  return {
    tenant: tenant || TENANT_DEFAULT,
    ...(collection && { collection }),
    view: VIEWS.find((known) => known === view) ?? 'documents',
    params: Object.fromEntries(new URLSearchParams(query)),
  };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

export function hrefOf({ tenant, collection, view, params }: Place): string {
  const path = [tenant, ...(collection === undefined ? [] : [collection, view])].map(encodeURIComponent).join('/');
  const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value !== '')).toString();
  return `#/${path}${query && `?${query}`}`;
}

// The two halves of a chunk id, `document::path`. A document id may contain `::`, a path cannot. Pure.

export const docidOf = (rid: string): string => rid.slice(0, rid.lastIndexOf('::'));

export const chunkPathOf = (rid: string): string => rid.slice(rid.lastIndexOf('::') + 2);
