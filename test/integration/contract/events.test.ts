// The events of a collection over a real connection: sent as they happen, resumed after an id, and a reset where the id
// is too old.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventHub } from '../../../src/service/events/event-hub.js';
import type { CollectionId } from '../../../src/api/ids.js';
import { SpecJudge, type Spec } from '../../kit/openapi.js';
import { startTestServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';

const server = await startTestServer();
const { call, url } = server;
const BASE = '/v1/collections/acme/docs';

interface Told {
  id: number;
  event: string;
  data: Record<string, any>;
}

/** Follows the events until `count` have come. */
async function follow(
  count: number,
  headers: Record<string, string> = {},
  meanwhile: () => Promise<unknown> = async () => undefined,
): Promise<Told[]> {
  const ending = new AbortController();
  const response = await fetch(`${url}${BASE}/events`, { headers, signal: ending.signal });
  assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'text/event-stream']);
  void meanwhile();
  let text = '';
  const told = (): Told[] =>
    text
      .split('\n\n')
      .slice(0, -1)
      .filter((block) => block.startsWith('id:'))
      .map(parsed);
  for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(bytes).toString();
    if (told().length >= count) break;
  }
  ending.abort();
  return told();
}

/** Asserts that each event fits the schema of the OpenAPI document, and its data the schema of its kind. */
async function checkSchema(told: readonly Told[]): Promise<void> {
  const judge = new SpecJudge((await call('GET', '/openapi.json')).json as Spec);
  const { operation, pointer } = judge.operation('collectionEvents');
  const schema = operation.responses[200]?.content?.['text/event-stream']?.schema as {
    oneOf: { properties: { event: { const: string } } }[];
  };
  const at = `${pointer}/responses/200/content/text~1event-stream/schema`;
  for (const { id, event, data } of told) {
    assert.deepEqual(judge.complaints(at, { id: String(id), event, data: JSON.stringify(data) }), []);
    const kind = schema.oneOf.findIndex(({ properties }) => properties.event.const === event);
    assert.deepEqual(judge.complaints(`${at}/oneOf/${kind}/properties/data/contentSchema`, data), []);
  }
}

function parsed(block: string): Told {
  const fields = Object.fromEntries(
    block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  );
  return {
    id: Number(fields.id),
    event: fields.event as string,
    data: JSON.parse(fields.data as string) as Record<string, any>,
  };
}

test('what happens to a collection is told in order, and gone on with behind the last id', async () => {
  assert.equal((await call('GET', `${BASE}/events`)).json.code, 'collection_not_found');
  await call('POST', BASE, {});
  const all = await follow(5, {}, async () => {
    await call('POST', `${BASE}/documents`, { docid: 'a', text: 'one' });
    await call('POST', `${BASE}/documents:batch`, {
      documents: [
        { docid: 'b', text: 'two' },
        { docid: 'c', text: 'three' },
      ],
    });
    await call('DELETE', `${BASE}/documents/b`);
    await call('PATCH', BASE, { display_name: 'Docs' });
    await call('POST', `${BASE}/reindex`, { compact: true });
  });
  assert.deepEqual(
    all.slice(0, 5).map(({ event }) => event),
    ['ingest', 'ingest', 'delete', 'collection', 'job'],
  );
  assert.deepEqual(
    all.slice(0, 3).map(({ data }) => data),
    [
      { documents: 1, chunks: 1, docids: ['a'] },
      { documents: 2, chunks: 2, docids: ['b', 'c'] },
      { documents: 1, chunks: 1, docids: ['b'], docid: 'b' },
    ],
  );
  assert.ok(all.every(({ id }, i) => i === 0 || id > (all[i - 1] as Told).id));
  const behind = await follow(2, { 'last-event-id': String(all[1]?.id) });
  assert.deepEqual(
    behind.slice(0, 2).map(({ id }) => id),
    [all[2]?.id, all[3]?.id],
  );
  const [reset] = await follow(1, { 'last-event-id': '17' });
  assert.equal(reset?.event, 'reset');
  await checkSchema([...all, reset as Told]);
});

test('a reader that goes leaves nothing behind, and the last one hears that the collection is gone', async () => {
  await call('POST', '/v1/collections/acme/other', {});
  const response = await fetch(`${url}/v1/collections/acme/other/events`);
  await call('DELETE', '/v1/collections/acme/other');
  assert.match(await response.text(), /event: collection\ndata: {"change":"deleted"/);
  await until(
    () => server.parts.events.readerCount === 0,
    () => `${server.parts.events.readerCount} readers are left`,
  );
});

test('the ring of events drops the oldest, and a reader that falls behind is disconnected', async () => {
  const hub = new EventHub(1);
  const id = 1 as CollectionId;
  const [slow, first] = [hub.read(id, undefined), hub.read(id, undefined)];
  hub.publish(id, 'ingest', { n: 0 });
  const known = (await first.next(1000))?.id as number;
  for (let n = 1; n <= 300; n++) hub.publish(id, 'ingest', { n });
  const late = hub.read(id, known);
  assert.equal((await late.next(1000))?.type, 'reset');
  const near = hub.read(id, known + 200);
  assert.deepEqual((await near.next(1000))?.data, { n: 201 });
  for (let n = 0; n < 600; n++) hub.publish(id, 'ingest', { n });
  let given = 0;
  while (await slow.next(0)) given++;
  assert.ok(given <= 512, String(given));
  assert.equal(await slow.next(0), null);
});
