// The Python client of this project: its own tests with the real frameworks against a real server, its installation with
// the oldest and the newest Python that are here, and what its types say beside what the server answers.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { installInto, pythonOf, pythonWith, runPython } from '../../kit/python.js';
import { startTestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

/** Tests run in the folder of the project. */
const CLIENT = resolve('clients/python');
const TIMEOUT_MS = 300_000;

const { python, skip } = pythonWith(
  'pytest==9.2.0',
  'httpx==0.28.1',
  'langchain-core==1.8.3',
  'llama-index-core==0.14.25',
  'haystack-ai==3.4.1',
);

test('its tests pass, with LangChain, LlamaIndex and Haystack', { skip }, async (t) => {
  const server = await startTestServer({});
  const args = ['-m', 'pytest', '-p', 'no:cacheprovider', '--tb=short', '-rA', '-q', join(CLIENT, 'tests')];
  const env = { SHEAF_URL: server.url, PYTHONPATH: join(CLIENT, 'src'), PYTHONDONTWRITEBYTECODE: '1' };
  const { code, output } = await runPython(python, args, TIMEOUT_MS, env);
  for (const [, state, name] of output.matchAll(/^(PASSED|FAILED|ERROR|SKIPPED) (\S+)/gm))
    await t.test(name as string, () => assert.equal(state, 'PASSED'));
  assert.equal(code, 0, output);
  assert.match(output, /\d{2} passed/);
});

test('the blocks of its guide run one after the other', { skip }, async () => {
  const server = await startTestServer({});
  const guide = readFileSync('docs/guide/client-python.md', 'utf8');
  const blocks = [...guide.matchAll(/^```python [^\n]*\n(.*?)^```$/gms)].map(([, code]) => code as string);
  assert.ok(blocks.length >= 6);
  for (const block of blocks) {
    const code = block.replaceAll('http://127.0.0.1:8080', server.url);
    const env = { PYTHONPATH: join(CLIENT, 'src'), PYTHONDONTWRITEBYTECODE: '1' };
    const { code: exit, output } = await runPython(python, ['-c', code], TIMEOUT_MS, env);
    assert.equal(exit, 0, output);
    assert.notEqual(output.trim(), '');
  }
});

test('the sync client is made from the async one', { skip }, async () => {
  const { code, output } = await runPython(python, [join(CLIENT, 'generate_sync.py'), '--check'], TIMEOUT_MS);
  assert.equal(code, 0, output);
});

const FIRST_HIT = `
import sys
from sheaf_client import Sheaf
docs = Sheaf(sys.argv[1]).collection("docs")
docs.add("Captain Nemo commands the Nautilus.", docid="nemo")
print(sys.version_info[:2], docs.search("submarine captain")["matches"][0]["meta"]["docid"])
`;

for (const version of ['3.9', '3.13']) {
  const base = pythonOf(version);
  const lacking = base === undefined && `there is no Python ${version} here`;
  test(`it is installed and finds a document with Python ${version}`, { skip: lacking }, async (t) => {
    const server = await startTestServer({});
    const folder = tempDirectory();
    const startedAtMs = performance.now();
    const failure = installInto(folder, base as string, CLIENT);
    if (/Could not find a version|No matching distribution|connection/i.test(failure))
      return t.skip(`its dependencies cannot be installed: ${failure}`);
    assert.equal(failure, '');
    const { output } = await runPython(join(folder, 'bin/python'), ['-c', FIRST_HIT, server.url], TIMEOUT_MS);
    const seconds = (performance.now() - startedAtMs) / 1000;
    assert.equal(output.trim(), `(${version.replace('.', ', ')}) nemo`);
    t.diagnostic(`${seconds.toFixed(1)} s from the installation until the first hit`);
  });
}

/** The schemas of the API that the types of the client are of. */
const SCHEMAS: Readonly<Record<string, string>> = {
  SearchHit: 'SearchHit',
  SearchAnswer: 'SearchAnswer',
  Ingested: 'Ingested',
  BatchItem: 'BatchItemResult',
  BatchAnswer: 'BatchAnswer',
  StoredDocument: 'StoredDocument',
  CollectionDetail: 'CollectionDetail',
  CountAnswer: 'CountAnswer',
};

test('its types have no field that the server does not answer', async () => {
  const server = await startTestServer({});
  const { json } = await server.call('GET', '/openapi.json');
  const schemas = json.components.schemas as Record<string, { properties?: object; allOf?: { properties?: object }[] }>;
  const fieldsOf = (name: string): Set<string> => {
    const { properties = {}, allOf = [] } = schemas[name] ?? {};
    return new Set([properties, ...allOf.map((each) => each.properties ?? {})].flatMap(Object.keys));
  };
  const source = readFileSync(join(CLIENT, 'src/sheaf_client/types.py'), 'utf8');
  const classes = source.split(/^class /m).slice(1);
  for (const [type, schema] of Object.entries(SCHEMAS)) {
    const body = classes.find((each) => each.startsWith(`${type}(`));
    assert.ok(body, type);
    const own = [...body.matchAll(/^ {4}(\w+):/gm)].map(([, field]) => field as string);
    const known = fieldsOf(schema);
    assert.ok(known.size > 0, schema);
    assert.deepEqual(
      own.filter((field) => !known.has(field)),
      [],
      type,
    );
  }
});
