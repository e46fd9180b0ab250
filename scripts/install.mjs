// Installs the packages of the lock file and makes node-lmdb load. A stamp file inside node_modules records the
// finished steps. `npm ci` removes it, so a step that was interrupted runs again.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildLmdb, lmdbLoads } from './native.mjs';

/**
 * The arguments of npm. The build needs development dependencies, whatever NODE_ENV says. Install scripts would need
 * Python, so native.mjs does their work.
 */
const CI_ARGUMENTS = ['ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];

/** True when the installed packages are those of the lock file and fit this version of Node. */
export function isInstalled(root) {
  const { lock, native } = readStamp(root);
  return lock === lockDigest(root) && native === nativeTarget();
}

/** Brings node_modules up to date. Rejects with one line for the user. */
export async function install(root, say) {
  const lock = lockDigest(root);
  if (readStamp(root).lock !== lock) {
    say('installing packages (npm ci)');
    runNpm(root, CI_ARGUMENTS);
    writeStamp(root, { lock });
  }
  if (readStamp(root).native !== nativeTarget()) {
    if (!lmdbLoads(root)) await compileLmdb(root, say);
    writeStamp(root, { lock, native: nativeTarget() });
  }
}

async function compileLmdb(root, say) {
  say(`compiling node-lmdb for Node ${process.versions.node}`);
  await buildLmdb(root);
  if (!lmdbLoads(root))
    throw new Error('node-lmdb was compiled, but does not load: see `node -e "require(\'node-lmdb\')"`.');
}

function runNpm(root, args) {
  const { error, status } = spawnSync('npm', args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  if (error) throw new Error('npm does not start: install it (it comes with Node) and run the command again.');
  if (status !== 0)
    throw new Error('npm ci failed: mend what its lines above name (often the network) and run the command again.');
}

const nativeTarget = () => `${process.platform}-${process.arch}-${process.versions.modules}`;

const lockDigest = (root) =>
  createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');

const rowVersionOf = (root) => join(root, 'node_modules/.sheaf-stamp.json');

function readStamp(root) {
  try {
    return JSON.parse(readFileSync(rowVersionOf(root), 'utf8'));
  } catch {
    return {}; // The stamp is missing or incomplete: all steps run again.
  }
}

const writeStamp = (root, stamp) => writeFileSync(rowVersionOf(root), JSON.stringify(stamp));
