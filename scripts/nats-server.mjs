// The nats-server that tests of clusters and `npm run cluster` use: prints its path, and builds it by the Go toolchain
// where it is not there yet. A server in the PATH is taken if its version is late enough.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const VERSION = '2.15.3';
const VERSION_MIN = [2, 15, 2];
const folder = join(
  dirname(dirname(fileURLToPath(import.meta.url))),
  'node_modules',
  '.cache',
  `nats-server-${VERSION}`,
);
const built = join(folder, 'nats-server');
/** Where Go's own installer puts it, which is not always in the PATH. */
const GO = ['go', '/usr/local/go/bin/go'];

const run = (program, args, env = {}) =>
  spawnSync(program, args, { encoding: 'utf8', env: { ...process.env, ...env } });

function isLateEnough(program) {
  const found = /v?(\d+)\.(\d+)\.(\d+)/.exec(run(program, ['--version']).stdout ?? '');
  if (!found) return false;
  const parts = found.slice(1).map(Number);
  const at = VERSION_MIN.findIndex((part, i) => parts[i] !== part);
  return at < 0 || parts[at] > VERSION_MIN[at];
}

/** The path of a server that is there; undefined if it would have to be built. */
export const natsServer = () => [built, 'nats-server'].find((program) => isLateEnough(program));

/** Builds the server. Throws where that is not possible. */
export function buildNatsServer() {
  const go = GO.find((program) => run(program, ['version']).status === 0);
  if (!go) throw new Error('nats-server is not in the PATH, and there is no Go to build it: install one of them');
  mkdirSync(folder, { recursive: true });
  const { status, stderr } = run(go, ['install', `github.com/nats-io/nats-server/v2@v${VERSION}`], { GOBIN: folder });
  if (status !== 0 || !existsSync(built)) throw new Error(`nats-server cannot be built: ${stderr}`);
  return built;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    console.log(natsServer() ?? buildNatsServer());
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
