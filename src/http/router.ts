// Router: finds the route for a method and a path in a tree of path segments that is built once from the route table.
// Runs on front threads and on the main thread.
import { assert } from '../base/assert.js';
import { AppError, invalidField } from '../api/errors.js';
import type { Route } from './route.js';

interface Match {
  readonly route: Route;
  /** Decoded path parameters by the names in the route's template. */
  readonly params: Readonly<Record<string, string>>;
}

export interface Router {
  /**
   * The route for `method` (lower case; `head` finds the GET route) and the raw path. The path is split before it is
   * decoded, so `%2F` stays inside its segment. If two templates match, the one with a literal further left wins.
   *
   * Throws 404 `not_found`, and 405 `method_not_allowed` with `Allow`. Broken percent-encoding is 422 if the matching
   * route checks its query string, else 404.
   */
  match(method: string, path: string): Match;

  /** The methods that a raw path can be called with, in upper case. Throws 404 `not_found` if there are none. */
  methodsOf(path: string): string[];
}

interface Node {
  readonly literals: Map<string, Node>;
  parameter?: Node;
  /** Routes that end at this node, by method in lower case. */
  readonly endings: Map<string, Ending>;
}

interface Ending {
  readonly route: Route;
  readonly names: readonly string[];
}

/** Builds the tree. Two routes with the same method and path shape are an internal error. */
export function createRouter(routes: readonly Route[]): Router {
  const root = newNode();
  for (const route of routes) insert(root, route);
  return {
    match(method, path) {
      const segments = segmentsOf(path);
      const values: string[] = [];
      const ending = find(root, segments, 0, method === 'head' ? 'get' : method, values);
      if (segments.some(isBroken)) throw brokenPath(ending?.route);
      if (ending === undefined) throw clientErrorFor(root, segments);
      const params: Record<string, string> = {};
      for (let at = 0; at < values.length; at += 1) params[ending.names[at] as string] = values[at] as string;
      return { route: ending.route, params };
    },
    methodsOf(path) {
      const methods = methodsBelow(root, segmentsOf(path));
      if (methods.length === 0) throw new AppError('not_found');
      return methods;
    },
  };
}

function newNode(): Node {
  return { literals: new Map(), endings: new Map() };
}

function insert(root: Node, route: Route): void {
  const names: string[] = [];
  let node = root;
  for (const segment of route.path.slice(1).split('/')) {
    const isParameter = segment.startsWith('{') && segment.endsWith('}');
    if (isParameter) names.push(segment.slice(1, -1));
    node = isParameter ? (node.parameter ??= newNode()) : literalBelow(node, segment);
  }
  const method = route.method.toLowerCase();
  assert(!node.endings.has(method), `two routes for ${route.method} ${route.path}`);
  node.endings.set(method, { route, names });
}

function literalBelow(node: Node, segment: string): Node {
  const below = node.literals.get(segment) ?? newNode();
  node.literals.set(segment, below);
  return below;
}

/**
 * Splits and decodes the path. A segment with broken percent-encoding is marked: it matches no literal, and `match`
 * refuses the path.
 */
function segmentsOf(path: string): string[] {
  const segments = path.slice(1).split('/');
  return path.includes('%') ? segments.map((segment) => decoded(segment) ?? `${BROKEN}${segment}`) : segments;
}

/** Marks a broken segment. No decoded segment begins with it, because UTF-8 has no lone surrogates. */
const BROKEN = '\ud800';
const isBroken = (segment: string): boolean => segment.startsWith(BROKEN);

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

function brokenPath(route: Route | undefined): AppError {
  if (route?.parameters !== undefined)
    return invalidField(['path'], 'Should be valid percent-encoding.', 'url_parsing');
  return new AppError('not_found', 'The path has broken percent-encoding.');
}

/**
 * Finds a route and leaves the parameter values in `values`, in template order. An empty segment never matches a
 * parameter.
 */
function find(
  node: Node,
  segments: readonly string[],
  at: number,
  method: string,
  values: string[],
): Ending | undefined {
  const segment = segments[at];
  if (segment === undefined) return node.endings.get(method);
  const literal = node.literals.get(segment);
  const found = literal && find(literal, segments, at + 1, method, values);
  if (found !== undefined || node.parameter === undefined || segment === '') return found;
  values.push(segment);
  const ending = find(node.parameter, segments, at + 1, method, values);
  if (ending === undefined) values.pop();
  return ending;
}

function clientErrorFor(root: Node, segments: readonly string[]): AppError {
  const allowed = methodsBelow(root, segments);
  if (allowed.length === 0) return new AppError('not_found');
  return new AppError('method_not_allowed', undefined, { headers: { Allow: allowed.join(', ') } });
}

function methodsBelow(root: Node, segments: readonly string[]): string[] {
  const allowed = methodsAt(root, segments, 0).flatMap((method) =>
    method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()],
  );
  return [...new Set(allowed)];
}

function methodsAt(node: Node, segments: readonly string[], at: number): string[] {
  const segment = segments[at];
  if (segment === undefined) return [...node.endings.keys()];
  const literal = node.literals.get(segment);
  return [
    ...(literal === undefined ? [] : methodsAt(literal, segments, at + 1)),
    ...(node.parameter === undefined || segment === '' ? [] : methodsAt(node.parameter, segments, at + 1)),
  ];
}
