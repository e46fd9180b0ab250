// Schemathesis tests the server by its OpenAPI document, with few examples and a fixed seed: no 500, no undocumented
// status or content type, no body that does not fit its schema.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pythonWith, runPython } from '../../kit/python.js';
import { startTestServer } from '../../kit/server.js';

const REQUIREMENT = 'schemathesis>=4.20,<5';
const CHECKS = 'not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance';
const EXAMPLES_MAX = 10;
const SEED = Number(process.env['SOAK_SEED'] ?? 20_261_121);
const TIMEOUT_MS = 480_000;

/** Tells the tool how to write NDJSON, which it does not know. */
const HOOKS = 'test/soak/fuzz/schemathesis_hooks.py';

const server = await startTestServer({ SHEAF_STORAGE__PARTITIONS: '2' });
const { status } = await server.call('GET', '/openapi.json');
const { python, skip } =
  status === 200 ? pythonWith(REQUIREMENT) : { python: '', skip: 'the server has no /openapi.json' };

for (const [what, where, timeoutS] of [
  ['all operations that end', ['--exclude-path-regex', '/events$'], 120],
  // The tool reads an endless stream for as long as it would wait for an answer.
  ['events', ['--include-path-regex', '/events$'], 2],
] as const) {
  test(`${REQUIREMENT} finds nothing to complain about in ${what}, seed ${SEED}`, { skip }, async (t) => {
    // The collection that the document's examples name.
    await server.call('POST', '/v1/collections/acme/docs', {});
    // The environment was moved after it was built and the tool's own command still contains the old path, so the
    // interpreter runs the module.
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
      // The time that this machine takes to make examples, or to answer them, is no finding.
      '--suppress-health-check',
      'too_slow',
      '--request-timeout',
      String(timeoutS),
      ...where,
    ];
    const { code, output } = await runPython(python, [...command, ...options], TIMEOUT_MS, {
      SCHEMATHESIS_HOOKS: HOOKS,
    });
    t.diagnostic(output.trim().split('\n').slice(-8).join('\n'));
    assert.equal(code, 0, output);
    assert.deepEqual(server.faults, []);
  });
}
