// The operations of an OpenAPI 3.1 document for random requests: parameters, bodies, and a check of answers by status
// and content type. Read from the server under test.
import type { ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';

type Schema = { readonly [keyword: string]: unknown };

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema: Schema;
}

export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  /** Schemas of request bodies by content type. */
  readonly bodies: ReadonlyMap<string, Schema>;
  /**
   * What is wrong with an answer; undefined if it conforms. A status that the document does not list, or another
   * content type, does not conform.
   */
  answerComplaint(status: number, contentType: string, body: string): string | undefined;
}

interface Media {
  schema?: Schema;
}

interface Described {
  parameters?: readonly Parameter[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, { content?: Record<string, Media> }>;
}

export interface Document {
  readonly paths: Readonly<Record<string, Record<string, Described>>>;
  readonly [field: string]: unknown;
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/** Paths with another protocol: MCP messages have their own envelope and statuses. */
const OTHER_PROTOCOLS: readonly string[] = ['/mcp'];

/** All operations of the document, except those of other protocols. */
export function operationsOf(document: Document): Operation[] {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  ajv.addSchema(document, 'openapi');
  const checkOf = (...pointer: string[]): ValidateFunction =>
    ajv.getSchema(`openapi#/${pointer.map(escaped).join('/')}`) as ValidateFunction;
  const paths = Object.entries(document.paths).filter(([path]) => !OTHER_PROTOCOLS.includes(path));
  return paths.flatMap(([path, item]) =>
    METHODS.filter((method) => item[method] !== undefined).map((method) => {
      const described = item[method] as Described;
      const bodies = new Map(
        Object.entries(described.requestBody?.content ?? {}).map(([type, { schema = {} }]) => [type, schema]),
      );
      const answerComplaint: Operation['answerComplaint'] = (status, type, body) => {
        const content = described.responses[status]?.content;
        if (described.responses[status] === undefined) return `status ${status} is not documented`;
        const known = Object.keys(content ?? {}).find((media) => type.startsWith(media.split(';')[0] as string));
        if (content !== undefined && known === undefined) return `content type ${type} of ${status} is not documented`;
        return known === 'application/json'
          ? schemaComplaint(
              checkOf('paths', path, method, 'responses', String(status), 'content', known, 'schema'),
              body,
            )
          : undefined;
      };
      return { method: method.toUpperCase(), path, parameters: described.parameters ?? [], bodies, answerComplaint };
    }),
  );
}

const escaped = (step: string): string => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'));

function schemaComplaint(check: ValidateFunction, body: string): string | undefined {
  let answer: unknown;
  try {
    answer = JSON.parse(body);
  } catch {
    return 'the body is no JSON';
  }
  return check(answer)
    ? undefined
    : `the body does not fit its schema: ${check.errors?.map(({ instancePath, message }) => `${instancePath} ${message}`).join(', ')}`;
}

/** Follows a reference within the document. */
function resolved(document: Document, schema: Schema): Schema {
  if (typeof schema.$ref !== 'string') return schema;
  const steps = schema.$ref.slice(2).split('/');
  return resolved(
    document,
    steps.reduce((at, step) => (at as Record<string, Document>)[step] as Document, document) as Schema,
  );
}

const DEPTH_MAX = 4;
const ITEMS_MAX = 6;
/** A small set of ids and names, so that requests meet data of earlier requests. */
const WORDS = [
  'a',
  'captain',
  'the white whale',
  'c0',
  'c1',
  'd0',
  'd1',
  'identity',
  'builtin',
  '2026-01-01T00:00:00Z',
  'é 日本 😀',
];

/**
 * Values that conform to a JSON schema, as a fast-check arbitrary. Supports the part of JSON Schema that the server's
 * document uses. A pattern or a `not` is met by a word that fits most of them; a miss is a nearly valid request, which
 * is acceptable.
 */
export function fitting(document: Document, given: Schema, depth = 0): fc.Arbitrary<unknown> {
  const schema = resolved(document, given);
  if ('const' in schema) return fc.constant(schema.const);
  if (Array.isArray(schema.enum)) return fc.constantFrom(...(schema.enum as unknown[]));
  const branches = (schema.oneOf ?? schema.anyOf) as Schema[] | undefined;
  if (branches && schema.properties === undefined)
    return fc.oneof(...branches.map((branch) => fitting(document, branch, depth + 1)));
  const types = [schema.type ?? 'any'].flat() as string[];
  return fc.oneof(...types.map((type) => ofType(document, type, schema, depth)));
}

function ofType(document: Document, type: string, schema: Schema, depth: number): fc.Arbitrary<unknown> {
  if (type === 'null') return fc.constant(null);
  if (type === 'boolean') return fc.boolean();
  if (type === 'string') return ofText(schema);
  if (type === 'integer') return fc.integer({ min: boundOf(schema.minimum, -3), max: boundOf(schema.maximum, 2000) });
  if (type === 'number')
    return fc.oneof(
      fc.double({ noNaN: true, min: -10, max: 10 }),
      fc.integer({ min: boundOf(schema.minimum, -3), max: Math.min(1000, boundOf(schema.maximum, 3)) }),
    );
  if (type === 'array')
    return fc.array(fitting(document, (schema.items as Schema | undefined) ?? {}, depth + 1), {
      minLength: boundOf(schema.minItems, 0),
      maxLength: ITEMS_MAX,
    });
  if (type === 'object') return ofObject(document, schema, depth);
  return fc.jsonValue({ maxDepth: 2 });
}

const boundOf = (value: unknown, fallback: number): number => (typeof value === 'number' ? value : fallback);

function ofText({ minLength }: Schema): fc.Arbitrary<string> {
  const any = fc.string({ unit: 'binary', minLength: boundOf(minLength, 0), maxLength: 40 });
  return fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...WORDS) }, { weight: 1, arbitrary: any });
}

/** For a `oneOf` over required fields, one branch is satisfied and the fields of the others are omitted. */
function ofObject(document: Document, schema: Schema, depth: number): fc.Arbitrary<unknown> {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
  if (properties.length === 0 || depth > DEPTH_MAX) return metadata();
  const branches = ((schema.oneOf ?? schema.anyOf ?? [{}]) as Schema[]).map(
    (branch) => (branch.required ?? []) as string[],
  );
  return fc.constantFrom(...branches).chain((chosen) => {
    const wanted = new Set([...((schema.required ?? []) as string[]), ...chosen]);
    const kept = properties.filter(([name]) => wanted.has(name) || !branches.flat().includes(name));
    const fields = Object.fromEntries(kept.map(([name, field]) => [name, fitting(document, field, depth + 1)]));
    return fc.record(fields, { requiredKeys: [...wanted].filter((name) => name in fields) });
  });
}

/** Objects without a fixed shape: metadata, filters, options. */
function metadata(): fc.Arbitrary<unknown> {
  const name = fc.constantFrom('lang', 'year', 'tags', 'prio_boost', '$and', '$not', '$gt', '__proto__', 'dim', '');
  const scalar = fc.oneof(fc.constantFrom<unknown>('en', '5', 5, true, null, 1870.5), fc.string({ maxLength: 8 }));
  return fc.dictionary(
    name,
    fc.oneof(
      scalar,
      fc.array(scalar, { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('$eq', '$gt', '$in', '$exists', '$wrong'), scalar, { maxKeys: 2 }),
    ),
    { maxKeys: 3, noNullPrototype: true },
  );
}
