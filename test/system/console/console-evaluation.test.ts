// The console's view of search quality: a judgement set is stored from two files, settings are evaluated side by side
// with the figures of `sheaf eval`, weights are fitted, and a run is stopped. In a real Chromium.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHROMIUM } from '../../kit/chromium.js';
import { runInProcess } from '../../kit/cli.js';
import { type ConsolePage, openConsole } from '../../kit/console-page.js';
import { startTestServer } from '../../kit/server.js';

const skip = CHROMIUM === undefined && 'the package chromium is not installed';
const server = await startTestServer({
  SHEAF_AUTH__MODE: 'static',
  SHEAF_AUTH__ADMIN_KEY: 'root-key',
  SHEAF_AUTH__KEYS:
    '[{"name":"all","tenant":"default","key":"all-key"},{"name":"reader","tenant":"default","key":"read-key","scopes":["search"]}]',
});
const asAdmin = { authorization: 'Bearer root-key' };
const ANIMALS = ['heron', 'otter', 'badger', 'lynx', 'marten', 'stoat', 'vole', 'weasel', 'beaver', 'bittern', 'crane'];
const PLACES = ['river', 'forest'];
for (const animal of ANIMALS)
  for (const place of PLACES)
    for (const collection of ['docs', 'short'])
      await server.call(
        'POST',
        `/v1/collections/default/${collection}/documents`,
        {
          docid: `${animal}-${place}`,
          text: collection === 'docs' ? `A ${animal} lives in the ${place}.` : `The ${place}.`,
        },
        asAdmin,
      );

const JUDGED = ANIMALS.flatMap((animal) =>
  PLACES.map((place) => [`${animal} ${place}`, `${animal}-${place}`] as const),
);
const QUERIES = JUDGED.map(([text], i) => JSON.stringify({ _id: `q${i}`, text })).join('\n');
const GRADES = JUDGED.map(([, docid], i) => `q${i}\t${docid}\t2`).join('\n');

async function enter(page: ConsolePage, key: string): Promise<void> {
  await page.shows('dialog[open]');
  await page.fill('dialog input', key);
  await page.press('Enter');
  await page.shows('.tabs a[aria-current]', 'Evaluation');
}

const attach = (page: ConsolePage, name: string, text: string): Promise<unknown> =>
  page.evaluate(`{
    const transfer = new DataTransfer();
    transfer.items.add(new File([${JSON.stringify(text)}], ${JSON.stringify(`${name}.txt`)}));
    const field = document.querySelector('input[name=${name}]');
    field.files = transfer.files;
    field.dispatchEvent(new Event('change', { bubbles: true }));
  }`);

test('a set is stored from two files, and settings are evaluated side by side as sheaf eval does', {
  skip,
}, async (t) => {
  const page = await openConsole(t, `${server.url}/ui#/default/docs/evaluation`);
  await enter(page, 'all-key');
  await page.shows('.empty', 'No judgement set yet');
  await page.fill('.store input:not([type=file])', 'animals');
  await attach(page, 'queries', 'no JSON');
  await attach(page, 'judgements', GRADES);
  await page.click('.store button');
  assert.match(await page.shows('.store .note.bad'), /queries\.txt, line 1: should be JSON with "_id" and "text"/);
  await attach(page, 'queries', QUERIES);
  await page.click('.store button');
  await page.shows('option', 'animals: 22 queries, 22 judgements');

  await page.click('button', 'Add a setting');
  await page.fill('.setting:last-of-type .code', '{"mode"');
  assert.match(await page.shows('.note.bad'), /should be a JSON object/);
  await page.fill('.setting:last-of-type .code', '{"collection":"short","mode":"vector"}');
  await page.fill('.setting:last-of-type input', 'places only');
  await page.click('button', 'Evaluate');
  await page.shows('.wide-table td', 'worse');
  const shown = (await page.evaluate(
    `[...document.querySelectorAll('.wide-table tbody tr')].map((row) => [row.querySelector('th').innerText, ...[...row.querySelectorAll('.interval')].map(({ title }) => title)])`,
  )) as string[][];
  const { stdout, stderr } = await runInProcess(
    [
      'eval',
      '--judgements',
      'animals',
      ...['-c', 'docs', '--json', '--setting', 'vector={"mode":"vector"}', '--setting', 'boost={"mode":"boost"}'],
      ...['--setting', 'hybrid={"mode":"hybrid"}', '--setting', 'places only={"collection":"short","mode":"vector"}'],
    ],
    { env: { SHEAF_URL: server.url, SHEAF_API_KEY: 'all-key' } },
  );
  assert.notEqual(stdout, '', stderr);
  const figure = ({ mean, low, high }: Record<string, number>): string =>
    `${mean?.toFixed(3)} (${low?.toFixed(3)} to ${high?.toFixed(3)})`;
  assert.deepEqual(
    shown,
    JSON.parse(stdout).settings.map(({ setting, ndcg, recall, mrr }: any) => [
      setting,
      ...[ndcg, recall, mrr].map(figure),
    ]),
  );
  assert.deepEqual(await page.violations(), []);
  for (const [scheme, width] of [
    ['light', 1400],
    ['dark', 1400],
    ['light', 390],
    ['dark', 390],
  ] as const) {
    await page.dress(scheme);
    await page.resize(width, 1200);
    await page.shoot(`evaluation-${scheme}-${width}`);
  }
  await page.resize(1280, 860);

  await page.choose('.losses select', '3');
  assert.match(await page.shows('.losses li'), /^\w+ (river|forest)/);
  await page.click('button', 'Fit weights');
  assert.match(await page.shows('.fitted'), /"fusion":\{"method":"(rank|score)"[^]*Chosen by 11 queries/);
  assert.deepEqual(await page.violations(), []);
  await page.reload();
  await page.shows('.setting input');
  assert.equal(await page.evaluate(`document.querySelector('.setting:last-of-type input').value`), 'places only');
});

test('a run is stopped, a refused setting says why, and a key that only searches stores nothing', {
  skip,
}, async (t) => {
  const page = await openConsole(t, `${server.url}/ui#/default/docs/evaluation`);
  await enter(page, 'read-key');
  await page.shows('option', 'animals');
  assert.equal(await page.evaluate(`document.querySelector('.store') ?? document.querySelector('.danger')`), null);
  const searches = await page.hold('*/search', 'Request');
  await page.click('button', 'Evaluate');
  await searches.arrived(1);
  await page.shows('[role=status]', '0 of 66 searches');
  await page.click('button', 'Stop');
  await page.until(`document.querySelector('progress') === null`);
  assert.equal(
    await page.evaluate(`document.querySelector('.wide-table') ?? document.querySelector('.note.bad')`),
    null,
  );
  await page.fill('.setting:last-of-type .code', '{"mode":"nonsense"}');
  await page.send('Fetch.disable');
  await page.click('button', 'Evaluate');
  assert.match(await page.shows('.note.bad'), /nonsense|mode/);
});
