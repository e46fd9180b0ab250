// The files of the reference page: our page and its start script, and Swagger UI's from its package. Read once each and
// held, about 2 MB in all. Called by endpoints/docs.ts on the front thread.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { staticFile, type StaticFile } from '../static-file.js';

const PAGE = 'index.html';
const OURS = ['start.js'];
const SWAGGER_UI = ['swagger-ui-bundle.js', 'swagger-ui.css', 'favicon-32x32.png'];

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  png: 'image/png',
};

export class ReferencePage {
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

const ourFolder = (): string => fileURLToPath(new URL('./page', import.meta.url));

const swaggerUiFolder = (): string =>
  join(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'), '..');
