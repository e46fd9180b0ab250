// The console when events come in an unusual order: a user who types before the page is painted, keys while it is busy,
// answers that are late. In a real Chromium, which holds the answers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ReindexJob } from '../../../src/api/reindex.js';
import { withAnswers, withEvent } from '../../../src/console/updates.js';
import { CHROMIUM } from '../../kit/chromium.js';
import { openConsole } from '../../kit/console-page.js';
import { startTestServer } from '../../kit/server.js';

const skip = CHROMIUM === undefined && 'the package chromium is not installed';
const DOCS = '/v1/collections/default/docs';
const server = await startTestServer();
await server.call('POST', `${DOCS}/documents`, { docid: 'nemo', text: 'Captain Nemo commands the Nautilus.' });

/** Resolves later than anything that the page does after painting. */
const SETTLED = `new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 300)))`;

test('what is typed before a search view is painted stays', { skip }, async (t) => {
  const page = await openConsole(t, `${server.url}/ui#/default/docs/search`);
  for (const view of ['search', 'compare']) {
    await page.evaluate(`location.hash = '#/default/docs/${view}'`);
    await page.shows('[data-query]');
    await page.evaluate(`location.hash = '#/default/docs/documents'`);
    await page.shows('.rows a', 'nemo');
    const typed = page.evaluate(`new Promise((resolve) => {
      new MutationObserver((_, observer) => {
        const field = document.querySelector('[data-query]');
        if (!field) return;
        observer.disconnect();
        field.focus();
        document.execCommand('insertText', false, 'captain');
        resolve(${SETTLED}.then(() => field.value));
      }).observe(document.body, { childList: true, subtree: true });
      location.hash = '#/default/docs/${view}';
    })`);
    assert.equal(await typed, 'captain', view);
  }
});

test('what was typed and not searched for goes with its address', { skip }, async (t) => {
  const page = await openConsole(t, `${server.url}/ui#/default/docs/search?q=captain`);
  await page.shows('.hit');
  await page.fill('[data-query]', 'another');
  await page.evaluate(`location.hash = '#/default/docs/search?q=nemo'`);
  await page.until(`document.querySelector('[data-query]').value === 'nemo'`);
  await page.evaluate(`location.hash = '#/default/docs/search?q=captain'`);
  await page.until(`document.querySelector('[data-query]').value === 'captain'`);
});

test('g and a letter go together however busy the page is between them', { skip }, async (t) => {
  const page = await openConsole(t, `${server.url}/ui#/default/docs/documents`);
  await page.shows('.rows a', 'nemo');
  await page.evaluate(
    `addEventListener('keydown', ({ key }) => { const untilMs = performance.now() + (key === 'g' ? 1500 : 0); while (performance.now() < untilMs); })`,
  );
  await page.press('g', 't');
  await page.shows('.figures', 'embedder');
});

test('a document that comes before the events do is listed with their first', { skip }, async (t) => {
  const page = await openConsole(t, `${server.url}/ui`);
  const letThrough = await page.hold('*/events', 'Request');
  await page.evaluate(`location.hash = '#/default/docs/documents'`);
  await page.shows('.rows a', 'nemo');
  await server.call('POST', `${DOCS}/documents`, { docid: 'between', text: 'A whale.' });
  await letThrough(0);
  await page.shows('.rows a', 'between');
});

test('a list of collections that a later one has overtaken is not shown', { skip }, async (t) => {
  const page = await openConsole(t, `${server.url}/ui`);
  await page.shows('.side a', 'docs');
  const letThrough = await page.hold('*/v1/collections/default', 'Response');
  await page.evaluate(`location.hash = '#/default/docs/documents'`);
  await page.shows('.rows a', 'nemo');
  await server.call('POST', '/v1/collections/default/made-meanwhile');
  await page.evaluate(`location.hash = '#/default/made-meanwhile/documents'`);
  await letThrough(1);
  await page.shows('.side a', 'made-meanwhile');
  await letThrough(0);
  await page.evaluate(SETTLED);
  assert.match(await page.shows('.side'), /made-meanwhile/);
});

test('an error for the client from before a key was entered does not ask for another', { skip }, async (t) => {
  const closed = await startTestServer({ SHEAF_AUTH__MODE: 'static', SHEAF_AUTH__ADMIN_KEY: 'root' });
  const page = await openConsole(t, `${closed.url}/ui`);
  // The first page has received its error: the requests that are held now belong to the second page.
  await page.until(
    `performance.getEntriesByType('resource').some(({ name }) => name.endsWith('/v1/collections/default'))`,
  );
  const letThrough = await page.hold('*/v1/collections/default', 'Response');
  await page.reload();
  await page.shows('dialog[open]', 'API key');
  await page.fill('dialog input', 'root');
  await page.press('Enter');
  await page.shows('.figures', 'documents');
  await letThrough(1);
  await letThrough(0);
  await page.evaluate(SETTLED);
  assert.equal(await page.evaluate(`document.querySelector('dialog')`), null);
});

test('the page is not left unasked while files are under way', { skip }, async (t) => {
  const page = await openConsole(t, `${server.url}/ui#/default/docs/documents`);
  const asks = `{ const leaving = new Event('beforeunload', { cancelable: true }); dispatchEvent(leaving); leaving.defaultPrevented }`;
  await page.shows('.rows a', 'nemo');
  assert.equal(await page.evaluate(asks), false);
  const letThrough = await page.hold('*/documents', 'Request');
  await page.evaluate(`(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(['A whale.'], 'whale.txt'));
    document.querySelector('.drop').dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));
  })()`);
  await page.shows('.uploads', '0 of 1 file');
  assert.equal(await page.evaluate(asks), true);
  await letThrough(0);
  await page.shows('.uploads li.done', 'whale.txt');
  assert.equal(await page.evaluate(asks), false);
});

test('an answer about a job does not take back what an event has told since', () => {
  const job = (id: string, status: ReindexJob['status'], second: number): ReindexJob =>
    ({
      job_id: id,
      status,
      created_at: `2026-01-0${id}T10:00:00.000Z`,
      updated_at: `2026-01-05T10:00:0${second}.000Z`,
    }) as ReindexJob;
  const states = (jobs: readonly ReindexJob[]): string[] => jobs.map(({ job_id: id, status }) => `${id} ${status}`);
  const paused = withEvent(withEvent([], job('1', 'running', 1)), job('1', 'paused', 3));
  assert.deepEqual(states(withAnswers(paused, [job('1', 'pausing', 2)])), ['1 paused']);
  assert.deepEqual(states(withAnswers(paused, [job('1', 'queued', 4)])), ['1 queued']);
  assert.deepEqual(states(withAnswers(paused, [job('2', 'queued', 4), job('1', 'running', 1)])), [
    '2 queued',
    '1 paused',
  ]);
  assert.deepEqual(states(withEvent(paused, job('1', 'running', 1))), ['1 running'], 'clocks may go back');
});

test('a long list that comes anew while its end is in sight goes on', { skip }, async (t) => {
  const documents = Array.from({ length: 2600 }, (_, i) => ({
    docid: `d${String(i).padStart(5, '0')}`,
    text: `number ${i}`,
  }));
  await server.call('POST', '/v1/collections/default/long/documents:batch', { documents });
  const page = await openConsole(t, `${server.url}/ui#/default/long/documents`);
  const toTheEnd = `{ const rows = document.querySelector('.rows'); if (rows) rows.scrollTop = rows.scrollHeight; }`;
  const isSoFar = `/1,500 of 2,600 documents, more below/.test(document.body.innerText)`;
  await page.until(`{ if (!${isSoFar}) ${toTheEnd} ${isSoFar} }`);
  await page.evaluate(SETTLED);
  const letThrough = await page.hold('*/documents?*', 'Response');
  // The event of this document makes the list reload, and the end of the list becomes visible before the reload has
  // come.
  await server.call('POST', '/v1/collections/default/long/documents', { docid: 'last', text: 'the last' });
  await letThrough.arrived(0);
  await page.evaluate(`${toTheEnd} ${SETTLED}`);
  await letThrough(0);
  await letThrough(1);
  await page.shows('p', '2,000 of 2,601 documents');
});
