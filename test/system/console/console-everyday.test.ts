// The console in everyday use: a server that goes away and comes back, folders of files, collections that do not exist,
// vectors without texts, and every option of a search. In a real Chromium.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { CHROMIUM } from '../../kit/chromium.js';
import { openConsole } from '../../kit/console-page.js';
import { spawnServe, untilReady } from '../../kit/process.js';
import { startTestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

const skip = CHROMIUM === undefined && 'the package chromium is not installed';
const server = await startTestServer();
await server.call('POST', '/v1/collections/default/docs/documents', {
  docid: 'nemo',
  text: 'Captain Nemo commands the Nautilus.',
});

test('every option of a search: an unknown reranker says what to do, the address keeps them, a vector is searched for as one', {
  skip,
}, async (t) => {
  const page = await openConsole(
    t,
    `${server.url}/ui#/default/docs/search?q=captain&mode=hybrid&method=rank&fusionK=10&common=1&reranker=nobody`,
  );
  assert.match(await page.shows('.note.bad'), /rerank\.instances[^]*invalid_rerank/);
  await page.evaluate(`location.hash = location.hash.replace('&reranker=nobody', '')`);
  assert.match(await page.shows('.hit'), /1\/\(10\+rank\)/);
  assert.equal(
    await page.evaluate(
      `[...document.querySelectorAll('.tick')].find((tick) => tick.innerText.includes('common collection')).querySelector('input').checked`,
    ),
    true,
  );
  assert.deepEqual(await page.violations(), []);
  await server.call('POST', '/v1/collections/default/vectors', {
    embedder_type: 'identity',
    embedder_config: { dim: 2 },
  });
  await server.call('POST', '/v1/collections/default/vectors/documents', { docid: 'v', vector: [1, 0] });
  await page.evaluate(`location.hash = '#/default/vectors/search?q=captain'`);
  assert.match(await page.shows('.note.bad'), /Search it by a vector, such as \[0\.1, 0\.2\]/);
  await page.fill('[data-query]', '[2, 0]');
  await page.press('Enter');
  assert.match(await page.shows('.hit', 'v::0'), /A vector without a text/);
  await page.click('.hit a', 'v::0');
  assert.equal(await page.shows('.chunk.chosen .faint'), 'A vector without a text.');
  await page.shows('.side a[aria-current]', 'vectors');
});

test("vectors of one's own: a collection of them, one typed in, one searched for, all by the keyboard", {
  skip,
}, async (t) => {
  const page = await openConsole(t, `${server.url}/ui#/default/docs/documents`);
  await page.shows('.rows a');
  await page.evaluate('document.activeElement.blur()');
  await page.press('n');
  await page.fill('dialog input', 'mine');
  await page.choose('dialog select', 'my own');
  await page.shows('dialog', 'Dimensions');
  await page.shoot('new-collection-of-vectors');
  assert.deepEqual(await page.violations(), []);
  await page.fill('dialog input[type=number]', '3');
  await page.press('Enter');
  await page.shows('.empty', 'a vector of 3 numbers');
  await page.shows('.side a[aria-current]', 'vectors of 3 numbers');
  assert.equal(await page.evaluate(`document.querySelector('input[type=file]')`), null);
  await page.click('button', 'Add a vector');
  await page.fill('dialog textarea', '[1, 2]');
  await page.click('dialog button[type=submit]');
  assert.match(await page.shows('dialog .note.bad'), /The vector has 2 numbers; vectors of this collection have 3/);
  await page.shoot('add-vector');
  assert.deepEqual(await page.violations(), []);
  await page.fill('dialog textarea', '[1, 2, 3e0]');
  await page.click('dialog button[type=submit]');
  await page.shows('.pane', 'A vector without a text');
  await page.press('g', 's');
  await page.until(`document.querySelector('[data-query]').placeholder.includes('A vector')`);
  await page.fill('[data-query]', '[2, 4, 6]');
  await page.press('Enter');
  assert.match(await page.shows('.hit'), /1\.000/);
  await page.shoot('search-by-vector');
});

test('a collection that is not there is said to be so, until its first document makes it', { skip }, async (t) => {
  const page = await openConsole(t, `${server.url}/ui#/default/later/documents`);
  await page.shows('main .note', 'has no collection “later”');
  await page.shoot('no-such-collection');
  assert.deepEqual(await page.violations(), []);
  await page.click('button', 'Add a text');
  await page.fill('dialog textarea', 'Typed by hand.');
  await page.click('dialog button[type=submit]');
  await page.shows('.pane .text', 'Typed by hand.');
  await page.until(
    `document.querySelector('main > .note') === null && document.querySelector('.side a[aria-current]')?.innerText.includes('later')`,
  );
});

test('a folder that is dropped: files of one name in two folders are two documents, known by their paths', {
  skip,
}, async (t) => {
  const folder = join(tempDirectory(), 'notes');
  for (const [name, text] of [
    ['a', 'Whales sing.'],
    ['b', 'Squids hide.'],
  ] as const) {
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, 'README.md'), text);
  }
  const page = await openConsole(t, `${server.url}/ui#/default/folders/documents`);
  await page.shows('.empty', 'Drop files here');
  const data = { items: [], files: [folder], dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver', 'drop'])
    await page.send('Input.dispatchDragEvent', { type, x: 640, y: 400, data });
  await page.shows('.uploads', '2 of 2 files');
  await page.shows('.rows a', 'notes/a/README.md');
  await page.click('.rows a', 'notes/b/README.md');
  await page.shows('.chunk .text', 'Squids hide.');
});

test('a file that the browser may not read is named, and the others are taken', { skip }, async (t) => {
  const page = await openConsole(t, `${server.url}/ui#/default/unread/documents`);
  await page.shows('.empty', 'Drop files here');
  await page.evaluate(`(() => {
    const entry = (path, file) => ({ webkitGetAsEntry: () => ({ name: path, fullPath: '/' + path, isFile: true, file }) });
    const locked = entry('locked.md', (_, reject) => reject(new DOMException('It is locked.', 'NotReadableError')));
    const event = new DragEvent('drop', { bubbles: true, cancelable: true });
    Object.defineProperty(event, 'dataTransfer', { value: { items: [locked, entry('b.md', (resolve) => resolve(new File(['Squids hide.'], 'b.md')))], files: [] } });
    document.querySelector('.drop').dispatchEvent(event);
  })()`);
  await page.shows('.note.bad', 'cannot read locked.md; all other files are uploaded');
  await page.shows('.uploads li.done', 'b.md');
});

test('a server that goes away and comes back: what failed is there again, and events too', { skip }, async (t) => {
  // A port below the range from which the system gives ports to others meanwhile.
  const settings = {
    SHEAF_DATA_DIR: join(tempDirectory(), 'data'),
    SHEAF_SERVER__PORT: String(20_000 + (process.pid % 10_000)),
  };
  const first = spawnServe(settings);
  const url = await untilReady(first);
  await fetch(`${url}/v1/collections/default/docs/documents`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"docid":"nemo","text":"Captain Nemo commands the Nautilus."}',
  });
  const page = await openConsole(t, `${url}/ui#/default/docs/documents`);
  await page.shows('.live');
  first.child.kill('SIGTERM');
  await first.ended;
  await page.until(`document.querySelector('.live') === null`);
  await page.evaluate(`location.hash = '#/default/docs/queries'`);
  assert.match(await page.shows('main .note.bad'), /Check that the server is running/);
  await page.shows('.mark', 'no answer');
  await page.shoot('server-gone');
  assert.deepEqual(await page.violations(), []);
  await untilReady(spawnServe(settings));
  await page.shows('.mark', 'ready');
  await page.shows('.empty', 'No searches yet');
  await page.shows('.live');
});

test('no internal error was logged', () => assert.deepEqual(server.faults, []));
