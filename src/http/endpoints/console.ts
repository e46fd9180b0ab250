// GET /ui and the files of that page: open to everybody; what the page asks for comes with the key that its user gives it.
// Handlers on the front thread. The route table (routes.ts) names them.
import { AppError } from '../../contract/errors.js';
import { CONSOLE_PAGE, wantsBrotli, type ConsoleFile, type ConsoleFiles } from '../console-files.js';
import type { Handler, Reply, Request } from '../route.js';
import { param } from './path.js';

/** Nothing from other hosts, no script and no style in the page itself. */
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export const getConsole =
  (files: ConsoleFiles): Handler =>
  async (request) =>
    replyWith(request, await files.find(CONSOLE_PAGE), 'no-cache');

/** What it has in it stands in its name: nobody need ask for it again. */
export const getConsoleFile =
  (files: ConsoleFiles): Handler =>
  async (request) => {
    const name = param(request, 'file');
    return replyWith(request, name === CONSOLE_PAGE ? undefined : await files.find(name), 'public, max-age=31536000, immutable');
  };

function replyWith(request: Request, file: ConsoleFile | undefined, cacheControl: string): Reply {
  if (file === undefined) throw new AppError('not_found');
  const { bytes, contentType, etag } = file.plain;
  const isKnown = request.header('if-none-match').split(',').some((tag) => ['*', etag].includes(tag.trim()));
  const headers = { ETag: etag, 'Cache-Control': cacheControl, 'Content-Security-Policy': POLICY, 'X-Content-Type-Options': 'nosniff', 'Referrer-Policy': 'no-referrer' };
  if (isKnown) return { status: 304, headers, contentType, bytes: new Uint8Array() };
  // What is not handed out so is compressed on its way, where it is worth it.
  const inBrotli = wantsBrotli(request.header('accept-encoding'));
  return { status: 200, headers: { ...headers, ...(inBrotli && { 'Content-Encoding': 'br', Vary: 'Accept-Encoding' }) }, contentType, bytes: inBrotli ? file.brotli : bytes };
}
