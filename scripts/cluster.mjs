// `npm run cluster`: three NATS servers and three nodes of Sheaf on this machine, with some documents, to try out what
// happens when one of them is killed. Data goes to a folder that is given, else to a new one, which is removed at the end.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startNats } from '../dist/load/kit/nats.js';
import { buildNatsServer, natsServer } from './nats-server.mjs';

const NODES = 3;
const FIRST_PORT = 8081;
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const program = join(root, 'dist/src/main.js');
const given = process.argv[2];
const folder = given ?? mkdtempSync(join(tmpdir(), 'sheaf-cluster-'));

if (natsServer() === undefined) {
  console.log('building nats-server, which takes a minute');
  buildNatsServer();
}
const nats = await startNats(join(folder, 'nats'), { logMb: 1024 });
const nodes = [];
for (let i = 0; i < NODES; i++) {
  const port = FIRST_PORT + i;
  const data = join(folder, `node-${i + 1}`);
  mkdirSync(data, { recursive: true });
  const child = spawn(process.execPath, ['--v8-pool-size=0', program, 'serve'], {
    env: {
      ...process.env,
      ...nats.env,
      SHEAF_DATA_DIR: data,
      SHEAF_SERVER__PORT: String(port),
      SHEAF_LOG__LEVEL: 'warn',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  nodes.push({ child, url: `http://127.0.0.1:${port}` });
}

let stopping;
// A terminal and npm may both pass a signal on, so there may be several.
const stop = () => (stopping ??= stopAll());
process.on('SIGINT', stop).on('SIGTERM', stop);
process.once('exit', () => nodes.forEach(({ child }) => child.kill('SIGKILL')));

async function stopAll() {
  const ended = nodes.map(({ child }) => new Promise((resolve) => child.once('exit', resolve).kill('SIGTERM')));
  await Promise.race([Promise.all(ended), sleep(5000)]);
  await Promise.all(nats.servers.map((server) => server.kill('SIGTERM')));
  if (given === undefined) rmSync(folder, { recursive: true, force: true });
  process.exit();
}

for (const { url, child } of nodes) {
  for (;;) {
    if (child.exitCode !== null) {
      console.error('a node has ended; its message is above');
      await stop();
    }
    if ((await fetch(`${url}/health/ready`).catch(() => undefined))?.ok) break;
    await sleep(100);
  }
}
const [first] = nodes;
spawnSync(process.execPath, [program, 'ingest', join(root, 'docs/guide')], {
  env: { ...process.env, SHEAF_URL: first.url },
  stdio: 'ignore',
});
console.log(`A cluster of ${NODES} nodes is ready:
${nodes.map(({ url, child }, i) => `  node ${i + 1}   ${url}/ui   process ${child.pid}`).join('\n')}
  data     ${folder}${given === undefined ? ', removed at the end' : ''}

The guide was ingested by node 1. Ask another one:
  curl -s "${nodes[1].url}/v1/collections/default/docs/search?q=what+survives+a+power+cut"
  curl -s ${nodes[2].url}/v1/admin/cluster
Kill one (kill -9 PROCESS): the others go on. Ctrl-C stops all.`);
