// GET /openapi.json, /docs and the files of that page. Open to everybody; all of it is made or read once and held.
// Handlers on the front thread. The route table (routes.ts) names them.
import { AppError } from '../../contract/errors.js';
import { openApiDocument } from '../openapi/document.js';
import { ReferencePage, staticFile, type StaticFile } from '../openapi/reference-page.js';
import type { Handler, Reply, Request, Route } from '../route.js';
import { param } from './path.js';

/** Nothing from other hosts, no script in the page itself. Swagger UI sets styles in the page and has pictures as `data:`. */
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export function getOpenApi(routes: () => readonly Route[]): Handler {
  let made: StaticFile | undefined;
  return async (request) => {
    made ??= staticFile(Buffer.from(JSON.stringify(openApiDocument(routes()))), 'application/json');
    return replyWith(request, made);
  };
}

export const getPage =
  (page: ReferencePage): Handler =>
  async (request) =>
    replyWith(request, await page.page());

export const getPageFile =
  (page: ReferencePage): Handler =>
  async (request) => {
    const file = await page.file(param(request, 'file'));
    if (file === undefined) throw new AppError('not_found');
    return replyWith(request, file);
  };

function replyWith(request: Request, { bytes, contentType, etag }: StaticFile): Reply {
  const isKnown = request.header('if-none-match').split(',').some((tag) => ['*', etag].includes(tag.trim()));
  const headers = { ETag: etag, 'Cache-Control': 'no-cache', 'Content-Security-Policy': POLICY, 'X-Content-Type-Options': 'nosniff', 'Referrer-Policy': 'no-referrer' };
  return isKnown ? { status: 304, headers, contentType, bytes: new Uint8Array() } : { status: 200, headers, contentType, bytes };
}
