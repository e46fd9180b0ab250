// A reindex job that is watched and steered in the console, in a real Chromium, with a second embedder that is held up:
// running, paused, resumed, the verdict of its quality gate, and the return to the previous vector space.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHROMIUM } from '../../kit/chromium.js';
import { openConsole } from '../../kit/console-page.js';
import { BASE, found, held, ingest, startReindexServer, textOf } from '../../kit/reindex.js';

const skip = CHROMIUM === undefined && 'the package chromium is not installed';

test('a job is followed, paused, resumed and rolled back', { skip }, async (t) => {
  const { server, gate } = await startReindexServer(t);
  await ingest(server, 40);
  const page = await openConsole(t, `${server.url}/ui#/acme/docs/reindex`);
  page.hear(
    (method) =>
      method === 'Page.javascriptDialogOpening' && void page.send('Page.handleJavaScriptDialog', { accept: true }),
  );
  await page.shows('.live');
  gate.close();
  await page.choose('.start select', 'far');
  await page.click('button[type=submit]', 'Start');
  await held(gate);
  await page.shows('.job.running', 'to openai:m');
  await page.shoot('job-running');
  assert.deepEqual(await page.violations(), []);
  await page.click('.job button', 'Pause');
  await page.shows('.job:is(.pausing, .paused)');
  gate.open();
  await page.shows('.job.paused', 'of 40 chunks');
  await page.click('.job button', 'Resume');
  await page.shows('.job.succeeded', '40 of 40 chunks');
  await page.click('button', 'Go back to the previous vector space');
  await page.shows('span', 'searches use the previous vector space');
  assert.match((await server.call('GET', `${BASE}/detail`)).json.vector_space_key, /^builtin/);
  assert.deepEqual(page.complaints, []);
});

test('a gate that is not passed is told with its figures', { skip }, async (t) => {
  const { server } = await startReindexServer(t);
  await ingest(server, 40);
  for (let i = 0; i < 10; i++) await found(server, textOf(i));
  const page = await openConsole(t, `${server.url}/ui#/acme/docs/reindex`);
  await page.choose('.start select', 'far');
  await page.click('.start .tick');
  await page.shows('.start .field', 'Minimum overlap');
  await page.fill('.start input[max="1"]', '1');
  await page.click('button[type=submit]', 'Start');
  await page.shows('.job.failed');
  assert.match(await page.shows('.job .note', 'Gate not passed'), /10 searches, \d+ % of the hits in both/);
  await page.shoot('job-gate');
  assert.deepEqual(await page.violations(), []);
});
