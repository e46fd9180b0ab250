// The OpenAPI document and the page that shows it: open to everybody.
// A part of the route table (routes.ts).
import { getOpenApi, getPage, getPageFile } from '../endpoints/docs.js';
import { ReferencePage } from '../openapi/reference-page.js';
import type { Route } from '../route.js';
import { open } from './kit.js';

/** The routes, and those that document them all. */
export function withDocs(routes: readonly Route[]): Route[] {
  const page = new ReferencePage();
  const all: Route[] = [
    ...routes,
    open(
      'openApi',
      '/openapi.json',
      [200, 304],
      getOpenApi(() => all),
    ),
    open('docs', '/docs', [200, 304], getPage(page)),
    open('docsFile', '/docs/{file}', [200, 304, 404], getPageFile(page)),
  ];
  return all;
}
