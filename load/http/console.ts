// Cost of the console on a slow connection: time to first paint and to content, and bytes transferred. Each view opens
// in a new Chromium without a cache, at 1 MB/s with 20 ms latency; a link to one of many collections also without that.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { SheafClient } from '../../src/client/client.js';
import type { IngestBody } from '../../src/api/documents.js';
import { CHROMIUM, openPage } from '../../test/kit/chromium.js';
import { type LoadOptions, printTable, whole } from '../kit/command.js';
import { startServer, withFolder } from '../kit/server.js';

const CONNECTION = { offline: false, latency: 20, downloadThroughput: 1_000_000, uploadThroughput: 1_000_000 };

/** Address, and an element that exists when the view is complete. */
const VIEWS: readonly (readonly [string, string, string])[] = [
  ['overview, with charts', '', '.uplot canvas'],
  ['documents', '/default/demo/documents', '.rows a'],
  ['search, with ten hits', '/default/demo/search?q=salt', '.hit'],
  ['map of the vectors', '/default/demo/map', 'canvas'],
];

/** Without the package chromium, reports that nothing is measured. */
export async function consoleViews({ tiny, number }: LoadOptions): Promise<void> {
  if (CHROMIUM === undefined) return console.log('The package chromium is not installed: nothing is measured.');
  const collections = number('collections', tiny ? 20 : 10_000);
  await withFolder((folder) => measure(folder, tiny ? VIEWS.slice(0, 1) : VIEWS));
  await withFolder((folder) => measureLink(folder, collections));
}

interface Visit {
  readonly paintMs: number;
  readonly shownMs: number;
  readonly bytes: number;
  readonly requests: number;
}

async function visit(url: string, selector: string, connection: object = CONNECTION): Promise<Visit> {
  const hooks: (() => Promise<void>)[] = [];
  let bytes = 0;
  const page = await openPage({ after: (hook) => hooks.push(hook) }, 'about:blank', (send) =>
    send('Network.emulateNetworkConditions', connection),
  );
  page.hear((method, params) => (bytes += method === 'Network.loadingFinished' ? Number(params.encodedDataLength) : 0));
  await page.send('Page.navigate', { url });
  await page.until(`location.pathname === '/ui' && document.querySelector(${JSON.stringify(selector)}) !== null`);
  const shownMs = Number(await page.evaluate('performance.now()'));
  await page.until(`performance.getEntriesByName('first-contentful-paint').length > 0`);
  const paintMs = Number(await page.evaluate(`performance.getEntriesByName('first-contentful-paint')[0].startTime`));
  for (const hook of hooks) await hook();
  return {
    paintMs,
    shownMs,
    bytes,
    requests: page.requests.filter((each) => each.startsWith(url.split('#')[0]!)).length,
  };
}

async function measure(folder: string, views: typeof VIEWS): Promise<void> {
  const server = await startServer(folder);
  const client = new SheafClient({ url: server.url });
  const { documents } = JSON.parse(
    readFileSync(new URL('../../../src/console/demo/corpus.json', import.meta.url), 'utf8'),
  ) as {
    documents: (IngestBody & { text: string })[];
  };
  for (const document of documents) await client.ingestText('default', 'demo', document);
  const rows: string[][] = [];
  for (const [name, hash, selector] of views) {
    const seen = await visit(`${server.url}/ui#${hash}`, selector);
    rows.push([name, ...cellsOf(seen), String(seen.requests)]);
  }
  await server.stop();
  rows.push(['every file of the page', '', '', `${(pageBytes() / 1000).toFixed(1)} kB`, '']);
  printTable('The console at 1 MB/s and 20 ms, nothing kept', [
    ['view', 'first paint', 'content there', 'transferred', 'files of the page'],
    ...rows,
  ]);
}

const cellsOf = ({ paintMs, shownMs, bytes }: Visit): string[] => [
  `${whole(paintMs)} ms`,
  `${whole(shownMs)} ms`,
  `${(bytes / 1000).toFixed(1)} kB`,
];

/** Creates so many at a time. */
const CREATED_AT_ONCE = 32;
const LINK_ROUNDS = 5;

/** Opens the documents of the last of many collections by a link. */
async function measureLink(folder: string, collections: number): Promise<void> {
  const server = await startServer(folder);
  const client = new SheafClient({ url: server.url });
  const names = Array.from({ length: collections }, (_, i) => `c${i}`);
  const last = names.at(-1) as string;
  const create = async (): Promise<void> => {
    for (let name = names.pop(); name !== undefined; name = names.pop())
      await client.createCollection('default', name, { embedder_type: 'identity', embedder_config: { dim: 4 } });
  };
  await Promise.all(Array.from({ length: CREATED_AT_ONCE }, create));
  await client.ingestVector('default', last, { docid: 'd', vector: [1, 0, 0, 0] });
  const link = `${server.url}/ui#/default/${last}/documents`;
  const rows = [['connection', 'round', 'first paint', 'content there', 'transferred']];
  for (let round = 1; round <= LINK_ROUNDS; round++)
    for (const [name, connection] of [
      ['of this machine', { ...CONNECTION, latency: 0, downloadThroughput: -1, uploadThroughput: -1 }],
      ['1 MB/s, 20 ms', CONNECTION],
    ] as const) {
      rows.push([name, String(round), ...cellsOf(await visit(link, '.rows a', connection))]);
    }
  await server.stop();
  printTable(`A link to the documents of one of ${whole(collections)} collections, nothing kept`, rows);
}

/** Bytes of the page after brotli compression. */
function pageBytes(): number {
  const folder = new URL('../../src/console/page/', import.meta.url);
  return readdirSync(folder)
    .filter((name) => name.endsWith('.br'))
    .reduce((sum, name) => sum + statSync(new URL(name, folder)).size, 0);
}
