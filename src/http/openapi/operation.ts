// What stands in the operations tables: everything of an operation's documentation that cannot be read off its route
// and its types. Words for the files of operations/; rendered by document.ts.
import type { ErrorCode } from '../../contract/errors.js';
import type { Answers, Requests } from './bodies.js';
import { refTo, type Schema } from './schema.js';

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

export interface Operation {
  readonly tag: Tag;
  readonly summary: string;
  /** Markdown. */
  readonly description?: string;
  readonly query?: readonly Parameter[];
  readonly request?: RequestBody;
  /** The success body, by media type. */
  readonly answer: Readonly<Record<string, Content>>;
  /** Successes that have no body. */
  readonly empty?: readonly number[];
  /** Refusals in the words of another protocol than the envelope's, by status. */
  readonly foreignRefusals?: Readonly<Record<number, ForeignRefusal>>;
  /** Codes beside those that every operation of its access, body and parameters can give (codes.ts). */
  readonly codes?: readonly ErrorCode[];
}

export interface ForeignRefusal {
  readonly description: string;
  readonly schema: Schema;
  readonly example: unknown;
}

export interface Parameter {
  readonly name: string;
  readonly description: string;
  readonly required?: boolean;
  readonly schema: Schema;
  readonly example?: unknown;
}

export interface RequestBody {
  readonly required: boolean;
  readonly content: Readonly<Record<string, Content>>;
}

export interface Content {
  readonly schema: Schema;
  /** By name. Those of JSON answers are without the common fields, which document.ts adds. */
  readonly examples: Readonly<Record<string, unknown>>;
}

type Json<T> = {
  readonly 'application/json': { readonly schema: Schema; readonly examples: Readonly<Record<string, T>> };
};

export function jsonRequest<N extends keyof Requests>(
  type: N,
  examples: Readonly<Record<string, Requests[N]>>,
): Json<Requests[N]> {
  return { 'application/json': { schema: refTo(type), examples } };
}

export function jsonAnswer<N extends keyof Answers>(type: N, example: Answers[N]): Json<Answers[N]> {
  return { 'application/json': { schema: refTo(type), examples: { answer: example } } };
}

/** A body that is text or bytes, not JSON. */
export function otherContent(mediaType: string, example?: string): Readonly<Record<string, Content>> {
  return { [mediaType]: { schema: { type: 'string' }, examples: example === undefined ? {} : { answer: example } } };
}
