// Route definitions: path, access, request and answer, and documentation. Definitions are beside the types of their
// bodies (collections.ts, search.ts, ...). Routing, authentication, limits, validation, the OpenAPI document and the
// types of the use cases derive from them. Pure.
import type { IJsonSchemaUnit, IValidation } from 'typia';
import type { Scope } from './choices.js';
import type { ErrorCode } from './errors.js';
import type { CollectionName, Tenant } from './ids.js';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * Who may call a route: `public` anyone; `metrics` and `admin` the admin; `tenant` the tenant in the path or the admin;
 * `any` any valid key.
 */
export type Access = 'public' | 'metrics' | 'admin' | 'tenant' | 'any';

/**
 * How a body is read. `none`: up to 64 KiB are read and ignored. `json`, `search` and `message` (of MCP): read whole
 * and parsed whole, with the limits `jsonBytesMax`, `searchBytesMax`, `messageBytesMax`. `document`:
 * limit `documentBytesMax`. `batch`: limit `batchBytesMax`. `lines`: JSON up to `batchBytesMax`, or NDJSON streamed without a limit. `archive`: a form
 * whose file goes to disk, limit `archiveBytesMax`. `any_archive`: the same without a limit.
 */
export type BodyKind =
  | 'none'
  | 'json'
  | 'search'
  | 'message'
  | 'document'
  | 'batch'
  | 'lines'
  | 'archive'
  | 'any_archive';

/** The tags of the OpenAPI document. */
export type Tag =
  | 'Health'
  | 'Metrics'
  | 'Collections'
  | 'Archives'
  | 'Documents'
  | 'Search'
  | 'Logged searches'
  | 'Reindex jobs'
  | 'Embedders'
  | 'Agents'
  | 'Tenants and keys'
  | 'Documentation';

/** A JSON schema of draft 2020-12, as in OpenAPI 3.1. */
export interface Schema {
  readonly [keyword: string]: unknown;
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

export type Schemas = Readonly<Record<string, Schema>>;

/** A parameter of a query string. */
export interface Parameter {
  readonly name: string;
  readonly description: string;
  readonly required?: boolean;
  readonly schema: Schema;
  readonly example?: unknown;
}

/**
 * Constraints of a request that TypeScript types cannot express: keywords added to the schema of a type, or of one of
 * its fields (`Type.field`).
 */
type Refinements = Schemas;

/** A body of one media type. */
export interface Content {
  readonly schema: Schema;
  /** The schemas that this one refers to, by name. */
  readonly components?: Schemas;
  readonly refinements?: Refinements;
  /** Examples by name. Those of JSON answers lack the common fields, which the document adds. */
  readonly examples: Readonly<Record<string, unknown>>;
}

/** Bodies by media type. */
export type Contents = Readonly<Record<string, Content>>;

/** An error in the format of another protocol. */
export interface ForeignError {
  readonly description: string;
  readonly schema: Schema;
  readonly example: unknown;
}

/** The common part of all definitions. */
interface Definition {
  readonly method: Method;
  /**
   * A template such as `/v1/collections/{tenant}/{name}/search`. A segment is a literal or one parameter; literals take
   * precedence.
   */
  readonly path: string;
  readonly access: Access;
  /** The scope that a key or token needs. Absent: none. */
  readonly scope?: Scope;
  /** Whether the tenant's rate limits apply. Default: true for access `tenant` and `any`. */
  readonly isLimited?: boolean;
  /**
   * Whether errors of status 400 stay 400, because the specification lists 400 for the route. Default: they become 422.
   */
  readonly keeps400?: boolean;
  /** Whether unknown query parameters are ignored. Default: true for access `public` and `metrics`. */
  readonly ignoresQuery?: boolean;
  /** Whether bodies and answers may be MessagePack in place of JSON. */
  readonly msgpack?: true;
  /** Whether the route takes an `Idempotency-Key`. */
  readonly takesKey?: true;
  /** Exempts the route from the request timeout. */
  readonly isLong?: true;
  readonly tag: Tag;
  readonly summary: string;
  /** Markdown. */
  readonly description?: string;
  readonly query?: readonly Parameter[];
  /** Error codes besides those implied by access, body and path. */
  readonly codes?: readonly ErrorCode[];
}

/** A complete definition, as the server and the OpenAPI document use it. */
export interface RouteDefinition extends Definition {
  /** Unique name: the id in the OpenAPI document, and the name of the use case or handler. */
  readonly operation: string;
  readonly isLimited: boolean;
  readonly ignoresQuery: boolean;
  readonly body: BodyKind;
  readonly request?: { readonly required: boolean; readonly content: Contents };
  /** Statuses of success. Default: 200. */
  readonly successes: readonly number[];
  /** Statuses of success without a body, besides 304. */
  readonly empty?: readonly number[];
  readonly answer: Contents;
  readonly foreignErrors?: Readonly<Record<number, ForeignError>>;
  /** Present for a route that takes and answers JSON. */
  readonly json?: JsonChecks<unknown, unknown, unknown>;
}

/** A route that has no name yet. */
type Unnamed<D> = Omit<D, 'operation'>;

type Check<T> = (input: unknown) => IValidation<T>;

/** The result of `typia.json.schema<T>()`. */
type TypeSchema<T> = IJsonSchemaUnit.IV3_1<T>;

interface JsonRequest<Body> {
  readonly check: Check<Body>;
  readonly schema: TypeSchema<Body>;
  readonly required: boolean;
  /** Whether an absent body and `null` count as `{}`. Default: only an absent body, if the body is optional. */
  readonly orNothing?: true;
  readonly refinements?: Refinements;
  readonly examples: Readonly<Record<string, NoInfer<Body>>>;
}

interface JsonDefinition<Path extends string, Query, Body, Answer> extends Definition {
  readonly path: Path;
  /** Validates the query parameters, which have been converted to numbers and booleans as their schemas say. */
  readonly checkQuery?: Check<Query>;
  readonly body?: JsonRequest<Body>;
  /** Default: 200. */
  readonly success?: number;
  readonly answer: { readonly schema: TypeSchema<Answer>; readonly example: NoInfer<Answer> };
}

/** @public The declared types of routes name it. */
export interface JsonChecks<Query, Body, Answer> {
  readonly checkQuery?: Check<Query> | undefined;
  readonly checkBody?: Check<Body> | undefined;
  readonly orNothing: boolean;
  readonly example: Answer;
}

/** A route that takes JSON or nothing, and answers JSON by the use case of the same name. */
export interface JsonRoute<Path extends string, Query, Body, Answer> extends Unnamed<RouteDefinition> {
  readonly path: Path;
  readonly json: JsonChecks<Query, Body, Answer>;
}

export function jsonRoute<const Path extends string, Query, Body, Answer>({
  checkQuery,
  body,
  success = 200,
  answer,
  ...definition
}: JsonDefinition<Path, Query, Body, Answer>): JsonRoute<Path, Query, Body, Answer> {
  return {
    ...withDefaults(definition),
    body: body === undefined ? 'none' : 'json',
    ...(body && { request: { required: body.required, content: json(body.schema, body.examples, body.refinements) } }),
    successes: [success],
    answer: json(answer.schema, { answer: answer.example }),
    json: {
      checkQuery,
      checkBody: body?.check,
      orNothing: body?.orNothing === true,
      example: answer.example,
    },
  };
}

type OwnDefinition = Definition &
  Partial<Pick<RouteDefinition, 'body' | 'request' | 'successes' | 'empty' | 'foreignErrors'>> &
  Pick<RouteDefinition, 'answer'>;

/** A route with its own handler in src/http/routes: a stream, a form, a page, or preassembled JSON. */
export function ownRoute(definition: OwnDefinition): Unnamed<RouteDefinition> {
  return { body: 'none', successes: [200], ...withDefaults(definition) };
}

function withDefaults<D extends Definition>(definition: D): D & Pick<RouteDefinition, 'isLimited' | 'ignoresQuery'> {
  const { access } = definition;
  return {
    isLimited: access === 'tenant' || access === 'any',
    ignoresQuery: access === 'public' || access === 'metrics',
    ...definition,
  };
}

/** Names the routes of an area. */
export function routes<T extends Readonly<Record<string, Unnamed<RouteDefinition>>>>(
  table: T,
): { readonly [O in keyof T]: T[O] & { readonly operation: O } } {
  const named = Object.entries(table).map(([operation, route]) => [operation, { ...route, operation }]);
  return Object.fromEntries(named) as { [O in keyof T]: T[O] & { readonly operation: O } };
}

/** JSON bodies of a type. */
export function json<T>(
  type: TypeSchema<T>,
  examples: Readonly<Record<string, NoInfer<T>>>,
  refinements: Refinements = {},
): Contents {
  const { schema, components } = type as unknown as { schema: Schema; components: { schemas?: Schemas } };
  return { 'application/json': { schema, components: components.schemas ?? {}, refinements, examples } };
}

/** A text or binary body. */
export function otherContent(mediaType: string, example?: string): Contents {
  return { [mediaType]: { schema: { type: 'string' }, examples: example === undefined ? {} : { answer: example } } };
}

/** Types of path parameters; others are strings. */
interface PathParameters {
  tenant: Tenant;
  name: CollectionName;
  collection: CollectionName;
  alias: CollectionName;
}

type ParametersIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? { readonly [N in Name]: N extends keyof PathParameters ? PathParameters[N] : string } & ParametersIn<Rest>
  : unknown;

/** The input of a route's use case besides the caller: path parameters, query parameters, body. */
export type InputOf<R> =
  R extends JsonRoute<infer Path, infer Query, infer Body, infer _Answer>
    ? ParametersIn<Path> & { readonly query: Query; readonly body: Body }
    : never;

/** The answer of a route's use case. */
export type AnswerOf<R> = R extends { readonly json: { readonly example: infer Answer } } ? Answer : never;

/** The operations of an area that use cases answer. */
export type JsonOperations<Routes> = {
  [O in keyof Routes]: Routes[O] extends { readonly json: unknown } ? O : never;
}[keyof Routes];

/** Path prefixes of collection routes, for tenants and for the admin. */
export const COLLECTION = '/v1/collections/{tenant}/{name}' as const;
export const ADMIN_COLLECTION = '/v1/admin/collections/{tenant}/{name}' as const;
