// The component schemas of the OpenAPI document: typia's, in short forms, with the refinements, closed where a request
// takes no other fields, and with the common fields where they answer. Pure.
import typia from 'typia';
import type { CommonFields, ErrorEnvelope } from '../../api/common.js';
import type { Content, Contents, RouteDefinition, Schema, Schemas } from '../../api/route.js';

/** Of what every operation shares, as typia words it; the schemas of bodies come with the definitions. */
const SHARED_SCHEMAS = typia.json.schemas<[CommonFields, ErrorEnvelope], '3.1'>().components.schemas ?? {};

// JSON schemas as plain objects, and their rewriting into the short forms people read: `type: [string, 'null']` for a
// choice with null, `enum` for a choice of constants, aliases of numbers and strings in place. Pure.

const REF_START = '#/components/schemas/';

export const refTo = (name: string): Schema => ({ $ref: REF_START + name });

/** The schema, and all inside it, in short forms; `all` are those that its references mean. */
export function shortened(schema: Schema, all: Schemas): Schema {
  const target = schema.$ref === undefined ? undefined : all[schema.$ref.slice(REF_START.length)];
  if (target !== undefined && isInlined(target)) return { ...shortened(target, all), ...described(schema) };
  if (schema.oneOf !== undefined)
    return choice(
      schema.oneOf.map((part) => shortened(part, all)),
      described(schema),
    );
  const { items, properties, ...rest } = schema;
  // What describes a record is TypeScript's own words about records.
  if (rest.additionalProperties !== undefined && Object.keys(properties ?? {}).length === 0) return { type: 'object' };
  return {
    ...rest,
    ...(items && { items: shortened(items, all) }),
    ...(properties && { properties: mapped(properties, (property) => shortened(property, all)) }),
  };
}

/** The names of a schema's components, and of theirs. */
function reached(names: readonly string[], all: Schemas): Set<string> {
  const found = new Set<string>();
  const pending = [...names];
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (found.has(name)) continue;
    found.add(name);
    for (const [, ref] of JSON.stringify(all[name] ?? {}).matchAll(/"#\/components\/schemas\/([^"]+)"/g))
      pending.push(ref as string);
  }
  return found;
}

export function mapped<T, U>(
  record: Readonly<Record<string, T>>,
  change: (value: T, name: string) => U,
): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value, name)]));
}

/** Objects with fields keep their names; records, numbers, strings and choices stand where they are used. */
const isInlined = ({ type, properties }: Schema): boolean =>
  type !== 'object' || Object.keys(properties ?? {}).length === 0;

const described = ({ description }: Schema): Schema => (description === undefined ? {} : { description });

function choice(parts: readonly Schema[], rest: Schema): Schema {
  const others = parts.filter(({ type }) => type !== 'null');
  const nullable = others.length < parts.length;
  const only = others.length === 1 ? others[0] : constants(others);
  if (only?.type === undefined) return { oneOf: nullable ? [...others, { type: 'null' }] : others, ...rest };
  if (!nullable) return { ...only, ...rest };
  return { ...only, type: [only.type, 'null'].flat(), ...(only.enum && { enum: [...only.enum, null] }), ...rest };
}

/** One schema for a choice of constants or of bare types; undefined where it is neither. */
function constants(parts: readonly Schema[]): Schema | undefined {
  const isBare = parts.every((part) => part.type !== undefined && Object.keys(part).length === 1);
  if (isBare) return { type: parts.flatMap(({ type }) => type ?? []) };
  if (parts.some((part) => part.const === undefined)) return undefined;
  return { type: typeof parts[0]?.const, enum: parts.map((part) => part.const) };
}

// What is promised of fields of answers beyond what TypeScript's types can say. Constants.

/** Numbers of answers that are whole and not negative. */
const WHOLE_FIELDS: ReadonlySet<string> = new Set([
  ...[
    'count',
    'chunks',
    'chunks_deleted',
    'chunk_count',
    'doc_count',
    'index',
    'succeeded',
    'failed',
    'size',
    'overlap',
    'version',
    'schema_version',
  ],
  ...[
    'k',
    'result_count',
    'original_result_count',
    'tenant_count',
    'collection_count',
    'search_latency_count',
    'ingest_latency_count',
    'hw_cores',
  ],
  ...[
    'requests_total',
    'search_total',
    'matches_total',
    'documents_indexed_total',
    'documents_deleted_total',
    'chunks_indexed_total',
  ],
  ...[
    'collections_created_total',
    'collections_deleted_total',
    'errors_total',
    'collections_deleted',
    'total_chunks',
    'completed_chunks',
    'keep_previous_seconds',
    'last_n',
    'queries',
    'dim',
  ],
]);

/** Texts of answers that are ISO 8601 times. */
const TIME_FIELDS: ReadonlySet<string> = new Set([
  'created_at',
  'executed_at',
  'started_at',
  'finished_at',
  'updated_at',
  'expires',
  'ingested_at',
  'revoked_at',
]);

/** Schemas of the types of all bodies, and of those that they are made of. */
export function componentSchemas(definitions: readonly RouteDefinition[]): Schemas {
  const requested = definitions.flatMap(({ request }) => jsonOf(request?.content));
  const answered = definitions.flatMap(({ answer }) => jsonOf(answer));
  const raw: Schemas = Object.assign(
    {},
    SHARED_SCHEMAS as unknown as Schemas,
    ...[...requested, ...answered].map(({ components }) => components),
  );
  const [requestNames, answerNames] = [requested.flatMap(namesIn), answered.flatMap(namesIn)];
  const requests = reached(requestNames, raw);
  const answers = new Set(answerNames);
  const short = mapped(raw, (schema) => shortened(schema, raw));
  const refinements: Schemas = Object.assign({}, ...requested.map((content) => content.refinements));
  const wanted = reached([...requestNames, ...answerNames, 'ErrorEnvelope'], short);
  const found: Record<string, Schema> = {};
  for (const name of [...wanted].sort()) {
    const refined = withRefinements(name, short[name] as Schema, requests.has(name), refinements);
    const closed = requests.has(name) ? { ...refined, additionalProperties: false } : refined;
    found[name] = answers.has(name) ? withCommonFields(closed, short.CommonFields as Schema) : closed;
  }
  return found;
}

function jsonOf(contents: Contents | undefined): Content[] {
  const content = contents?.['application/json'];
  return content === undefined ? [] : [content];
}

/** The name of the component that the schema of a body is; none where it stands there itself. */
const namesIn = ({ schema: { $ref } }: Content): string[] => ($ref === undefined ? [] : [$ref.slice(REF_START.length)]);

function withRefinements(name: string, schema: Schema, isRequest: boolean, refinements: Schemas): Schema {
  const { required = [], properties = {}, ...rest } = schema;
  const refined = mapped(properties, (property, field) => ({
    ...(isRequest ? property : ofAnswer(property, field)),
    ...refinements[`${name}.${field}`],
  }));
  return { ...rest, properties: refined, ...(required.length > 0 && { required }), ...refinements[name] };
}

/** TypeScript knows one kind of number, and no times. */
function ofAnswer(property: Schema, field: string): Schema {
  if (property.type === 'number' && WHOLE_FIELDS.has(field)) return { ...property, type: 'integer', minimum: 0 };
  if (property.type === 'string' && TIME_FIELDS.has(field)) return { ...property, format: 'date-time' };
  return property;
}

function withCommonFields(schema: Schema, { properties = {} }: Schema): Schema {
  const { ok, latency_ms, request_id } = properties as { ok: Schema; latency_ms: Schema; request_id: Schema };
  return {
    ...schema,
    properties: { ok, ...schema.properties, latency_ms, request_id },
    required: ['ok', ...(schema.required ?? []), 'latency_ms', 'request_id'],
  };
}
