// A server that can write nothing but its data directory, and is not root, as in the image with a read-only root.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chownSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { spawnServe, untilReady } from '../../kit/process.js';
import { tempDirectory } from '../../kit/temp.js';
import { until } from '../../kit/until.js';

const USER = 1000;
/** What mounts have to be read-only, in a namespace of its own; the data directory becomes a mount that is not. */
const READ_ONLY = `set -e
mount --make-rprivate /
for folder in / /tmp "$PWD"; do
  mount --bind "$folder" "$folder"
  mount -o remount,ro,bind "$folder"
done
mount --bind "$SHEAF_DATA_DIR" "$SHEAF_DATA_DIR"
mount -o remount,rw,bind "$SHEAF_DATA_DIR"
cd "$PWD"
`;
const AS_USER = `exec setpriv --reuid ${USER} --regid ${USER} --clear-groups "$@"`;

const inNamespace = (script: string): [string, ...string[]] => ['unshare', '--mount', 'bash', '-c', script, 'bash'];

/** Says why a read-only root cannot be made here. */
function whyNot(): string | false {
  const [command, ...args] = inNamespace(`${READ_ONLY}! touch not-written && ${AS_USER}`);
  const env = { ...process.env, SHEAF_DATA_DIR: tempDirectory() };
  return spawnSync(command, [...args, 'true'], { env }).status !== 0 && 'unshare and mount are not permitted here';
}

test('a server on a read-only root, as a user that is not root, writes to its data directory alone', {
  skip: whyNot(),
}, async () => {
  const data = tempDirectory();
  chownSync(data, USER, USER);
  const env = { SHEAF_DATA_DIR: data, HOME: '/nonexistent', SHEAF_BACKUPS__FOLDER: join(data, 'backups') };
  const server = spawnServe(env, inNamespace(READ_ONLY + AS_USER));
  const url = await untilReady(server);
  const documents = `${url}/v1/collections/default/docs/documents`;
  const form = new FormData();
  form.set('file', new Blob(['<h1>Whales</h1><p>A whale lives under the sea.</p>']), 'whales.html');
  assert.equal((await fetch(documents, { method: 'POST', body: form })).status, 201);
  const found = await fetch(`${url}/v1/collections/default/docs/search?q=whale`);
  assert.equal(((await found.json()) as { matches: unknown[] }).matches.length, 1);
  assert.equal((await fetch(`${url}/v1/admin/backups`, { method: 'POST' })).status, 202);
  await until(async () => {
    const { backups } = (await (await fetch(`${url}/v1/admin/backups`)).json()) as { backups: unknown[] };
    return backups.length === 1;
  }, 'no backup is made');
  assert.equal((await fetch(`${url}/ui`)).status, 200);
  server.child.kill('SIGTERM');
  assert.equal(await server.ended, 0, server.output());
  assert.equal(statSync(join(data, 'catalog')).uid, USER);
});
