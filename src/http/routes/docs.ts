// The files of the reference page: our page and its start script, and Swagger UI's from its package. Read once each and
// held, about 2 MB in all. Called by endpoints/docs.ts on the front thread.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AppError } from '../../api/errors.js';
import type { RouteDefinition } from '../../api/route.js';
import { openApiDocument } from '../openapi/document.js';
import { type Handler, type ListedRoute, open, param } from '../route.js';
import { type StaticFile, staticFile, staticReply } from '../static-file.js';

const PAGE = 'index.html';
const OURS = ['start.js'];
const SWAGGER_UI = ['swagger-ui-bundle.js', 'swagger-ui.css', 'favicon-32x32.png'];

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  png: 'image/png',
};

class ReferencePage {
  private readonly held = new Map<string, Promise<StaticFile>>();

  page(): Promise<StaticFile> {
    return this.open(PAGE, ourFolder());
  }

  /** A file that the page names; undefined for any other name. */
  file(name: string): Promise<StaticFile> | undefined {
    if (OURS.includes(name)) return this.open(name, ourFolder());
    return SWAGGER_UI.includes(name) ? this.open(name, swaggerUiFolder()) : undefined;
  }

  private open(name: string, folder: string): Promise<StaticFile> {
    const found =
      this.held.get(name) ??
      readFile(join(folder, name)).then((bytes) => staticFile(bytes, TYPES[name.split('.').pop() ?? ''] as string));
    this.held.set(name, found);
    // A file that could not be read is tried again by the next request.
    found.catch(() => this.held.delete(name));
    return found;
  }
}

const ourFolder = (): string => fileURLToPath(new URL('../openapi/page', import.meta.url));

const swaggerUiFolder = (): string =>
  join(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'), '..');

// GET /openapi.json, /docs and the files of that page. Open to everybody; all of it is made or read once and held.
// Handlers on the front thread. The route table (routes.ts) names them.

/**
 * Nothing from other hosts, no script in the page itself. Swagger UI sets styles in the page and has pictures as
 * `data:`.
 */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

function getOpenApi(routes: () => readonly RouteDefinition[]): Handler {
  let made: StaticFile | undefined;
  return async (request) => {
    made ??= staticFile(Buffer.from(JSON.stringify(openApiDocument(routes()))), 'application/json');
    return staticReply(request, made, POLICY);
  };
}

const getPage =
  (page: ReferencePage): Handler =>
  async (request) =>
    staticReply(request, await page.page(), POLICY);

const getPageFile =
  (page: ReferencePage): Handler =>
  async (request) => {
    const file = await page.file(param(request, 'file'));
    if (file === undefined) throw new AppError('not_found');
    return staticReply(request, file, POLICY);
  };

// The OpenAPI document and the page that shows it: open to everybody.
// A part of the route table (routes.ts).

/** Those that document all routes, themselves among them. */
export function docsRoutes(all: () => readonly RouteDefinition[]): ListedRoute[] {
  const page = new ReferencePage();
  return [
    open('openApi', '/openapi.json', [200, 304], getOpenApi(all)),
    open('docs', '/docs', [200, 304], getPage(page)),
    open('docsFile', '/docs/{file}', [200, 304, 404], getPageFile(page)),
  ];
}
