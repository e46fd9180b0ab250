// The public Python client of the existing server of this API works with this server: every method of it, unchanged.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pythonWith, runPython } from '../../kit/python.js';
import { ADMIN_KEY } from '../../kit/conformance/stage.js';
import { startOpenAiServer } from '../../kit/openai-server.js';
import { startTestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

const REQUIREMENT = 'pavedb-sdk==0.1.6';
const TENANT_KEY = 'key-of-acme';
/** The script is not part of dist, so the path starts at the project's folder, where tests run. */
const SCRIPT = 'test/system/sdk/methods.py';
const TIMEOUT_MS = 480_000;

interface Case {
  name: string;
  error: string;
}

const { python, skip } = pythonWith(REQUIREMENT);

test(`${REQUIREMENT} works unchanged`, { skip }, async (t) => {
  const keys = JSON.stringify([{ name: 'app', tenant: 'acme', key: TENANT_KEY }]);
  const endpoint = await startOpenAiServer(t, { dim: 4 });
  const instances = JSON.stringify([{ key: 'far', type: 'openai', url: endpoint.url, model: 'm', dim: 4 }]);
  const server = await startTestServer({
    SHEAF_EMBEDDER__INSTANCES: instances,
    SHEAF_AUTH__MODE: 'static',
    SHEAF_AUTH__ADMIN_KEY: ADMIN_KEY,
    SHEAF_AUTH__KEYS: keys,
    SHEAF_COMMON__ENABLED: 'true',
  });
  await server.call(
    'POST',
    '/v1/collections/global/common/documents',
    { docid: 'SHARED', text: 'common knowledge' },
    { authorization: `Bearer ${ADMIN_KEY}` },
  );
  const { code, output } = await runPython(
    python,
    [SCRIPT, server.url, ADMIN_KEY, TENANT_KEY, tempDirectory()],
    TIMEOUT_MS,
  );
  const lines = output.split('\n').filter((line) => line.startsWith('{'));
  for (const { name, error } of lines.map((line) => JSON.parse(line) as Case)) {
    await t.test(name, () => assert.equal(error, ''));
  }
  assert.equal(code, 0, output);
  assert.deepEqual(server.faults, []);
});
