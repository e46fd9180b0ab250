// A small run of `load soak requests`: random requests on every operation cause no 500, no hang, and no answer that
// does not fit its schema. The long run is `node dist/load/main.js soak requests --requests 100000 --seed S`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sendRandomRequests } from '../../../load/fuzz/run.js';
import { startTestServer } from '../../kit/server.js';

const REQUESTS = 1500;
const SEED = Number(process.env['SOAK_SEED'] ?? 20_261_121);

const server = await startTestServer({ SHEAF_STORAGE__PARTITIONS: '2' });
const { status } = await server.call('GET', '/openapi.json');

test(`${REQUESTS} random requests, seed ${SEED}`, {
  skip: status === 200 ? false : 'the server has no /openapi.json',
}, async () => {
  const { failures, byStatus } = await sendRandomRequests({
    url: server.url,
    seed: SEED,
    requests: REQUESTS,
    connections: 4,
  });
  assert.ok(failures.length === 0, failures.join('\n\n'));
  assert.deepEqual(server.faults, []);
  const answered = [...byStatus.values()].reduce((a, b) => a + b);
  const succeeded = [...byStatus].filter(([code]) => code < 300).reduce((sum, [, count]) => sum + count, 0);
  assert.equal(answered, REQUESTS);
  assert.ok(succeeded > REQUESTS / 5, `only ${succeeded} of ${REQUESTS} succeeded`);
});
