// Takes screenshots of the console: `node scripts/screenshots.mjs` writes one of each view into docs/images, for the
// guide; with `--all FOLDER` each view at 1,400 and 390 px, light and dark, for a visual check. It serves a data
// directory of its own, filled with the pages of docs/. Needs a build and Debian's package chromium.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openPage } from '../dist/test/kit/chromium.js';

const VIEWS = {
  documents: '#/default/docs/documents',
  search: '#/default/docs/search?q=what+survives+a+power+cut&mode=hybrid',
  compare: '#/default/docs/compare?q=what+survives+a+power+cut',
  evaluation: '#/default/docs/evaluation',
  queries: '#/default/docs/queries',
  reindex: '#/default/docs/reindex',
  map: '#/default/docs/map',
  settings: '#/default/docs/settings',
  tenants: '#/default?page=tenants&name=acme',
  backups: '#/default?page=backups',
  cluster: '#/default?page=cluster',
  // The last, when its charts have something to show.
  overview: '#/default',
};
const QUERIES = [
  'how is a backup restored',
  'limits of a tenant',
  'what does ef do',
  'add a file type',
  'cross-encoder',
];
const WIDTHS = { 1400: 900, 390: 844 };
/** The scale of the pictures in the guide, which keeps each below 100 kB. */
const ESTIMATOR_SCALE = 0.6;
/** The wait until charts and maps have stopped moving. */
const REST_MS = 2500;
const MAP_MS = 15_000;

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const program = join(root, 'dist/src/main.js');
const folder = mkdtempSync(join(tmpdir(), 'sheaf-screenshots-'));
const all = process.argv[2] === '--all' ? process.argv[3] : undefined;
const cleanups = [];

async function serve() {
  const env = {
    ...process.env,
    SHEAF_SERVER__PORT: '0',
    SHEAF_DATA_DIR: folder,
    SHEAF_BACKUPS__FOLDER: join(folder, 'backups'),
  };
  const child = spawn(process.execPath, [program, 'serve'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
  cleanups.push(() => new Promise((ended) => child.once('exit', ended).kill('SIGTERM')));
  let output = '';
  child.stdout.on('data', (piece) => (output += piece));
  for (;;) {
    const [, url] = /is ready at (\S+)/.exec(output) ?? [];
    if (url) return url;
    await sleep(100);
  }
}

function sheaf(url, ...args) {
  const { status, stderr } = spawnSync(process.execPath, [program, ...args], {
    cwd: root,
    env: { ...process.env, SHEAF_URL: url },
  });
  if (status !== 0) throw new Error(`sheaf ${args.join(' ')}: ${stderr}`);
}

async function shoot(page, { width, height, scale = 1 }, file) {
  const { data } = await page.send('Page.captureScreenshot', {
    format: 'png',
    clip: { x: 0, y: 0, width, height, scale },
  });
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, Buffer.from(data, 'base64'));
}

try {
  const url = await serve();
  sheaf(url, 'ingest', 'docs', '-c', 'docs');
  for (const tenant of ['acme', 'globex'])
    await fetch(`${url}/v1/admin/tenants`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ tenant, requests_per_second: 50 }),
    });
  for (const query of QUERIES) sheaf(url, 'search', query, '-c', 'docs');
  sheaf(url, 'reindex', 'start', '-c', 'docs', '--compact');
  const page = await openPage({ after: (hook) => cleanups.push(hook) }, `${url}/ui`);
  for (const scheme of all ? ['light', 'dark'] : ['light'])
    for (const [width, height] of all ? Object.entries(WIDTHS) : [['1400', WIDTHS[1400]]]) {
      const size = { width: Number(width), height };
      await page.send('Emulation.setDeviceMetricsOverride', { ...size, deviceScaleFactor: 1, mobile: false });
      await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
      for (const [view, hash] of Object.entries(VIEWS)) {
        await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
        await sleep(view === 'map' ? MAP_MS : REST_MS);
        if (all) await shoot(page, size, join(all, `${view}-${width}-${scheme}.png`));
        else await shoot(page, { ...size, scale: ESTIMATOR_SCALE }, join(root, `docs/images/console-${view}.png`));
      }
    }
} finally {
  for (const clean of cleanups.reverse()) await clean();
  rmSync(folder, { recursive: true, force: true });
}
