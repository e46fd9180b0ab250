// The console's look in extreme cases: long values, narrow pages, an empty server, a server that has died, an invalid
// key, file names in all alphabets, keys that are pressed again. In a real Chromium.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHROMIUM } from '../../kit/chromium.js';
import { openConsole, type ConsolePage } from '../../kit/console-page.js';
import { spawnServe, untilReady } from '../../kit/process.js';
import { startTestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

const skip = CHROMIUM === undefined && 'the package chromium is not installed';
const server = await startTestServer();
const DOCS = '/v1/collections/default/docs';
const LONG = 'w'.repeat(400);
await server.call('POST', `${DOCS}/documents`, {
  docid: 'nemo',
  text: `Captain Nemo commands the Nautilus. ${'x'.repeat(300)}`,
  metadata: { summary: LONG, ['k'.repeat(200)]: 1, words: Array.from({ length: 40 }, (_, i) => `word${i}`) },
});
await server.call('POST', `${DOCS}/documents:batch`, {
  documents: Array.from({ length: 80 }, (_, i) => ({ docid: `d${i}`, text: `Document ${i} tells of the sea.` })),
});

await server.call('POST', '/v1/collections/default/demo');
await server.call('POST', '/v1/collections/default/vectors', {
  embedder_type: 'identity',
  embedder_config: { dim: 3 },
});
await server.call('POST', `${DOCS}/documents`, {
  docid: 'book',
  text: Array.from({ length: 9 }, (_, i) => `Chapter ${i} tells of whales. `.repeat(40)).join('\n'),
});

/** By how many pixels the page is wider than its window; 0 where nothing overflows. */
const overflow = (page: ConsolePage): Promise<unknown> =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');

test('long metadata does not widen the page: hits, documents and the log, wide and narrow', { skip }, async (t) => {
  const page = await openConsole(t, `${server.url}/ui#/default/docs/search?q=captain`);
  for (const width of [1400, 390]) {
    await page.resize(width, 844);
    await page.evaluate(`location.hash = '#/default/docs/search?q=captain'`);
    await page.shows('.hit .chip', 'summary');
    assert.equal(await overflow(page), 0, `hits at ${width}`);
    await page.evaluate(`document.querySelector('.hit summary').click()`);
    assert.equal(await overflow(page), 0, `the parts of a score at ${width}`);
    await page.evaluate(`location.hash = '#/default/docs/documents?document=nemo'`);
    await page.shows('.pane .meta', 'summary');
    await page.shows('.pane .chunk .text', 'Nemo');
    assert.equal(await overflow(page), 0, `a document at ${width}`);
    await page.evaluate(`location.hash = '#/default/docs/queries'`);
    await page.click('.rows [data-entry]', 'captain');
    await page.shows('.pane', 'then');
    await page.click('.pane button', 'Replay');
    await page.shows('.pane .hit .chip', 'summary');
    assert.equal(await overflow(page), 0, `a logged search at ${width}`);
    await page.evaluate(`location.hash = '#/default/demo/search'`);
    await page.shows('.suggestions button', 'power fails');
    assert.equal(await overflow(page), 0, `suggestions at ${width}`);
    await page.evaluate(`location.hash = '#/default/vectors/documents'`);
    await page.shows('.empty code', 'documents:batch');
    assert.equal(await overflow(page), 0, `a collection of vectors at ${width}`);
  }
});

test('on a narrow page a document that is tapped is in sight, and so is the list when it is closed', {
  skip,
}, async (t) => {
  const page = await openConsole(t, `${server.url}/ui#/default/docs/documents`);
  await page.resize(390, 844);
  await page.click('.rows a', 'd11');
  await page.shows('.pane .chunk .text', 'Document 11');
  const inSight = (selector: string): string =>
    `{ const { top, bottom } = document.querySelector('${selector}').getBoundingClientRect(); top > -1 && top < innerHeight - 200 && bottom > 0 }`;
  await page.until(inSight('.pane h2'));
  await page.click('.pane a', '✕');
  await page.until(`document.querySelector('.pane') === null`);
  await page.until(inSight('.rows'));
  // A hit opens its chunk among its neighbours, whose texts load later.
  await page.evaluate(`location.hash = '#/default/docs/documents?document=book&chunk=book::chunk_4&q=whales'`);
  await page.until(`document.querySelectorAll('.pane .chunk .text').length === 5`);
  await page.until(inSight('.chunk.chosen'));
});

test('keys that lead to the query do so each time', { skip }, async (t) => {
  const page = await openConsole(t, `${server.url}/ui#/default/docs/documents`);
  await page.shows('.rows a', 'd0');
  const hasFocus = `document.activeElement?.matches('[data-query]') === true`;
  const leave = `document.activeElement.blur(); ${hasFocus}`;
  for (const [view, ...keys] of [
    ['documents', '/'],
    ['search', '/'],
    ['search', '/'],
    ['documents', '/'],
    ['documents', 'g', 's'],
    ['search', 'g', 's'],
    ['compare', 'g', 's'],
    ['documents', 'g', 's'],
    ['documents', 'g', 'c'],
    ['documents', 'g', 'c'],
  ]) {
    await page.evaluate(`location.hash = '#/default/docs/${view}'`);
    await page.shows(
      '.tabs a[aria-current]',
      { documents: 'Documents', search: 'Search', compare: 'Compare' }[view as string],
    );
    if (view !== 'documents') await page.shows('button.main', view === 'search' ? 'Search' : 'Compare');
    assert.equal(await page.evaluate(leave), false);
    await page.press(...keys);
    await page.until(hasFocus);
  }
  // Where hits are visible, `j` moves to a hit.
  await page.evaluate(`location.hash = '#/default/docs/search?q=captain'`);
  await page.click('.hit a', 'nemo');
  await page.shows('.pane .chunk');
  await page.evaluate(`history.back()`);
  await page.shows('.hit a', 'nemo');
  await page.press('j');
  await page.until(`document.activeElement?.matches('.hit a') === true`);
});

test('of many collections the first are listed and the open one, and the others are found by their names', {
  skip,
}, async (t) => {
  const own = await startTestServer();
  for (let i = 0; i < 230; i++) await own.call('POST', `/v1/collections/many/c${String(i).padStart(3, '0')}`);
  await own.call('POST', '/v1/collections/many/c220/documents', { docid: 'nemo', text: 'Captain Nemo.' });
  const page = await openConsole(t, `${own.url}/ui#/many/c220/documents`);
  await page.shows('.rows a', 'nemo');
  await page.shows('.side', 'and 29 more: find them by name');
  await page.shows('.side a[aria-current]', 'c220');
  assert.equal(await page.evaluate(`document.querySelectorAll('.side li').length`), 201);
  await page.fill('.side input[type=search]', 'c229');
  await page.until(`document.querySelectorAll('.side li').length === 1`);
  assert.deepEqual(await page.violations(), []);
});

const DAY_MS = 86_400_000;
/** Charts are of five minutes; their axes may begin and end a little beside them. */
const CHARTED_MS = 360_000;

test('the charts of an empty server are of the last minutes', { skip }, async (t) => {
  const page = await openConsole(t, `${server.url}/ui#/nobody`);
  // A canvas does not reveal its text, so the test records what is drawn on it.
  const listening = `window.drawn = []; const draw = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) { window.drawn.push(text); return draw.call(this, text, ...rest); }`;
  await page.send('Page.addScriptToEvaluateOnNewDocument', { source: listening });
  await page.reload();
  await page.shows('.figures', 'documents');
  await page.until(
    `window.drawn.some((text) => text.includes('/s')) && window.drawn.some((text) => text.includes(':'))`,
  );
  const drawn = (await page.evaluate('window.drawn')) as string[];
  const times = drawn.filter((text) => !text.includes('/s') && !text.includes('ms'));
  const today = new Date().toDateString();
  for (const text of times) {
    const awayMs = Math.abs(Date.parse(`${today} ${text.replace(/\s/g, ' ')}`) - Date.now());
    assert.ok(Math.min(awayMs, DAY_MS - awayMs) < CHARTED_MS, JSON.stringify(times));
  }
});

test('a server that has died is said to be gone, at once where something breaks off', { skip }, async (t) => {
  const env = { SHEAF_DATA_DIR: tempDirectory(), SHEAF_STORAGE__PARTITIONS: '2' };
  const mortal = spawnServe(env);
  const url = await untilReady(mortal);
  const page = await openConsole(t, `${url}/ui#/default/docs`);
  await page.shows('.mark', 'ready');
  await fetch(`${url}/v1/collections/default/docs`, { method: 'POST' });
  await page.reload();
  await page.shows('.live');
  // From here on no timer of the page fires: the mark must follow the connection.
  await page.evaluate(
    '{ for (let timer = setTimeout(() => 0); timer > 0; timer--) clearTimeout(timer); window.setTimeout = () => 0; }',
  );
  mortal.child.kill('SIGKILL');
  await page.shows('.mark.bad', 'no answer');
});

test('a server that does not answer is not ready either', { skip }, async (t) => {
  const frozen = spawnServe({ SHEAF_DATA_DIR: tempDirectory(), SHEAF_STORAGE__PARTITIONS: '2' });
  const page = await openConsole(t, `${await untilReady(frozen)}/ui`);
  await page.shows('.mark', 'ready');
  frozen.child.kill('SIGSTOP');
  await page.shows('.mark.bad', 'no answer');
  frozen.child.kill('SIGCONT');
  await page.shows('.mark.good', 'ready');
});

test('a key has its tick from the server alone', { skip }, async (t) => {
  const guarded = await startTestServer({
    SHEAF_AUTH__MODE: 'static',
    SHEAF_AUTH__ADMIN_KEY: 'root-key',
    SHEAF_AUTH__KEYS: '[{"name":"web","tenant":"acme","key":"acme-key"}]',
  });
  const page = await openConsole(t, `${guarded.url}/ui#/acme`);
  for (const [key, selector, words] of [
    ['wrong-key', '.bar .bad', 'Key rejected'],
    ['acme-key', '.bar button', 'Key ✓'],
  ] as const) {
    await page.shows('dialog[open]');
    await page.fill('dialog input', key);
    await page.press('Enter');
    await page.shows(selector, words);
    assert.equal((await page.shows('.bar')).includes('✓'), key === 'acme-key');
    // The key is kept, and checked again.
    await page.reload();
    await page.shows(selector, words);
    assert.deepEqual(await page.violations(), []);
  }
});

test('files of all alphabets are documents of their names', { skip }, async (t) => {
  const names = ['报告.txt', 'отчёт.txt', '設計書.txt', 'a b.txt', 'a.b.txt', 'notes 2026.txt'];
  const page = await openConsole(t, `${server.url}/ui#/default/names/documents`);
  await page.shows('.empty', 'Drop files here');
  const drop = `(() => {
    const transfer = new DataTransfer();
    for (const name of ${JSON.stringify(names)}) transfer.items.add(new File(['What ' + name + ' says.'], name));
    document.querySelector('.drop').dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));
  })()`;
  await page.evaluate(drop);
  await page.shows('.uploads', '6 of 6 files');
  await page.evaluate(drop);
  await page.shows('.uploads', '12 of 12 files');
  for (const name of names) await page.shows('.rows a', name);
  const { documents } = (await server.call('GET', '/v1/collections/default/names/documents')).json as {
    documents: { docid: string; version: number }[];
  };
  assert.deepEqual(
    documents.map(({ docid, version }) => `${docid} ${version}`).toSorted(),
    names.map((name) => `${name} 2`).toSorted(),
  );
  // A file that is sent without a document id shows its name beside the id that the server made.
  const form = new FormData();
  form.set('file', new Blob(['A whale.']), 'Кит.txt');
  await server.call('POST', '/v1/collections/default/names/documents', form);
  await page.shows('.rows a', 'TXT Кит.txt');
  await page.click('.rows a', 'TXT Кит.txt');
  await page.shows('.pane', 'Кит.txt · version 1');
});
