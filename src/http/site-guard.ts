// Protects a server without keys from the pages of other sites, whose requests the browser of its user would carry out.
// It relies on headers that browsers set and pages cannot: `Origin` and `Sec-Fetch-Site` for requests of pages, and
// `Host` against DNS rebinding. Other clients send neither of the first two. Checked before any other work on a
// request. Runs on front threads and on the main thread.
import { isIP } from 'node:net';
import { AppError } from '../api/errors.js';

export interface AllowedSites {
  /**
   * Host names allowed in addition to localhost and IP addresses. A name with a port allows only that port. Lower case.
   */
  readonly hosts: readonly string[];
  /** Origins as browsers send them: `https://search.example.com`. */
  readonly origins: readonly string[];
}

interface Headers {
  /** The value of a header; '' if absent. */
  header(name: string): string;
}

export type SiteGuard = (request: Headers, method: string) => void;

/** A guard that throws 403 `auth_forbidden` for an unknown host and for pages of other sites. */
export function siteGuard(allowed: AllowedSites): SiteGuard {
  const isKnownOrigin = originCheck(allowed);
  // Consecutive requests mostly have the same host.
  let latest = '';
  return (request, method) => {
    const host = request.header('host');
    if (host !== latest) {
      checkHost(host, allowed.hosts);
      latest = host;
    }
    const origin = request.header('origin');
    if (origin !== '' && !isKnownOrigin(origin, host)) throw otherSite();
    if (origin === '' && request.header('sec-fetch-site') === 'cross-site' && !isNavigation(request, method))
      throw otherSite();
  };
}

/** Whether pages of an origin may call the server: its own origin, origins on this machine, and allowed ones. */
export function originCheck({ origins }: AllowedSites): (origin: string, host: string) => boolean {
  return (origin, host) => {
    const url = urlOf(origin);
    if (url === undefined) return false;
    return (
      isLocal(url.hostname) || url.host === urlOf(`${url.protocol}//${host}`)?.host || origins.includes(url.origin)
    );
  };
}

function checkHost(host: string, allowed: readonly string[]): void {
  const url = urlOf(`http://${host}`);
  const name = url?.hostname ?? '';
  // DNS can point a name anywhere, but not an address.
  if (isLocal(name) || isIP(name.replace(/^\[|\]$/g, '')) !== 0) return;
  if (name !== '' && (allowed.includes(name) || allowed.includes(host.toLowerCase()))) return;
  throw new AppError(
    'auth_forbidden',
    'Without keys, this server accepts only requests to localhost, to IP addresses, and to the hosts in `server.allowed_hosts`.',
  );
}

const isLocal = (name: string): boolean =>
  name === 'localhost' || name === '127.0.0.1' || name === '[::1]' || name.endsWith('.localhost');

/** Whether the request follows a link to the server: the page with the link cannot see the result. */
const isNavigation = (request: Headers, method: string): boolean =>
  (method === 'get' || method === 'head') &&
  request.header('sec-fetch-mode') === 'navigate' &&
  request.header('sec-fetch-dest') === 'document';

const otherSite = (): AppError =>
  new AppError(
    'auth_forbidden',
    'Pages of other sites may not call this server, except those in `server.allowed_origins`.',
  );

const urlOf = (text: string): URL | undefined => (URL.canParse(text) ? new URL(text) : undefined);
