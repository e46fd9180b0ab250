// What the definition of a route says: where it is, who may call it, what goes in and out, and its documentation. The
// definitions stand beside the types of their bodies (collections.ts, search.ts, ...). Routing, authentication, limits,
// the checks of bodies, the OpenAPI document and the types of the use cases come from them. Pure.
import type { IJsonSchemaUnit, IValidation } from 'typia';
import type { Scope } from './choices.js';
import type { ErrorCode } from './errors.js';
import type { CollectionName, Tenant } from './ids.js';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Who may call a route: anyone; the admin (metrics, admin); the tenant in the path or the admin; any valid key. */
export type Access = 'public' | 'metrics' | 'admin' | 'tenant' | 'any';

/**
 * `none`: up to 64 KiB are read and ignored; `json`, `search` and `message` (of MCP): read whole and parsed by the
 * front thread, limits `jsonBytesMax`, `searchBytesMax`, `messageBytesMax`; `document`: limit `documentBytesMax`;
 * `lines`: JSON up to `batchBytesMax`, or NDJSON streamed without a limit of its own; `archive`: a form whose file
 * goes to the disk, limit `archiveBytesMax`; `any_archive`: the same without a limit.
 */
export type BodyKind = 'none' | 'json' | 'search' | 'message' | 'document' | 'lines' | 'archive' | 'any_archive';

/** The groups of the OpenAPI document. */
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

/** A JSON schema of draft 2020-12, as OpenAPI 3.1 has them. */
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
 * What TypeScript's types cannot say of a request: keywords added to the schema of a type, or of one of its fields
 * (`Type.field`).
 */
type Refinements = Schemas;

/** A body of one media type. */
export interface Content {
  readonly schema: Schema;
  /** The schemas that this one refers to, by name. */
  readonly components?: Schemas;
  readonly refinements?: Refinements;
  /** By name. Those of JSON answers are without the common fields, which the document adds. */
  readonly examples: Readonly<Record<string, unknown>>;
}

/** Bodies by media type. */
export type Contents = Readonly<Record<string, Content>>;

/** A refusal in the words of another protocol than the envelope's. */
export interface ForeignRefusal {
  readonly description: string;
  readonly schema: Schema;
  readonly example: unknown;
}

/** What every definition says. */
interface Definition {
  readonly method: Method;
  /** Template: `/v1/collections/{tenant}/{name}/search`. A segment is a literal or one parameter; literals win. */
  readonly path: string;
  readonly access: Access;
  /** What a key or token must be good for, beside its tenant. Absent: any will do. */
  readonly scope?: Scope;
  /** Whether the rate limits of the tenant hold. Absent: for access `tenant` and `any`. */
  readonly isLimited?: boolean;
  /** An error of status 400 stays one, since the specification lists 400 here. Absent: it is 422. */
  readonly keeps400?: boolean;
  /** Unknown parameters of the query string are passed over. Absent: for access `public` and `metrics`. */
  readonly ignoresQuery?: boolean;
  /** May take as long as it takes, though nothing is answered meanwhile. */
  readonly isLong?: true;
  readonly tag: Tag;
  readonly summary: string;
  /** Markdown. */
  readonly description?: string;
  readonly query?: readonly Parameter[];
  /** Error codes beside those that every route of its access, body and path can give. */
  readonly codes?: readonly ErrorCode[];
}

/** A definition as the server and the OpenAPI document take it. */
export interface RouteDefinition extends Definition {
  /** Unique: the id in the OpenAPI document, and the name of the use case or handler. */
  readonly operation: string;
  readonly isLimited: boolean;
  readonly ignoresQuery: boolean;
  readonly body: BodyKind;
  readonly request?: { readonly required: boolean; readonly content: Contents };
  /** Statuses of success. Absent: 200. */
  readonly successes: readonly number[];
  /** Those of them that have no body, beside 304. */
  readonly empty?: readonly number[];
  readonly answer: Contents;
  readonly foreignRefusals?: Readonly<Record<number, ForeignRefusal>>;
  /** Of a route that takes and answers JSON. */
  readonly json?: JsonChecks<unknown, unknown, unknown>;
}

/** A route before it has its name. */
type Unnamed<D> = Omit<D, 'operation'>;

type Check<T> = (input: unknown) => IValidation<T>;

/** What `typia.json.schema<T>()` makes of a type. */
type TypeSchema<T> = IJsonSchemaUnit.IV3_1<T>;

interface JsonRequest<Body> {
  readonly check: Check<Body>;
  readonly schema: TypeSchema<Body>;
  readonly required: boolean;
  /** No body, and `null`, count as `{}`. Absent: no body does where none is required. */
  readonly orNothing?: true;
  readonly refinements?: Refinements;
  readonly examples: Readonly<Record<string, NoInfer<Body>>>;
}

interface JsonDefinition<Path extends string, Query, Body, Answer> extends Definition {
  readonly path: Path;
  /** Checks the values of the query string: numbers and booleans where the parameters say so, else texts. */
  readonly checkQuery?: Check<Query>;
  readonly body?: JsonRequest<Body>;
  /** Absent: 200. */
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

/** A route that takes JSON, or nothing, and answers JSON: a use case of its name does the work. */
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
  Partial<Pick<RouteDefinition, 'body' | 'request' | 'successes' | 'empty' | 'foreignRefusals'>> &
  Pick<RouteDefinition, 'answer'>;

/** A route with a handler of its own in src/http/routes: a stream, a form, a page, or JSON that is not made of objects. */
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

/** The routes of an area, each with its name. */
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

/** A body that is text or bytes, not JSON. */
export function otherContent(mediaType: string, example?: string): Contents {
  return { [mediaType]: { schema: { type: 'string' }, examples: example === undefined ? {} : { answer: example } } };
}

/** Types of path parameters; those of other names are strings. */
interface PathParameters {
  tenant: Tenant;
  name: CollectionName;
  collection: CollectionName;
}

type ParametersIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? { readonly [N in Name]: N extends keyof PathParameters ? PathParameters[N] : string } & ParametersIn<Rest>
  : unknown;

/** What the use case of a route is given beside the caller: the parameters of its path, its query string, its body. */
export type InputOf<R> =
  R extends JsonRoute<infer Path, infer Query, infer Body, infer _Answer>
    ? ParametersIn<Path> & { readonly query: Query; readonly body: Body }
    : never;

/** What the use case of a route answers. */
export type AnswerOf<R> = R extends { readonly json: { readonly example: infer Answer } } ? Answer : never;

/** The operations of an area that use cases answer. */
export type JsonOperations<Routes> = {
  [O in keyof Routes]: Routes[O] extends { readonly json: unknown } ? O : never;
}[keyof Routes];

/** Where the routes of a collection begin: those of its tenant, and those of the admin. */
export const COLLECTION = '/v1/collections/{tenant}/{name}' as const;
export const ADMIN_COLLECTION = '/v1/admin/collections/{tenant}/{name}' as const;
