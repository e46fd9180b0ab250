// A well-known tool of others walks the OpenAPI document, with few examples and a seed of its own: no 500, no
// undocumented status or content type, no body that its schema refuses.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pythonWith, runPython } from '../../kit/conformance/python.js';
import { startTestServer } from '../../kit/server.js';

const REQUIREMENT = 'schemathesis>=4.20,<5';
const CHECKS = 'not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance';
const EXAMPLES_MAX = 10;
const SEED = Number(process.env['SOAK_SEED'] ?? 20_261_121);
const TIMEOUT_MS = 480_000;

/** How the tool is to write NDJSON, which it does not know. */
const HOOKS = 'test/soak/fuzz/schemathesis_hooks.py';

const server = await startTestServer({ SHEAF_STORAGE__PARTITIONS: '2' });
const { status } = await server.call('GET', '/openapi.json');
const { python, skip } =
  status === 200 ? pythonWith(REQUIREMENT) : { python: '', skip: 'the server has no /openapi.json' };

test(`${REQUIREMENT} finds nothing to complain about, seed ${SEED}`, { skip }, async (t) => {
  // Not the command of its own name: the environment was moved after it was made, and the command has the old place in
  // it.
  const command = [
    '-c',
    'from schemathesis.cli import schemathesis; schemathesis()',
    'run',
    `${server.url}/openapi.json`,
  ];
  const options = [
    '--checks',
    CHECKS,
    '--max-examples',
    String(EXAMPLES_MAX),
    '--seed',
    String(SEED),
    '--phases',
    'examples,fuzzing',
    '--generation-database',
    'none',
    '--no-color',
    // How long this machine takes to make examples, or to answer them, is no finding.
    '--suppress-health-check',
    'too_slow',
    '--request-timeout',
    '120',
    // Events have no end, and it waits for one; agents' messages have statuses and an envelope of their own protocol
    // (http/mcp).
    '--exclude-path-regex',
    '/events$|^/mcp$',
  ];
  const { code, output } = await runPython(python, [...command, ...options], TIMEOUT_MS, { SCHEMATHESIS_HOOKS: HOOKS });
  t.diagnostic(output.trim().split('\n').slice(-8).join('\n'));
  assert.equal(code, 0, output);
  assert.deepEqual(server.faults, []);
});
