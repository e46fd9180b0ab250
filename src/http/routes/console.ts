// The console at /ui: open to everybody.
// A part of the route table (routes.ts).
import { ConsoleFiles } from '../console-files.js';
import { getConsole, getConsoleFile, getConsoleFolder, getStart } from '../endpoints/console.js';
import type { Route } from '../route.js';
import { open } from './kit.js';

export function consoleRoutes(): Route[] {
  const files = new ConsoleFiles();
  return [
    open('start', '/', [302, 404], getStart),
    open('console', '/ui', [200, 304], getConsole(files)),
    open('consoleFolder', '/ui/', [308], getConsoleFolder),
    open('consoleFile', '/ui/{file}', [200, 304, 404], getConsoleFile(files)),
  ];
}
