// GET /ui and the files of that page: open to everybody; what the page asks for comes with the key that its user gives
// it. Handlers on the front thread. The route table (routes.ts) names them.
import { AppError } from '../../contract/errors.js';
import { CONSOLE_PAGE, type ConsoleFiles } from '../console-files.js';
import type { Handler } from '../route.js';
import { guarded, staticReply, type StaticFile } from '../static-file.js';
import { param } from './path.js';

/** Nothing from other hosts, no script and no style in the page itself. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export const getConsole =
  (files: ConsoleFiles): Handler =>
  async (request) =>
    staticReply(request, found(await files.find(CONSOLE_PAGE)), POLICY);

/** Whoever opens the bare address in a browser is led to the console. For programs nothing is there. */
export const getStart: Handler = async (request) => {
  if (!request.header('accept').includes('text/html')) throw new AppError('not_found');
  return {
    status: 302,
    headers: { Location: 'ui', Vary: 'Accept', ...guarded(POLICY) },
    contentType: 'text/plain; charset=utf-8',
    bytes: new Uint8Array(),
  };
};

/** Relative: a proxy may have put the server below a path of its own. */
export const getConsoleFolder: Handler = async ({ query }) => {
  const asked = query.size === 0 ? '' : `?${query}`;
  return {
    status: 308,
    headers: { Location: `../ui${asked}`, ...guarded(POLICY) },
    contentType: 'text/plain; charset=utf-8',
    bytes: new Uint8Array(),
  };
};

/** What it has in it stands in its name: nobody need ask for it again. */
export const getConsoleFile =
  (files: ConsoleFiles): Handler =>
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
