// The console at /ui. Its files are public; its requests carry the key that the user enters. scripts/console.mjs builds
// the files in dist/src/console/page: a page, and scripts and styles with a digest in their names, each with a brotli
// form. They are read on demand and kept in memory, about 100 kB. Runs on the main thread.
import { fileURLToPath } from 'node:url';
import { AppError } from '../../api/errors.js';
import { otherContent, ownRoute, routes } from '../../api/route.js';
import { type Handler, type OwnHandlers, param } from '../route.js';
import { type StaticFile, StaticFolder, guarded, staticReply } from '../static-file.js';

const common = { method: 'GET', access: 'public', tag: 'Documentation' } as const;

export const CONSOLE_ROUTES = routes({
  start: ownRoute({
    ...common,
    path: '/',
    summary: 'Redirect browsers from the bare address to the console',
    successes: [302],
    empty: [302],
    answer: {},
    codes: ['not_found'],
  }),
  console: ownRoute({
    ...common,
    path: '/ui',
    summary: 'The console: a page to manage and search collections',
    successes: [200, 304],
    answer: otherContent('text/html'),
  }),
  consoleFolder: ownRoute({
    ...common,
    path: '/ui/',
    summary: 'Redirect to the address of the console without a slash',
    successes: [308],
    empty: [308],
    answer: {},
  }),
  consoleFile: ownRoute({
    ...common,
    path: '/ui/{file}',
    summary: 'A script or style of the console',
    successes: [200, 304],
    answer: { ...otherContent('text/javascript'), ...otherContent('text/css') },
  }),
});

const CONSOLE_PAGE = 'index.html';

const consoleFolder = (): string => fileURLToPath(new URL('../../console/page', import.meta.url));

/** Nothing from other hosts, and no inline scripts and styles. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const getConsole =
  (files: StaticFolder): Handler =>
  async (request) =>
    staticReply(request, found(await files.find(CONSOLE_PAGE)), POLICY);

/** Redirects browsers that open the bare address to the console. Other clients get 404. */
const getStart: Handler = async (request) => {
  if (!request.header('accept').includes('text/html')) throw new AppError('not_found');
  return {
    status: 302,
    headers: { Location: 'ui', Vary: 'Accept', ...guarded(POLICY) },
    contentType: 'text/plain; charset=utf-8',
    bytes: new Uint8Array(),
  };
};

/** A relative redirect, because a proxy may serve the server below a path. */
const getConsoleFolder: Handler = async ({ query }) => {
  const asked = query.size === 0 ? '' : `?${query}`;
  return {
    status: 308,
    headers: { Location: `../ui${asked}`, ...guarded(POLICY) },
    contentType: 'text/plain; charset=utf-8',
    bytes: new Uint8Array(),
  };
};

/** The name contains a digest of the content, so the file may be cached for ever. */
const getConsoleFile =
  (files: StaticFolder): Handler =>
  async (request) => {
    const name = param(request, 'file');
    return staticReply(
      request,
      found(name === CONSOLE_PAGE ? undefined : await files.find(name)),
      POLICY,
      'public, max-age=31536000, immutable',
    );
  };

function found(file: StaticFile | undefined): StaticFile {
  if (file === undefined) throw new AppError('not_found');
  return file;
}

export function consoleHandlers(): OwnHandlers<typeof CONSOLE_ROUTES> {
  const files = new StaticFolder(consoleFolder());
  return {
    start: getStart,
    console: getConsole(files),
    consoleFolder: getConsoleFolder,
    consoleFile: getConsoleFile(files),
  };
}
