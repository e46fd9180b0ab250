// Change events in a cluster: a reader on any node gets those of writes that other nodes were asked for, once, and can
// read what they tell of.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Node, ask, skip, startNats, startNode } from '../../kit/nats.js';
import { until } from '../../kit/until.js';

const BASE = '/v1/collections/acme/docs';

/** Reads the events of a collection into a list. */
async function follow(node: Node, t: { after: (end: () => void) => void }): Promise<[string, any][]> {
  const end = new AbortController();
  t.after(() => end.abort());
  const response = await fetch(`${node.url}${BASE}/events`, { signal: end.signal });
  assert.equal(response.status, 200);
  const found: [string, any][] = [];
  const read = async (): Promise<void> => {
    let text = '';
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += Buffer.from(chunk).toString();
      for (let at = text.indexOf('\n\n'); at >= 0; at = text.indexOf('\n\n')) {
        const [type, data] = ['event', 'data'].map(
          (field) => new RegExp(`^${field}: ?(.*)$`, 'm').exec(text.slice(0, at))?.[1],
        );
        if (type !== undefined && data !== undefined) found.push([type, JSON.parse(data)]);
        text = text.slice(at + 2);
      }
    }
  };
  read().catch(() => undefined);
  return found;
}

test('a reader on any node gets the events of all, and can read what they tell of', { skip }, async (t) => {
  const nats = await startNats();
  const nodes = [await startNode(nats), await startNode(nats)] as const;
  const [a, b] = nodes;
  await ask(a, 'POST', BASE, {});
  await until(async () => (await ask(b, 'GET', `${BASE}/detail`)).status === 200);
  const [atA, atB] = [await follow(a, t), await follow(b, t)];
  for (let i = 0; i < 20; i++) {
    const writer = nodes[i % 2] as Node;
    assert.equal((await ask(writer, 'POST', `${BASE}/documents`, { docid: `d${i}`, text: 'A whale.' })).status, 201);
  }
  const ingested = (events: readonly [string, any][]): string[] =>
    events.flatMap(([type, { docids }]) => (type === 'ingest' ? docids : []));
  await until(() => ingested(atB).includes('d18') && ingested(atA).includes('d19'), 'events are missing');
  assert.equal((await ask(b, 'GET', `${BASE}/documents/d18`)).status, 200);
  await ask(a, 'DELETE', `${BASE}/documents/d3`);
  await ask(b, 'PATCH', BASE, { display_name: 'Whales' });
  for (const events of [atA, atB]) {
    await until(() => events.some(([type]) => type === 'delete') && events.some(([type]) => type === 'collection'));
    assert.deepEqual(ingested(events).sort(), Array.from({ length: 20 }, (_, i) => `d${i}`).sort());
  }
  await ask(a, 'DELETE', BASE);
  for (const events of [atA, atB])
    await until(
      () => events.filter(([type, { change }]) => type === 'collection' && change === 'deleted').length === 1,
    );
});
