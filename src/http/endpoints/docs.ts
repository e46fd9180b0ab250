// GET /openapi.json, /docs and the files of that page. Open to everybody; all of it is made or read once and held.
// Handlers on the front thread. The route table (routes.ts) names them.
import { AppError } from '../../contract/errors.js';
import { openApiDocument } from '../openapi/document.js';
import type { ReferencePage } from '../openapi/reference-page.js';
import type { Handler, Route } from '../route.js';
import { staticFile, staticReply, type StaticFile } from '../static-file.js';
import { param } from './path.js';

/**
 * Nothing from other hosts, no script in the page itself. Swagger UI sets styles in the page and has pictures as
 * `data:`.
 */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export function getOpenApi(routes: () => readonly Route[]): Handler {
  let made: StaticFile | undefined;
  return async (request) => {
    made ??= staticFile(Buffer.from(JSON.stringify(openApiDocument(routes()))), 'application/json');
    return staticReply(request, made, POLICY);
  };
}

export const getPage =
  (page: ReferencePage): Handler =>
  async (request) =>
    staticReply(request, await page.page(), POLICY);

export const getPageFile =
  (page: ReferencePage): Handler =>
  async (request) => {
    const file = await page.file(param(request, 'file'));
    if (file === undefined) throw new AppError('not_found');
    return staticReply(request, file, POLICY);
  };
