// The server that load programs start: how they learn that it does not start.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spawnServer } from '../../../load/kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

test('whoever waits for a server to be ready is told at once that it was killed', async () => {
  const server = await spawnServer(tempDirectory());
  process.kill(server.pid, 'SIGKILL');
  await assert.rejects(server.ready(), /ended with SIGKILL before it was ready/);
});
