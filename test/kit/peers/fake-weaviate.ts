// A stand-in for Weaviate, by its documented REST and GraphQL interfaces, as far as a comparison needs them. GraphQL is
// read by one pattern: a query in another form is refused, as an error in an answer of 200.
import type { TestContext } from 'node:test';
import { FakeRows, Refused, shaped, startFakeDatabase, type FakeRoute } from './fake-qdrant.js';

interface Class {
  readonly rows: FakeRows;
  /** Whole values: tokenized as fields. */
  readonly fields: ReadonlySet<string>;
}

const QUERY =
  /^\{Get \{(\w+)\(limit: (\d+), nearVector: \{vector: (\[[^\]]+\])\}(?:, where: \{path: \["(\w+)"\], operator: Equal, valueText: "([^"]*)"\})?\) \{text tenth hundredth _additional \{id distance\}\}\}\}$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[089ab][0-9a-f]{3}-[0-9a-f]{12}$/;

export async function startFakeWeaviate(t: TestContext): Promise<string> {
  const classes = new Map<string, Class>();
  const shards = (): unknown[] =>
    [...classes].map(([name, { rows }]) => ({
      name: 'a',
      class: name,
      objectCount: rows.size,
      vectorIndexingStatus: 'READY',
      vectorQueueLength: 0,
    }));
  const routes: FakeRoute[] = [
    {
      method: 'GET',
      path: /^\/v1\/meta$/,
      answer: () => ({ hostname: 'http://[::]:8080', modules: {}, version: '1.40.0' }),
    },
    {
      method: 'GET',
      path: /^\/v1\/nodes\?output=verbose$/,
      answer: () => ({ nodes: [{ name: 'node1', status: 'HEALTHY', shards: shards() }] }),
    },
    { method: 'POST', path: /^\/v1\/schema$/, answer: (body) => create(classes, body) },
    { method: 'POST', path: /^\/v1\/batch\/objects$/, answer: (body) => store(classes, body) },
    { method: 'POST', path: /^\/v1\/graphql$/, answer: (body) => get(classes, body) },
    { method: 'DELETE', path: /^\/v1\/schema\/(\w+)$/, answer: (_, name) => ({ deleted: classes.delete(name!) }) },
  ];
  return startFakeDatabase(t, routes, (message) => ({ error: [{ message }] }));
}

function create(classes: Map<string, Class>, body: string): object {
  const given = shaped(JSON.parse(body), {
    class: 'string',
    vectorizer: 'string',
    vectorIndexConfig: 'object',
    properties: 'array',
  });
  if (!/^[A-Z]\w*$/.test(given['class'])) throw new Refused(422, `'${given['class']}' is not a valid class name`);
  if (given['vectorizer'] !== 'none') throw new Refused(422, 'there is no such module here');
  const properties = (given['properties'] as unknown[]).map((property) =>
    shaped(property, { name: 'string', dataType: 'array', tokenization: 'string' }),
  );
  classes.set(given['class'], {
    rows: new FakeRows(),
    fields: new Set(
      properties.filter(({ tokenization }) => tokenization === 'field').map(({ name }) => name as string),
    ),
  });
  return given;
}

/** Each object's own success or failure, in an answer of 200. */
function store(classes: Map<string, Class>, body: string): object[] {
  return (shaped(JSON.parse(body), { objects: 'array' })['objects'] as unknown[]).map((object) => {
    const given = shaped(object, { class: 'string', id: 'string', vector: 'numbers', properties: 'object' });
    const message = UUID.test(given['id']) ? undefined : `invalid UUID ${given['id']}`;
    if (message !== undefined) return { ...given, result: { status: 'FAILED', errors: { error: [{ message }] } } };
    classes.get(given['class'])!.rows.put({ id: given['id'], vector: given['vector'], fields: given['properties'] });
    return { ...given, result: { status: 'SUCCESS' } };
  });
}

function get(classes: Map<string, Class>, body: string): object {
  const match = QUERY.exec(shaped(JSON.parse(body), { query: 'string' })['query']);
  const [, name = '', limit, vector = '', field, value] = match ?? [];
  const found = classes.get(name);
  if (!found)
    return { errors: [{ message: match ? `Cannot query field "${name}" on type "GetObjectsObj".` : 'Syntax Error' }] };
  if (field !== undefined && !found.fields.has(field)) return { errors: [{ message: `no whole values of ${field}` }] };
  const objects = found.rows
    .nearest(JSON.parse(vector), Number(limit), field, value)
    .map(({ row, cosine }) => ({ ...row.fields, _additional: { id: row.id, distance: 1 - cosine } }));
  return { data: { Get: { [name]: objects } } };
}
