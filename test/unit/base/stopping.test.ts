// What takes long to end when the server stops is named in the log, once, and what ends in time is not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { untilEnded } from '../../../src/base/stopping.js';

test('what has not ended after ten seconds is named', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const named: unknown[] = [];
  const log = { warn: (fields: object): void => void named.push(fields) };
  let end = (): void => undefined;
  const jobs = untilEnded(log, 'jobs', new Promise<void>((resolve) => (end = resolve)));
  await untilEnded(log, 'shards', Promise.resolve());
  await assert.rejects(untilEnded(log, 'searches', Promise.reject(new Error('its error'))), /its error/);
  t.mock.timers.tick(9999);
  assert.deepEqual(named, []);
  t.mock.timers.tick(60_000);
  assert.deepEqual(named, [{ waitsFor: 'jobs' }]);
  end();
  await jobs;
});
