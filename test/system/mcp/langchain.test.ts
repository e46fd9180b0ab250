// LangChain's adapters for Python and JavaScript use every tool of /mcp, as their users would.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pythonWith, runPython } from '../../kit/python.js';
import { startTestServer } from '../../kit/server.js';

const PYTHON = 'langchain-mcp-adapters==0.3.2';
const NODE = '@langchain/mcp-adapters@1.1.4';
/** The scripts are not part of dist, so the path starts at the project's folder, where tests run. */
const SCRIPTS = 'test/system/mcp';
const INSTALL_TIMEOUT_MS = 180_000;
const TIMEOUT_MS = 120_000;

interface Finding {
  name: string;
  value: unknown;
}

const python = pythonWith(PYTHON);
const node = folderWith(NODE);

test(`${PYTHON} uses every tool`, { skip: python.skip }, async () => {
  await checkFindings(python.python, [join(SCRIPTS, 'langchain.py')]);
});

test(`${NODE} uses every tool`, { skip: node.skip }, async () => {
  // Node looks for packages beside the script, so it is copied there.
  const script = join(node.folder, 'langchain.mjs');
  copyFileSync(join(SCRIPTS, 'langchain.mjs'), script);
  await checkFindings(process.execPath, [script]);
});

async function checkFindings(command: string, args: readonly string[]): Promise<void> {
  const server = await startTestServer();
  const { code, output } = await runPython(command, [...args, server.url], TIMEOUT_MS);
  const found = output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Finding);
  const [tools, stored, hit, chunk, list, unknown, ...more] = found;
  assert.deepEqual([code, more], [0, []], output);
  const schemas = tools?.value as Record<string, { properties: Record<string, object> }>;
  assert.deepEqual(Object.keys(schemas), ['search', 'read_chunk', 'list_collections', 'list_tenants', 'ingest']);
  assert.match(JSON.stringify(schemas.search?.properties.filters), /"type":"object".*metadata match/);
  assert.match(JSON.stringify(schemas.ingest?.properties.metadata), /"type":"object".*searches can filter/);
  assert.equal(stored?.value, 'Stored nemo in sea: 1 chunk.');
  assert.match(String(hit?.value), /^1\. \[nemo::chunk_0\].*\nCaptain Nemo\.$/s);
  assert.match(String(chunk?.value), /\[nemo::chunk_0\] \(asked for\)\nCaptain Nemo\.$/);
  assert.equal(list?.value, 'sea');
  assert.match(String(unknown?.value), /There is no collection "see" of tenant "default"\. Collections: sea\./);
  assert.deepEqual(server.faults, []);
}

/** A folder with this one npm package, created once, as `pythonWith` creates its environments. */
function folderWith(requirement: string): { folder: string; skip: string | false } {
  const folder = join('node_modules/.cache/sheaf-tests', requirement.replaceAll(/[^A-Za-z0-9.]+/g, '-'));
  if (existsSync(folder)) return { folder, skip: false };
  const building = `${folder}.${process.pid}`;
  mkdirSync(building, { recursive: true });
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status, stderr } = spawnSync('npm', ['install', '--prefix', building, ...options, requirement], {
    encoding: 'utf8',
    timeout: INSTALL_TIMEOUT_MS,
  });
  if (status === 0) renameSync(building, folder);
  else rmSync(building, { recursive: true, force: true });
  return { folder, skip: status === 0 ? false : `${requirement} cannot be installed: ${stderr}` };
}
