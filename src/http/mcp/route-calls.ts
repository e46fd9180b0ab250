// Calls routes from within the server. A tool works through the route that a client would call, so key, scope and
// collection are checked in the same way and errors are the same. One instance per MCP message. Runs on the main
// thread.
import { AppError } from '../../api/errors.js';
import type { CollectionList } from '../../api/collections.js';
import type { CollectionName, Tenant } from '../../api/ids.js';
import type { Catalog } from '../../service/collections/catalog.js';
import { permitted } from '../../service/tenants/auth.js';
import type { Body, Reply, Request, Route } from '../route.js';

export interface Call {
  readonly params: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  /** Passed as JSON. */
  readonly body?: object;
}

/** The tenant for a caller with access to all tenants that names none. */
const TENANT_DEFAULT = 'default';
/** Number of existing collections listed in an error about a missing one. */
const NAMED_MAX = 50;

export class RouteCalls {
  /** The internal error of a call, if there was one. */
  internalError: Error | undefined;

  constructor(
    private readonly routes: ReadonlyMap<string, Route>,
    private readonly catalog: Pick<Catalog, 'find'>,
    private readonly request: Request,
  ) {}

  /** The tenant that a tool call names, else the only tenant of the key. */
  tenantOf(named: string | undefined): string {
    const { tenants } = this.request.actor;
    if (named === undefined && tenants !== undefined && tenants.length !== 1)
      throw new AppError('invalid_tenant_name', `Name the tenant: this key has access to ${tenants.length} tenants.`);
    return named ?? tenants?.[0] ?? TENANT_DEFAULT;
  }

  /** The tenant of a call that names none; undefined for a key that has to name one. */
  onlyTenant(): string | undefined {
    const { tenants } = this.request.actor;
    return tenants === undefined || tenants.length === 1 ? this.tenantOf(undefined) : undefined;
  }

  /** Whether the key may call all of these operations in at least one collection of at least one tenant. */
  mayCall(operations: readonly string[]): boolean {
    const { actor } = this.request;
    const params = { tenant: actor.tenants?.[0] ?? '' };
    return operations.every((operation) => {
      try {
        return permitted(actor, { params }, this.routeOf(operation)) === actor;
      } catch {
        return false;
      }
    });
  }

  /** The answer, parsed. Throws AppError as the route does, and 403 if the key lacks the right. */
  async json<T>(operation: string, call: Call): Promise<T> {
    return JSON.parse(await this.text(operation, call)) as T;
  }

  async text(operation: string, { params, query = {}, body }: Call): Promise<string> {
    const route = this.routeOf(operation);
    const { id, startedAtMs, actor, trace, aborted, signal, cancelSource } = this.request;
    permitted(actor, { params }, route);
    const inner: Request = {
      id,
      route,
      startedAtMs,
      params,
      query: new URLSearchParams(query),
      header: () => '',
      headerList: [],
      actor,
      charge: () => undefined,
      body: bodyOf(body),
      trace,
      aborted,
      signal,
      cancelSource,
    };
    return textOf(await route.handle(inner));
  }

  /**
   * Throws 404 `collection_not_found`, with the names of existing collections if the key may list them. Must be called
   * only after a call for this collection has been permitted: its existence is not revealed to others.
   */
  async checkExists(tenant: string, collection: string): Promise<void> {
    if (this.catalog.find(tenant as Tenant, collection as CollectionName)) return;
    const missing = `There is no collection ${JSON.stringify(collection)} of tenant ${JSON.stringify(tenant)}.`;
    throw new AppError('collection_not_found', `${missing}${await this.namesThereAre(tenant)}`);
  }

  private async namesThereAre(tenant: string): Promise<string> {
    if (!this.mayCall(['listCollections'])) return '';
    const call = { params: { tenant }, query: { limit: String(NAMED_MAX) } };
    const { collections, next_cursor: more } = await this.json<CollectionList>('listCollections', call);
    if (collections.length === 0) return ' No collections are visible to you.';
    const names = collections.map(({ name }) => name).join(', ');
    return ` Collections: ${names}${more === undefined ? '' : ' and more: see list_collections'}.`;
  }

  private routeOf(operation: string): Route {
    const route = this.routes.get(operation);
    if (!route) throw new Error(`there is no route ${operation}`);
    return route;
  }
}

function bodyOf(body: object = {}): Body {
  const bytes = Buffer.from(JSON.stringify(body));
  const none = (): never => {
    throw new Error('a tool sends JSON');
  };
  return { contentType: 'application/json', isEmpty: false, bytes: async () => bytes, form: none, stream: none };
}

/** The body of a reply as text, without the common fields. */
async function textOf(reply: Reply): Promise<string> {
  if ('json' in reply) return JSON.stringify(reply.json);
  if ('jsonParts' in reply)
    return `${Buffer.concat(reply.jsonParts.map((part) => Buffer.from(part as string))).toString()}}`;
  if ('bytes' in reply) return Buffer.from(reply.bytes).toString();
  let text = '';
  for await (const piece of 'jsonStream' in reply ? reply.jsonStream : reply.stream)
    text += Buffer.from(piece as string).toString();
  return 'jsonStream' in reply ? `${text}}` : text;
}
