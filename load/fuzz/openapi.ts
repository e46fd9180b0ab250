// The operations of an OpenAPI 3.1 document as the random requests need them: parameters, bodies, and a check for each
// answer by status and content type. Read once from the server under test.
import type { ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

export type Schema = { readonly [keyword: string]: unknown };

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
  /** By content type. */
  readonly bodies: ReadonlyMap<string, Schema>;
  /** undefined: the document does not list the status. '' stands for the wrong content type. */
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

/** The messages of agents there have an envelope and statuses of their own protocol. */
const OTHER_PROTOCOLS: readonly string[] = ['/mcp'];

/** Every operation of the document that is of our own protocol. */
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

/** Follows a reference inside the document. */
export function resolved(document: Document, schema: Schema): Schema {
  if (typeof schema.$ref !== 'string') return schema;
  const steps = schema.$ref.slice(2).split('/');
  return resolved(
    document,
    steps.reduce((at, step) => (at as Record<string, Document>)[step] as Document, document) as Schema,
  );
}
