// The package as somebody without a checkout installs it: packed, installed into an empty folder without development
// dependencies and scripts, then served, filled, searched and stopped by its command line. Skipped where npm cannot
// reach a registry.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDirectory } from '../../kit/temp.js';

const INSTALL_TIMEOUT_MS = 240_000;
/** The first start compiles the store where no prebuilt binding fits the machine. */
const READY_TIMEOUT_MS = 180_000;
const folder = tempDirectory();

function run(
  command: string,
  args: readonly string[],
  cwd: string,
  timeout = 60_000,
): { code: number | null; out: string } {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8', timeout });
  return { code: status, out: `${stdout}${stderr}${error?.message ?? ''}` };
}

function install(): string | undefined {
  const packed = run('npm', ['pack', '--ignore-scripts', '--loglevel=error', '--pack-destination', folder], '.');
  assert.equal(packed.code, 0, packed.out);
  const archive = readdirSync(folder).find((name) => name.endsWith('.tgz')) as string;
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  // npm's cache is preferred: setup has installed the same packages.
  const { code, out } = run(
    'npm',
    [
      'install',
      '--omit=dev',
      '--ignore-scripts',
      '--prefer-offline',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
      `./${archive}`,
    ],
    folder,
    INSTALL_TIMEOUT_MS,
  );
  return code === 0 ? undefined : `the packages cannot be installed: ${out.trim().split('\n').pop()}`;
}

const skip = install() ?? false;

test('what it needs is installed in the versions that are tested here', { skip }, () => {
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { dependencies: Record<string, string> };
  const { packages: locked } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, { version: string }>;
  };
  for (const name of Object.keys(dependencies)) {
    const { version } = JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8')) as {
      version: string;
    };
    assert.equal(version, locked[`node_modules/${name}`]?.version, name);
  }
});

test('an installation has only the binaries of its platform, no source maps, and at most 250 MB', { skip }, (t) => {
  const found = (pattern: RegExp): string[] =>
    readdirSync(join(folder, 'node_modules'), { recursive: true, encoding: 'utf8' }).filter((path) =>
      pattern.test(path),
    );
  // It runs after an installation with scripts; npm was told to run none.
  const removed = run(process.execPath, ['node_modules/sheaf/scripts/foreign-binaries.mjs'], folder);
  assert.equal(removed.code, 0, removed.out);
  assert.deepEqual(found(/(darwin|win32).*\.(node|dll|dylib)$/), []);
  assert.deepEqual(found(/^sheaf\/.*\.map$/), []);
  assert.ok(found(new RegExp(`_${process.platform}_${process.arch}_\\d+\\.node$`)).length >= 2);
  const megabytes = Number(run('du', ['-sm', 'node_modules'], folder).out.split('\t')[0]);
  t.diagnostic(`${megabytes} MB installed, ${found(/^(@[^/]+\/)?[^@/.][^/]*\/package\.json$/).length} packages`);
  assert.ok(megabytes <= 250, `${megabytes} MB`);
});

test('a packed server runs where nothing but its package is installed', { skip }, async (t) => {
  for (const name of ['ts-patch', 'assemblyscript', 'autocannon'])
    assert.ok(!existsSync(join(folder, 'node_modules', name)), `${name} is for development`);
  const serving = spawn('npx', ['--no-install', 'sheaf', 'serve', '--port', '0'], {
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [serving.stdout, serving.stderr])
    stream.on('data', (piece: Buffer) => (output += piece.toString()));
  t.after(() => process.kill(-(serving.pid as number), 'SIGKILL'));
  const deadlineMs = performance.now() + READY_TIMEOUT_MS;
  while (!/ready at (\S+)/.test(output)) {
    assert.ok(serving.exitCode === null && performance.now() < deadlineMs, output);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const url = /ready at (\S+)/.exec(output)?.[1] as string;
  const sheaf = (...args: string[]) => run('npx', ['--no-install', 'sheaf', ...args, '--url', url], folder);
  writeFileSync(join(folder, 'nemo.md'), 'Captain Nemo commands the Nautilus.');
  assert.equal(sheaf('ingest', 'nemo.md').code, 0);
  assert.match(sheaf('search', 'submarine captain').out, /^ 1\. 0\.\d+ {2}nemo\.md/);
  const client = run(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { SheafClient } from 'sheaf/client'; console.log((await new SheafClient({ url: '${url}' }).health()).status);`,
    ],
    folder,
  );
  assert.equal(client.out, 'ready\n');
});
