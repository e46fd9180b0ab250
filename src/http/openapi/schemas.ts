// The component schemas of the OpenAPI document: typia's, in short forms, with the refinements, closed where a request
// takes no other fields, and with the common fields where they answer. Called by document.ts once. Pure.
import { TYPE_SCHEMAS } from './bodies.js';
import { REFINEMENTS, TIME_FIELDS, WHOLE_FIELDS } from './refinements.js';
import { mapped, reached, shortened, type Schema, type Schemas } from './schema.js';

/** The interfaces of bodies.ts that list types and are none themselves. */
const LISTS = ['Requests', 'Answers'];

export function componentSchemas(): Schemas {
  const raw = TYPE_SCHEMAS as unknown as Schemas;
  const requests = reached(namesIn(raw.Requests), raw);
  const answers = new Set(namesIn(raw.Answers));
  const short = mapped(raw, (schema) => shortened(schema, raw));
  const wanted = reached([...LISTS.flatMap((list) => namesIn(raw[list])), 'ErrorEnvelope'], short);
  const found: Record<string, Schema> = {};
  for (const name of [...wanted].sort()) {
    const refined = withRefinements(name, short[name] as Schema, requests.has(name));
    const closed = requests.has(name) ? { ...refined, additionalProperties: false } : refined;
    found[name] = answers.has(name) ? withCommonFields(closed, short.CommonFields as Schema) : closed;
  }
  return found;
}

const namesIn = (list: Schema | undefined): string[] => Object.keys(list?.properties ?? {});

function withRefinements(name: string, schema: Schema, isRequest: boolean): Schema {
  const { required = [], properties = {}, ...rest } = schema;
  const refined = mapped(properties, (property, field) => ({
    ...(isRequest ? property : ofAnswer(property, field)),
    ...REFINEMENTS[`${name}.${field}`],
  }));
  return { ...rest, properties: refined, ...(required.length > 0 && { required }), ...REFINEMENTS[name] };
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
