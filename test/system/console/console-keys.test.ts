// The console of a server with keys, in a real Chromium: the page loads without a key, its calls carry the key that the
// user enters, which is kept for this session only, and errors say what to do next.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { CHROMIUM } from '../../kit/chromium.js';
import { openConsole } from '../../kit/console-page.js';
import { startTestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';
import { until } from '../../kit/until.js';

const skip = CHROMIUM === undefined && 'the package chromium is not installed';
const server = await startTestServer({
  SHEAF_AUTH__MODE: 'static',
  SHEAF_AUTH__ADMIN_KEY: 'root-key',
  SHEAF_AUTH__KEYS: '[{"name":"web","tenant":"acme","key":"acme-key"}]',
});
await server.call(
  'POST',
  '/v1/collections/acme/docs/documents',
  { docid: 'nemo', text: 'Captain Nemo commands the Nautilus.' },
  { authorization: 'Bearer acme-key' },
);

test('a key is asked for, kept in the session alone, and sent with events too', { skip }, async (t) => {
  const page = await openConsole(t, `${server.url}/ui#/acme/docs/documents`);
  await page.shows('dialog[open]', 'API key');
  assert.deepEqual(await page.violations(), []);
  await page.fill('dialog input', 'acme-key');
  await page.press('Enter');
  await page.shows('.rows a', 'nemo');
  await page.shows('.live');
  assert.deepEqual(
    await page.evaluate(
      '[sessionStorage.length, JSON.stringify(sessionStorage).includes("acme-key"), JSON.stringify(localStorage).includes("acme-key"), document.cookie]',
    ),
    [1, true, false, ''],
  );
  assert.ok(!page.requests.some((url) => url.includes('acme-key')), 'the key stands in an address');
  await page.reload();
  await page.click('.rows a', 'nemo');
  await page.shows('.chunk .text', 'Captain Nemo');
  await page.click('button', 'Key');
  await page.click('button', 'Forget the key');
  await page.until(`!document.body.innerText.includes('Captain Nemo')`);
});

test('an upload with a key that was revoked meanwhile asks for another, and says why', { skip }, async (t) => {
  const admin = { authorization: 'Bearer root-key' };
  const { json: made } = await server.call('POST', '/v1/admin/tenants/acme/keys', { label: 'short' }, admin);
  const page = await openConsole(t, `${server.url}/ui#/acme/docs/documents`);
  assert.match(await page.shows('dialog[open]'), /This server requires a key/);
  await page.fill('dialog input', String(made.key));
  await page.press('Enter');
  await page.shows('.rows a', 'nemo');
  await server.call('DELETE', `/v1/admin/tenants/acme/keys/${made.key_id}`, undefined, admin);
  await page.evaluate(`(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(['A whale.'], 'whale.txt'));
    document.querySelector('.drop').dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));
  })()`);
  assert.match(await page.shows('dialog[open]'), /rejects this key/);
  await page.shoot('key-refused');
  assert.match(await page.shows('.uploads li.failed'), /auth_invalid/);
  assert.deepEqual(await page.violations(), []);
});

test('the admin makes a tenant, limits it, gives it a key, revokes that, and deletes the tenant', {
  skip,
}, async (t) => {
  const page = await openConsole(t, `${server.url}/ui#/acme?page=tenants`);
  await page.shows('dialog[open]');
  await page.fill('dialog input', 'root-key');
  await page.press('Enter');
  await page.shows('[aria-label="Tenants"] a', 'acme');
  await page.click('button', 'New tenant');
  await page.fill('dialog input', 'initech');
  await page.click('dialog button', 'Create');
  assert.match(await page.shows('dialog .made-key'), /^sheaf_/);
  assert.deepEqual(await page.violations(), []);
  await page.click('dialog button', 'Done');
  await page.shows('.pane h2', 'initech');
  await page.fill('.quotas label:nth-of-type(3) input', '7');
  await page.click('.quotas button', 'Save the limits');
  await page.shows('.quotas', 'In effect: 7');
  await page.fill('.quotas label:nth-of-type(1) input', 'many');
  await page.click('.quotas button', 'Save the limits');
  await page.shows('.quotas .note', 'a number');
  await page.click('.pane button', 'New key');
  await page.fill('dialog input', 'web');
  await page.click('dialog label', 'ingest');
  await page.click('dialog label', 'manage');
  await page.click('dialog button', 'Create');
  const key = await page.shows('dialog .made-key');
  await page.click('dialog button', 'Done');
  await page.shows('.keys li', 'search; all collections');
  const asked = (): Promise<number> =>
    fetch(`${server.url}/v1/collections/initech`, { headers: { authorization: `Bearer ${key}` } }).then(
      ({ status }) => status,
    );
  assert.equal(await asked(), 200);
  await page.shoot('tenants');
  assert.deepEqual(await page.violations(), []);
  await page.click('button[aria-label="Revoke web"]');
  await page.click('.keys button', 'Revoke for good');
  await page.shows('.keys li.faint', 'revoked');
  assert.equal(await asked(), 401);
  await page.click('.pane button', 'Delete the tenant …');
  await page.click('.pane button', 'Delete initech for good');
  await page.until(
    `![...document.querySelectorAll('[aria-label="Tenants"] a')].some((a) => a.innerText === 'initech')`,
  );
  await page.click('.tabs a', 'Cluster');
  await page.shows('.empty', 'A single machine');
  assert.deepEqual(await page.violations(), []);
});

test('a key opens its tenant and says what it permits; figures are for the admin key, which opens all', {
  skip,
}, async (t) => {
  const page = await openConsole(t, `${server.url}/ui#/globex`);
  await page.shows('dialog[open]');
  await page.fill('dialog input', 'acme-key');
  await page.press('Enter');
  await page.shows('.side a', 'docs');
  assert.equal(
    await page.evaluate('location.hash.startsWith("#/acme") && document.querySelector(".tenant input").readOnly'),
    true,
  );
  await page.until(`document.querySelector('button[title^="Key web: "]') !== null`);
  await page.shows('[aria-label="Tenant acme"] a', 'docs');
  await page.shows('main .note', 'Only the admin key may do this');
  await page.shoot('refused');
  assert.deepEqual(await page.violations(), []);
  await page.press('K');
  await page.shows('dialog[open]');
  await page.fill('dialog input', 'root-key');
  await page.press('Enter');
  await page.shows('.figures', 'documents');
  await page.click('button', 'Key');
  await page.click('button', 'Forget the key');
  assert.equal(await page.evaluate('sessionStorage.length'), 0);
});

test('backups: one is made and restored, after it has been verified', { skip }, async (t) => {
  const folder = join(tempDirectory(), 'backups');
  const own = await startTestServer({ SHEAF_BACKUPS__FOLDER: folder });
  await own.call('POST', '/v1/collections/acme/docs/documents', { docid: 'nemo', text: 'Captain Nemo.' });
  await until(async () => (await own.call('GET', '/v1/admin/backups')).json.count === 1);
  // Names are to the second.
  await sleep(1100);
  const page = await openConsole(t, `${own.url}/ui#/acme?page=backups`);
  await page.shows('[aria-label="Backups"] .figures', 'a folder');
  await page.click('button', 'Make a backup now');
  await page.until(`document.querySelectorAll('[aria-label="Backups"] tbody tr').length === 2`);
  await page.shoot('backups');
  assert.deepEqual(await page.violations(), []);
  await own.call('DELETE', '/v1/collections/acme/docs');
  await page.click('[aria-label="Backups"] tbody button', 'Restore …');
  await page.shows('dialog', '1 document and');
  assert.deepEqual(await page.violations(), []);
  await page.click('dialog button', 'Replace everything');
  await page.shows('dialog', 'The server has now 1 collection');
  await page.click('dialog button', 'Done');
  await page.shows('.side a', 'docs');
  assert.equal((await own.call('GET', '/v1/collections/acme/docs/documents/nemo')).status, 200);
});
