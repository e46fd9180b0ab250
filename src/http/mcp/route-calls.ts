// Calls of the route table from within the server: what a tool does, it does through the route that a client would
// call, with the same checks of key, scope and collection, and the same refusals. One for each message;
// front thread.
import { AppError } from '../../api/errors.js';
import type { CollectionList } from '../../api/collections.js';
import type { CollectionName, Tenant } from '../../api/ids.js';
import type { Catalog } from '../../service/collections/catalog.js';
import { permitted } from '../../service/tenants/auth.js';
import type { Body, Reply, Request, Route } from '../route.js';

export interface Call {
  readonly params: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: object;
}

/** Where a caller of all tenants names none. */
const TENANT_DEFAULT = 'default';
/** Of collections that there are, where one is not. */
const NAMED_MAX = 50;

export class RouteCalls {
  /** What a call has thrown that is no refusal. */
  fault: Error | undefined;

  constructor(
    private readonly routes: ReadonlyMap<string, Route>,
    private readonly catalog: Pick<Catalog, 'find'>,
    private readonly request: Request,
  ) {}

  /** The tenant that a tool works for: the one it names, else the only one of the key. */
  tenantOf(named: string | undefined): string {
    const { tenants } = this.request.actor;
    if (named === undefined && tenants !== undefined && tenants.length !== 1)
      throw new AppError('invalid_tenant_name', `Name the tenant: this key is good for ${tenants.length}.`);
    return named ?? tenants?.[0] ?? TENANT_DEFAULT;
  }

  /** Whether the key may do all of this in some collection of some tenant. */
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

  /** The answer as an object. Throws AppError as the route does, 403 where the key may not. */
  async json<T>(operation: string, call: Call): Promise<T> {
    return JSON.parse(await this.text(operation, call)) as T;
  }

  async text(operation: string, { params, query = {}, body }: Call): Promise<string> {
    const route = this.routeOf(operation);
    const { id, startedAtMs, actor, trace, aborted, signal, departure } = this.request;
    permitted(actor, { params }, route);
    const inner: Request = {
      id,
      route,
      startedAtMs,
      params,
      query: new URLSearchParams(query),
      header: () => '',
      actor,
      body: bodyOf(body),
      trace,
      aborted,
      signal,
      departure,
    };
    return textOf(await route.handle(inner));
  }

  /**
   * Throws 404 `collection_not_found`, with the names of those there are, where the key may know them. To be called
   * after a call for this collection has gone through: whether it exists is told only to whom it is open.
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
    if (collections.length === 0) return ' There are none yet.';
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

/** As it would go out, but for the common fields. */
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
