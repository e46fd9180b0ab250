// `npm run dev`: builds, serves, and does both again when a source changes. The server is stopped by a signal as an
// operator would stop it, so it drains before the next one starts. A build that fails leaves the last server running.
//   --inspect[=PORT]  the server can be debugged (chrome://inspect, or an editor), its worker threads too
//   anything else     goes to `sheaf serve`: npm run dev -- --port 9000
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { watch } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * How long no file may change before a build starts: an editor writes a file in several steps, and a formatter writes
 * many files.
 */
const QUIET_MS = 100;
const WATCHED = ['src', 'workers', 'docs', 'sheaf.yaml'];

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const args = process.argv.slice(2);
const inspect = args.filter((arg) => arg.startsWith('--inspect'));
const forServe = args.filter((arg) => !arg.startsWith('--inspect'));
const say = (line) => console.error(`dev: ${line}`);

const node = (nodeArgs) => spawn(process.execPath, nodeArgs, { cwd: root, stdio: 'inherit' });

let server;
let timer;
let isBusy = false;
let isStale = false;

/** Builds and restarts the server. Changes that come meanwhile start another round afterwards. */
async function renew() {
  isStale = true;
  if (isBusy) return;
  isBusy = true;
  while (isStale) {
    isStale = false;
    const [code] = await once(node(['scripts/setup.mjs']), 'exit');
    if (code !== 0) say('the build failed; the server from before goes on');
    else if (!isStale) await restart();
  }
  isBusy = false;
}

async function restart() {
  if (server) await stop('SIGTERM');
  const next = node(['--enable-source-maps', ...inspect, 'dist/src/main.js', 'serve', ...forServe]);
  server = next;
  next.once('exit', (code) => {
    if (server === next) server = undefined;
    if (code) say(`the server ended with exit code ${code}; a change starts it again`);
  });
}

async function stop(signal) {
  const ended = once(server, 'exit');
  server.kill(signal);
  await ended;
}

for (const signal of ['SIGTERM', 'SIGINT']) {
  process.once(signal, async () => {
    if (server) await stop(signal);
    process.exit(0);
  });
}
for (const path of WATCHED) {
  try {
    watch(join(root, path), { recursive: true }, () => {
      clearTimeout(timer);
      timer = setTimeout(() => void renew(), QUIET_MS);
    });
  } catch (error) {
    if (error.code !== 'ENOENT') throw error; // sheaf.yaml is optional.
  }
}
await renew();
