// Keeps the pages of other sites from a server without keys: the browser of whoever runs it would carry out what they
// ask. Told apart by the headers that browsers set and pages cannot: Origin and Sec-Fetch-Site where a page asks, Host
// where a foreign name leads here (DNS rebinding). Other clients send neither. Front thread; asked for each request
// before anything else is done for it.
import { isIP } from 'node:net';
import { AppError } from '../api/errors.js';

export interface AllowedSites {
  /** Names beside localhost and IP addresses, with a port where no other is meant. Lower case. */
  readonly hosts: readonly string[];
  /** As browsers send them: `https://search.example.com`. */
  readonly origins: readonly string[];
}

interface Headers {
  /** '' when absent. */
  header(name: string): string;
}

export type SiteGuard = (request: Headers, method: string) => void;

/** Throws 403 `auth_forbidden` for another host, and for pages of other sites. */
export function siteGuard(allowed: AllowedSites): SiteGuard {
  const isKnownOrigin = originCheck(allowed);
  // Most requests have the host of the one before.
  let latest = '';
  return (request, method) => {
    const host = request.header('host');
    if (host !== latest) {
      checkHost(host, allowed.hosts);
      latest = host;
    }
    const origin = request.header('origin');
    if (origin !== '' && !isKnownOrigin(origin, host)) throw otherSite();
    if (origin === '' && request.header('sec-fetch-site') === 'cross-site' && !isVisit(request, method))
      throw otherSite();
  };
}

/** Whether pages of an origin may call: this server's own, those of this machine, and those that are allowed. */
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
  // A name can be made to lead anywhere; an address cannot.
  if (isLocal(name) || isIP(name.replace(/^\[|\]$/g, '')) !== 0) return;
  if (name !== '' && (allowed.includes(name) || allowed.includes(host.toLowerCase()))) return;
  throw new AppError(
    'auth_forbidden',
    'Without keys this server answers to localhost and IP addresses, and to the names in `server.allowed_hosts`.',
  );
}

const isLocal = (name: string): boolean =>
  name === 'localhost' || name === '127.0.0.1' || name === '[::1]' || name.endsWith('.localhost');

/** Somebody has followed a link: the page it was on does not see what comes of it. */
const isVisit = (request: Headers, method: string): boolean =>
  (method === 'get' || method === 'head') &&
  request.header('sec-fetch-mode') === 'navigate' &&
  request.header('sec-fetch-dest') === 'document';

const otherSite = (): AppError =>
  new AppError(
    'auth_forbidden',
    'Pages of other sites may not call this; `server.allowed_origins` names those that may.',
  );

const urlOf = (text: string): URL | undefined => (URL.canParse(text) ? new URL(text) : undefined);
