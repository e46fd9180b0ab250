// The console at /ui: open to everybody; what the page asks for comes with the key that its user gives it. Its files stand
// in dist/src/console/page, as scripts/console.mjs has built them: a page, and scripts and styles with a digest in their
// names, each beside a form that brotli has made smaller. Read once each and held, some 100 kB. Front thread.
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
    summary: 'The bare address: leads browsers to the console',
    successes: [302],
    empty: [302],
    answer: {},
    codes: ['not_found'],
  }),
  console: ownRoute({
    ...common,
    path: '/ui',
    summary: 'The console: a page to look at collections, search them and see what goes on',
    successes: [200, 304],
    answer: otherContent('text/html'),
  }),
  consoleFolder: ownRoute({
    ...common,
    path: '/ui/',
    summary: 'The console by an address that ends with a slash: leads to the other one',
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

/** Nothing from other hosts, no script and no style in the page itself. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const getConsole =
  (files: StaticFolder): Handler =>
  async (request) =>
    staticReply(request, found(await files.find(CONSOLE_PAGE)), POLICY);

/** Whoever opens the bare address in a browser is led to the console. For programs nothing is there. */
const getStart: Handler = async (request) => {
  if (!request.header('accept').includes('text/html')) throw new AppError('not_found');
  return {
    status: 302,
    headers: { Location: 'ui', Vary: 'Accept', ...guarded(POLICY) },
    contentType: 'text/plain; charset=utf-8',
    bytes: new Uint8Array(),
  };
};

/** Relative: a proxy may have put the server below a path of its own. */
const getConsoleFolder: Handler = async ({ query }) => {
  const asked = query.size === 0 ? '' : `?${query}`;
  return {
    status: 308,
    headers: { Location: `../ui${asked}`, ...guarded(POLICY) },
    contentType: 'text/plain; charset=utf-8',
    bytes: new Uint8Array(),
  };
};

/** What it has in it stands in its name: nobody need ask for it again. */
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
