// The files of the console, as scripts/console.mjs has built them into dist/src/ui/page: a page, and scripts and styles
// with a digest in their names, each beside a form that brotli has made smaller. Read once each and held, some 100 kB.
// Called by endpoints/console.ts; front thread.
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { staticFile, type StaticFile } from './static-file.js';

export const CONSOLE_PAGE = 'index.html';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
};

export class ConsoleFiles {
  private held: Promise<ReadonlyMap<string, StaticFile>> | undefined;

  /** Undefined for a name that is none of them. */
  async find(name: string): Promise<StaticFile | undefined> {
    this.held ??= readAll(fileURLToPath(new URL('../ui/page', import.meta.url)));
    // Files that could not be read are tried again by the next request.
    this.held.catch(() => (this.held = undefined));
    return (await this.held).get(name);
  }
}

async function readAll(folder: string): Promise<Map<string, StaticFile>> {
  const names = (await readdir(folder)).filter((name) => Object.hasOwn(TYPES, extname(name)));
  const files = names.map(async (name): Promise<[string, StaticFile]> => {
    const [bytes, brotli] = await Promise.all([readFile(join(folder, name)), readFile(join(folder, `${name}.br`))]);
    return [name, staticFile(bytes, TYPES[extname(name)] as string, brotli)];
  });
  return new Map(await Promise.all(files));
}
