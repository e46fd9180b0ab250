// The OpenAPI document, the page that shows it (Swagger UI from its package, with our start script), and the pages of
// docs/. Public. Everything is read or built on demand and kept in memory, about 3 MB. Runs on the main thread.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AppError } from '../../api/errors.js';
import { type RouteDefinition, otherContent, ownRoute, routes } from '../../api/route.js';
import { openApiDocument } from '../openapi/document.js';
import { type Handler, type OwnHandlers, type Reply, type Request, param } from '../route.js';
import { type StaticFile, StaticFolder, staticFile, staticReply } from '../static-file.js';

const common = { method: 'GET', access: 'public', tag: 'Documentation', successes: [200, 304] } as const;

export const DOCS_ROUTES = routes({
  openApi: ownRoute({
    ...common,
    path: '/openapi.json',
    summary: 'This document: OpenAPI 3.1',
    answer: {
      'application/json': { schema: { type: 'object', required: ['openapi', 'info', 'paths'] }, examples: {} },
    },
  }),
  docs: ownRoute({
    ...common,
    path: '/docs',
    summary: 'A page that shows this document and can send its requests',
    answer: otherContent('text/html'),
  }),
  docsFile: ownRoute({
    ...common,
    path: '/docs/{file}',
    summary: 'A script, style or picture of that page, or a page of the documentation, such as `index`',
    answer: {
      ...otherContent('text/html'),
      ...otherContent('text/javascript'),
      ...otherContent('text/css'),
      ...otherContent('image/png'),
    },
  }),
  docsPage: ownRoute({
    ...common,
    path: '/docs/{section}/{page}',
    summary: 'A page of a section of the documentation, such as `guide/quickstart`, or a picture of one',
    answer: { ...otherContent('text/html'), ...otherContent('image/png') },
  }),
});

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

  /** A file that the page uses; undefined for any other name. */
  file(name: string): Promise<StaticFile> | undefined {
    if (OURS.includes(name)) return this.open(name, ourFolder());
    return SWAGGER_UI.includes(name) ? this.open(name, swaggerUiFolder()) : undefined;
  }

  private open(name: string, folder: string): Promise<StaticFile> {
    const found =
      this.held.get(name) ??
      readFile(join(folder, name)).then((bytes) => staticFile(bytes, TYPES[name.split('.').pop() ?? ''] as string));
    this.held.set(name, found);
    // After a failed read, the next request tries again.
    found.catch(() => this.held.delete(name));
    return found;
  }
}

const ourFolder = (): string => fileURLToPath(new URL('../openapi/page', import.meta.url));

const swaggerUiFolder = (): string =>
  join(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'), '..');

/** Nothing from other hosts, and no inline scripts. Swagger UI needs inline styles and `data:` images. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

function getOpenApi(all: () => readonly RouteDefinition[]): Handler {
  let made: StaticFile | undefined;
  return async (request) => {
    made ??= staticFile(Buffer.from(JSON.stringify(openApiDocument(all()))), 'application/json');
    return staticReply(request, made, POLICY);
  };
}

const getPage =
  (page: ReferencePage): Handler =>
  async (request) =>
    staticReply(request, await page.page(), POLICY);

const getPageFile =
  (page: ReferencePage, manual: Manual): Handler =>
  async (request) => {
    const name = param(request, 'file');
    const file = await page.file(name);
    return file ? staticReply(request, file, POLICY) : manual.reply(request, name);
  };

/** Nothing from other hosts, and no scripts. */
const MANUAL_POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The pages of docs/ as built by scripts/docs-pages.mjs: HTML, pictures, and a style with a digest in its name. */
class Manual {
  private readonly folder = new StaticFolder(fileURLToPath(new URL('../../docs', import.meta.url)));

  /** `name` is the address below /docs; pages have no extension. */
  async reply(request: Request, name: string): Promise<Reply> {
    const extension = extname(name);
    const file = extension === '.html' ? undefined : await this.folder.find(extension === '' ? `${name}.html` : name);
    if (file === undefined) throw new AppError('not_found');
    const cacheControl = extension === '.css' ? 'public, max-age=31536000, immutable' : 'no-cache';
    return staticReply(request, file, MANUAL_POLICY, cacheControl);
  }
}

const getManualPage =
  (manual: Manual): Handler =>
  (request) =>
    manual.reply(request, `${param(request, 'section')}/${param(request, 'page')}`);

/** `all` returns all routes to document, including these. */
export function docsHandlers(all: () => readonly RouteDefinition[]): OwnHandlers<typeof DOCS_ROUTES> {
  const page = new ReferencePage();
  const manual = new Manual();
  return {
    openApi: getOpenApi(all),
    docs: getPage(page),
    docsFile: getPageFile(page, manual),
    docsPage: getManualPage(manual),
  };
}
