// Work that runs beside a measurement: a failure of either is reported, and nothing goes on running afterwards.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { measureBesideWrites } from '../../../load/suite/peers/measure.js';
import type { Contestant } from '../../../load/suite/peers/participants.js';

const server = createServer((_, response) => void response.end('{}')).listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
after(() => void server.close().closeAllConnections());

const contestant = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, name: 'one' } as Contestant;
const load = { requests: [{ method: 'GET', path: '/' }], connections: 1, seconds: 1 };

test('a write that is refused while searches go on fails the turn, and not the process', async () => {
  const searchingStill = new Promise((resolve) => setTimeout(resolve, 50));
  await assert.rejects(
    measureBesideWrites(contestant, load, async () =>
      Promise.reject(await searchingStill.then(() => new Error('refused'))),
    ),
    /refused/,
  );
});

test('writes stop when the measurement fails', async () => {
  let writes = 0;
  const write = (): Promise<number> => new Promise((resolve) => setTimeout(() => resolve(++writes), 5));
  await assert.rejects(measureBesideWrites({ ...contestant, url: 'http://127.0.0.1:9' }, load, write));
  const before = writes;
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(writes, before);
});
