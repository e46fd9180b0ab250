// The console in a real Chromium, as a user goes through it: the demo, searching, documents, uploads, the query log,
// jobs, the map, live figures, the keyboard. axe-core checks each view in light and dark; screenshots go to a temporary
// folder.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { CHROMIUM } from '../../kit/chromium.js';
import { openConsole, type ConsolePage } from '../../kit/console-page.js';
import { startTestServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';

const skip = CHROMIUM === undefined && 'the package chromium is not installed';
const server = await startTestServer();
const DEMO = '/v1/collections/default/demo';
await server.call('POST', DEMO, { chunking: { strategy: 'fixed', size: 240 } });
assert.equal(
  (await server.call('POST', `${DEMO}/documents:batch`, readFileSync('src/console/demo/corpus.json', 'utf8'))).json
    .failed,
  0,
);

/** Runs axe-core in light and dark, with a screenshot of each. */
async function inspect(page: ConsolePage, name: string): Promise<void> {
  for (const scheme of ['light', 'dark'] as const) {
    await page.dress(scheme);
    await page.shoot(`${name}-${scheme}`);
    assert.deepEqual(await page.violations(), [], `${name}, ${scheme}`);
  }
  await page.dress('light');
}

/**
 * Asserts that the page requested nothing from other servers, and that the browser complained only about expected
 * client errors.
 */
function assertClean(page: ConsolePage, expected?: RegExp): void {
  assert.deepEqual(
    page.complaints.filter((complaint) => expected?.test(complaint) !== true),
    [],
  );
  assert.deepEqual(
    [...new Set(page.requests.filter((url) => !url.startsWith('data:')).map((url) => new URL(url).origin))],
    [server.url],
  );
}

test('on a new server: the demo with one click, a suggested query, a hit among its neighbours', { skip }, async (t) => {
  const page = await openConsole(t, `${server.url}/ui#/fresh`);
  await page.shows('.figures', 'documents');
  await page.shows('canvas');
  await inspect(page, 'overview');
  await page.click('button', 'Load the demo');
  await page.shows('.side a', 'demo');
  await page.shows('.suggestions button');
  await page.evaluate(`location.hash = '#/fresh'`);
  await page.shows('[aria-label="Tenant fresh"] tr', 'demo');
  await page.shows('[aria-label="The whole server"] .figures', 'documents');
  await inspect(page, 'overview-filled');
  await page.evaluate(`history.back()`);
  await page.shows('.suggestions button');
  await inspect(page, 'suggestions');
  await page.click('.suggestions button', 'why is the sea salty');
  await page.shows('.hit mark', 'sea');
  assert.match(await page.shows('.waterfall'), /embed[^]*search[^]*hydrate/);
  assert.match(await page.shows('.hit'), /boost: cosine/);
  await inspect(page, 'search');
  await page.click('.hit a', 'why-the-sea-is-salty::chunk_1');
  assert.match(await page.shows('.chunk.chosen .text', 'salty'), /sea/);
  assert.match(await page.shows('.pane'), /2 of \d/);
  await page.shows('.chunk.chosen mark', 'salty');
  assert.ok(Number(await page.evaluate(`document.querySelectorAll('.chunk').length`)) >= 2);
  await inspect(page, 'chunk');
  assertClean(page);
});

test('the playground: mode, weights, filters; the address keeps them; two settings side by side', {
  skip,
}, async (t) => {
  const page = await openConsole(t, `${server.url}/ui#/default/demo/search`);
  await page.fill('[data-query]', 'star light');
  await page.choose('.settings select', 'hybrid');
  await page.click('button', 'Add a condition');
  await page.fill('input[aria-label=Field]', 'topic');
  await page.fill('input[aria-label=Value]', 'sky');
  await page.shows('.told', '{"topic":{"$eq":"sky"}}');
  await page.click('button[type=submit]', 'Search');
  const hits = await page.shows('.hits');
  assert.match(hits, /hybrid: vector rank/);
  assert.doesNotMatch(hits, /topic: (?!sky)/);
  assert.match(String(await page.evaluate('location.hash')), /mode=hybrid/);
  await page.reload();
  await page.shows('.hits', 'why-stars-shine');
  await page.click('.tools a', 'Compare');
  await page.choose('[aria-label="Side B"] select', 'vector');
  await page.click('button', 'Compare');
  const [moved, told] = (await page.until(
    `{ const move = document.querySelector('[aria-label="Side B"] .move:is(.up, .down)'); [move.innerText, move.ariaLabel] }`,
  )) as [string, string];
  assert.match(moved, /^(\d+) → (\d+), (up|down) \d+$/);
  assert.match(told, /^rank \d+ in A, \d+ in B: (up|down) \d+$/);
  assert.match(await page.shows('[aria-label=Difference]'), /\d+ %/);
  await inspect(page, 'compare');
  assertClean(page);
});

test('searching while typing, facets that filter, and the search as a command that finds the same', {
  skip,
}, async (t) => {
  const page = await openConsole(t, `${server.url}/ui#/default/demo/search`);
  await page.click('.fold .tick', 'Search while I type');
  await page.fill('input[placeholder="fields, with commas"]', 'topic');
  const length = String(await page.evaluate('history.length'));
  await page.fill('[data-query]', 'star');
  await page.fill('[data-query]', 'star light');
  await page.shows('.facets .chip', 'sky');
  assert.match(String(await page.evaluate('location.hash')), /q=star\+light/);
  assert.equal(String(await page.evaluate('history.length')), length, 'typing leaves no history');
  await page.click('.facets .chip', 'sky');
  await page.shows('.told', '{"topic":{"$eq":"sky"}}');
  assert.doesNotMatch(await page.shows('.hits'), /topic: (?!sky)/);
  // Other values of the field are there to be chosen as well.
  await page.shows('.facets .chip[aria-pressed=true]', 'sky');
  await page.click('.facets .chip[aria-pressed=false]', 'sea');
  await page.shows('.told', '{"topic":{"$in":["sky","sea"]}}');
  await page.click('.facets .chip[aria-pressed=true]', 'sea');
  await page.shows('.told', '{"topic":{"$eq":"sky"}}');
  await page.click('.copy-as summary', 'Copy as code');
  const command = await page.shows('.copy-as pre', 'curl');
  await inspect(page, 'search-facets');
  const found = JSON.parse((await promisify(execFile)('bash', ['-c', command])).stdout) as {
    matches: { id: string }[];
  };
  const shown = await page.evaluate(`[...document.querySelectorAll('.hit header a')].map((link) => link.innerText)`);
  assert.deepEqual(
    shown,
    found.matches.map(({ id }) => id),
  );
  await page.click('.copy-as button', 'Python');
  await page.shows('.copy-as pre', 'from sheaf_client import Sheaf');
  assertClean(page);
});

test('documents that are ticked are deleted together', { skip }, async (t) => {
  for (const docid of ['a', 'b', 'c'])
    await server.call('POST', '/v1/collections/default/ticks/documents', { docid, text: `The text ${docid}.` });
  const page = await openConsole(t, `${server.url}/ui#/default/ticks/documents`);
  await page.shows('.rows', 'c');
  await page.click('input[aria-label="Tick a"]');
  await page.click('input[aria-label="Tick c"]');
  await page.shows('[aria-label="Ticked documents"]', '2 documents ticked');
  await inspect(page, 'documents-ticked');
  await page.click('[aria-label="Ticked documents"] button', 'Delete …');
  await page.click('[aria-label="Ticked documents"] button', 'Delete 2 documents for good');
  await page.shows('.faint', '1 document');
  const { json } = await server.call('GET', '/v1/collections/default/ticks/documents');
  assert.deepEqual(
    json.documents.map(({ docid }: { docid: string }) => docid),
    ['b'],
  );
  assertClean(page);
});

test('documents are filtered, sorted and shown with their metadata, and the address keeps that', {
  skip,
}, async (t) => {
  const path = '/v1/collections/default/books/documents';
  for (const [docid, year, lang] of [
    ['nemo', 1870, 'fr'],
    ['ahab', 1851, 'en'],
    ['karenina', 1878, 'ru'],
    ['pip', 1861, 'en'],
  ] as const)
    await server.call('POST', path, { docid, text: `The book ${docid}. `.repeat(200), metadata: { year, lang } });
  const page = await openConsole(t, `${server.url}/ui#/default/books/documents`);
  const rows = (...expected: string[]): Promise<unknown> =>
    page.until(
      `JSON.stringify([...document.querySelectorAll('.body [role="row"] a')].map((link) => link.innerText.trim())) === '${JSON.stringify(expected)}'`,
    );
  await rows('ahab', 'karenina', 'nemo', 'pip');
  await page.click('.list-tools summary');
  await page.click('.list-tools fieldset:nth-of-type(3) label', 'year');
  await page.shows('.head', 'year');
  await page.shows('.body [role="row"]', '1870');
  await page.choose('.list-tools fieldset:nth-of-type(2) select', 'year');
  await rows('ahab', 'pip', 'nemo', 'karenina');
  await page.click('.list-tools .tick', 'descending');
  await rows('karenina', 'nemo', 'pip', 'ahab');
  await page.click('.list-tools button', 'Add a condition');
  await page.fill('.list-tools input[aria-label="Field"]', 'lang');
  await page.fill('.list-tools input[aria-label="Value"]', 'en');
  await rows('pip', 'ahab');
  await inspect(page, 'documents-listed');
  // A document that is opened and closed leaves the list as it is, and so does a reload.
  await page.click('.body a', 'ahab');
  await page.shows('.pane h2', 'ahab');
  await page.evaluate('location.reload()');
  await page.shows('.pane h2', 'ahab');
  await rows('pip', 'ahab');
  await page.click('a[aria-label="Close the document"]');
  await page.until(`document.querySelector('.pane') === null`);
  await rows('pip', 'ahab');
  await page.fill('.list-tools input[aria-label="Value"]', 'xx');
  await page.shows('.empty', 'No document fits the filter');
  assertClean(page);
});

test('further collections: their hits are named, and lead to their chunks', { skip }, async (t) => {
  const letter = { docid: 'letter', text: 'A letter about star light on a clear night.' };
  await server.call('POST', '/v1/collections/default/letters/documents', letter);
  const page = await openConsole(t, `${server.url}/ui#/default/demo/search`);
  await page.fill('[data-query]', 'a letter about star light');
  await page.fill('input[placeholder="names, with commas"]', 'letters');
  await page.click('button[type=submit]', 'Search');
  assert.match(await page.shows('.hits', 'letter::chunk_0'), /letters/);
  assert.match(String(await page.evaluate('location.hash')), /also=letters/);
  await inspect(page, 'search-also');
  await page.click('.hits a', 'letter::chunk_0');
  await page.shows('main', 'A letter about star light on a clear night.');
  assert.match(String(await page.evaluate('location.hash')), /default\/letters\/documents/);
  assertClean(page);
});

test('documents: dropped files with their progress, a broken one with what to do; others arrive as they are ingested', {
  skip,
}, async (t) => {
  await server.call('POST', '/v1/collections/default/files');
  const page = await openConsole(t, `${server.url}/ui#/default/files/documents`);
  await page.shows('.empty', 'Drop files here');
  await page.evaluate(`(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(['Captain Nemo commands the Nautilus. <img src=x onerror=alert(1)>'], 'nemo.txt'));
    transfer.items.add(new File(['%PDF-1.7 cut off'], 'broken.pdf'));
    document.querySelector('.drop').dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));
  })()`);
  await page.shows('.uploads', '2 of 2 files');
  assert.match(await page.shows('.uploads li.failed'), /file_unreadable|unsupported_or_invalid_document/);
  await page.shows('.rows a', 'nemo.txt');
  await server.call('POST', '/v1/collections/default/files/documents', { docid: 'from-elsewhere', text: 'A whale.' });
  await page.shows('.rows a', 'from-elsewhere');
  await page.click('.rows a', 'nemo.txt');
  assert.match(await page.shows('.chunk .text', 'Nautilus'), /<img src=x onerror/);
  await inspect(page, 'documents');
  await page.click('button', 'Add a text');
  await page.shows('dialog[open]');
  await inspect(page, 'add-text');
  await page.fill('dialog textarea', 'Typed by hand.');
  await page.click('dialog button[type=submit]');
  await page.shows('.pane .text', 'Typed by hand.');
  assertClean(page, /status of 400/);
});

test('a long list: only the rows in sight are made, the rest comes as it is scrolled to', { skip }, async (t) => {
  const documents = Array.from({ length: 1300 }, (_, i) => ({
    docid: `d${String(i).padStart(5, '0')}`,
    text: `number ${i}`,
  }));
  await server.call('POST', '/v1/collections/default/long/documents:batch', { documents });
  const page = await openConsole(t, `${server.url}/ui#/default/long/documents`);
  await page.shows('.rows a', 'd00000');
  assert.ok(Number(await page.evaluate(`document.querySelectorAll('.rows [role=row]').length`)) < 100);
  await page.evaluate(
    `setInterval(() => { const rows = document.querySelector('.rows'); rows.scrollTop = rows.scrollHeight; }, 50)`,
  );
  await page.shows('.rows a', 'd01299');
  assert.ok(Number(await page.evaluate(`document.querySelectorAll('.rows [role=row]').length`)) < 100);
  assertClean(page);
});

test('the query log: an entry, its replay, and what has changed since', { skip }, async (t) => {
  const { json } = await server.call('POST', `${DEMO}/search`, { q: 'moth in the relay', k: 3 });
  const [first] = json.matches as { id: string; meta: { docid: string } }[];
  await server.call('DELETE', `${DEMO}/documents/${first?.meta.docid}`);
  const page = await openConsole(t, `${server.url}/ui#/default/demo/queries`);
  await server.call('POST', `${DEMO}/search`, { q: 'another query', k: 3, mode: 'hybrid' });
  await page.click('button', 'Refresh');
  await page.shows('.rows a', 'another query');
  await page.choose('select[aria-label=Mode]', 'vector');
  await page.until(`!document.querySelector('.rows').textContent.includes('another query')`);
  await page.fill('input[type=search][aria-label="Search the queries"]', 'IN THE RELAY');
  await page.shows('.rows', 'anonymous');
  await page.click('.rows button', 'anonymous');
  await page.shows('.tools button', 'by anonymous');
  await page.click('label', 'Live');
  await server.call('POST', `${DEMO}/search`, { q: 'still in the relay', k: 3 });
  await page.shows('.rows a', 'still in the relay');
  await page.click('label', 'Live');
  await page.click('.rows a', 'moth in the relay');
  await page.shows('.ids a', first?.id);
  await inspect(page, 'queries');
  await page.click('button', 'Replay');
  assert.match(await page.shows('.pane .note', 'No longer found'), new RegExp(first?.id ?? ''));
  await page.shows('.pane .move', 'only now');
  await inspect(page, 'replay');
  assertClean(page);
});

test('reindex jobs: one that is started here, and one from elsewhere, as they go on', { skip }, async (t) => {
  const page = await openConsole(t, `${server.url}/ui#/default/demo/reindex`);
  await page.shows('.empty', 'No job yet');
  await page.shows('.live');
  await page.click('button[type=submit]', 'Start');
  await page.shows('.job.succeeded');
  const { status } = await server.call('POST', `${DEMO}/reindex`, { compact: true });
  assert.equal(status, 200);
  await page.until(`document.querySelectorAll('.job.succeeded').length === 2`);
  await inspect(page, 'reindex');
  await page.choose('.start select', 'builtin');
  await page.click('button[type=submit]', 'Start');
  assert.match(await page.shows('.note.bad'), /Choose a different embedder, or “the same”[^]*reindex_invalid/);
  assertClean(page, /status of 40\d/);
});

test('the map: points, hits on it, and the way to a chunk by the keyboard', { skip }, async (t) => {
  const page = await openConsole(t, `${server.url}/ui#/default/demo/map`);
  await page.shows('canvas');
  const painted = `(() => { const map = document.querySelector('canvas'); return map.getContext('2d').getImageData(0, 0, map.width, map.height).data.filter((value, i) => i % 4 === 3 && value > 0).length; })()`;
  await page.until(`${painted} > 1000`);
  const before = Number(await page.evaluate(painted));
  await page.fill('[data-query]', 'ocean');
  await page.press('Enter');
  await page.until(`${painted} > ${before + 200}`);
  await inspect(page, 'map');
  await page.evaluate(`document.querySelector('canvas').focus()`);
  await page.press('ArrowRight');
  await page.shows('[role=status] a');
  // The text of the chunk is beside it, and its colour can be that of a field.
  await page.until(`(document.querySelector('.map-note p')?.innerText.length ?? 0) > 20`);
  const fields = `[...document.querySelectorAll('.map-tools select')[1].options].map(({ value }) => value).filter(Boolean)`;
  const [field] = (await page.evaluate(fields)) as string[];
  assert.ok(field !== undefined, 'the demo has metadata');
  await page.choose('.map-tools label:nth-of-type(2) select', field);
  await page.shows('.legend span');
  const at = (await page.evaluate(
    `(({ x, y, width, height }) => ({ x: x + width / 2, y: y + height / 2 }))(document.querySelector('canvas').getBoundingClientRect())`,
  )) as { x: number; y: number };
  const picture = (): Promise<unknown> => page.evaluate(`document.querySelector('canvas').toDataURL()`);
  // The layout has come to rest.
  let shown = await picture();
  await until(async () => {
    const previous = shown;
    await sleep(200);
    return (shown = await picture()) === previous;
  });
  await page.send('Input.dispatchMouseEvent', { type: 'mouseWheel', ...at, deltaX: 0, deltaY: -600 });
  await until(async () => (await picture()) !== shown);
  await inspect(page, 'map-zoomed');
  await page.choose('.map-tools select', 'variance');
  await page.shows('.faint', '% of the variance');
  await page.evaluate(`document.querySelector('canvas').focus()`);
  await page.press('Enter');
  await page.shows('.chunk.chosen');
  assertClean(page);
});

test('live figures follow the load', { skip }, async (t) => {
  const page = await openConsole(t, `${server.url}/ui`);
  await page.shows('.uplot canvas');
  let isSeen = false as boolean;
  const load = (async () => {
    for (let i = 0; !isSeen; i++) await server.call('GET', `${DEMO}/search?q=whale${i % 40}`);
  })();
  await page
    .until(`Number(/searches ([\\d.]+)/.exec(document.querySelector('figure').innerText)?.[1]) > 0`)
    .finally(() => (isSeen = true));
  await load;
  assert.match(await page.shows('figure', 'Latency'), /p50 [\d.]+/);
  assertClean(page);
});

test('the keyboard: to the query, between views, through hits, help, a new collection, settings', {
  skip,
}, async (t) => {
  const page = await openConsole(t, `${server.url}/ui#/default/demo/documents`);
  await page.shows('.rows a');
  await page.press('g', 's');
  await page.shows('.suggestions button');
  await page.evaluate('document.activeElement.blur()');
  await page.press('/');
  await page.until(`document.activeElement.matches('[data-query]')`);
  await page.fill('[data-query]', 'tea');
  await page.press('Enter');
  await page.shows('.hit');
  await page.evaluate('document.activeElement.blur()');
  await page.press('j', 'j');
  await page.until(`document.activeElement === document.querySelectorAll('.hit a')[1]`);
  await page.press('?');
  await page.shows('dialog[open]', 'Keyboard shortcuts');
  await inspect(page, 'help');
  await page.press('Escape');
  await page.until(`document.querySelector('dialog') === null`);
  await page.press('n');
  await page.shows('dialog[open]', 'New collection');
  await inspect(page, 'new-collection');
  await page.fill('dialog input', 'made-here');
  await page.press('Enter');
  await page.shows('h1', 'made-here');
  await page.press('g', 't');
  await page.shows('.figures', 'embedder');
  await inspect(page, 'settings');
  assertClean(page);
});

test('a narrow page: everything has its place', { skip }, async (t) => {
  const page = await openConsole(t, `${server.url}/ui#/default/demo/search?q=bread`);
  await page.resize(390, 800);
  await page.shows('.hit');
  await page.shoot('narrow');
  assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
  assert.deepEqual(await page.violations(), []);
});
