// Without tracing the SDK of OpenTelemetry is not loaded, so a server that does not trace pays nothing for it. (The
// OpenTelemetry API, types and no-ops, comes with the metrics library.)
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { ALL_IN_THIS_THREAD, startTestServer } from '../../kit/server.js';

const loaded = (): string[] =>
  Object.keys(createRequire(import.meta.url).cache).filter((path) => /@opentelemetry\/(?!api\/)/.test(path));

test('the SDK of OpenTelemetry is loaded where tracing is enabled, and only there', async () => {
  const plain = await startTestServer(ALL_IN_THIS_THREAD);
  assert.equal((await plain.call('POST', '/v1/collections/acme/docs/documents', { text: 'wind' })).status, 201);
  assert.deepEqual(loaded(), []);
  await startTestServer({ ...ALL_IN_THIS_THREAD, SHEAF_TRACING__ENABLED: 'true', SHEAF_TRACING__SAMPLE_SHARE: '0' });
  assert.ok(loaded().length > 0);
});
