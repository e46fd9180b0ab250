// Makes a checkout ready to run, before `npm start` and `npm test`: packages, the native store, the build. Uses only
// Node's own modules, since a fresh clone has nothing else. Prints one line for each step, and nothing when there is
// nothing to do. `--anew` builds even when no source has changed. Exits 1 with one line that names the remedy.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, isBuilt } from './build.mjs';
import { install, isInstalled } from './install.mjs';
import { withLock } from './lock.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const say = (line) => console.log(`set-up: ${line}`);

/** Throws unless this is Node 20 from 20.16, 22 from 22.3, or 24 with the glibc that its HTTP library needs. */
function checkNode(version) {
  const [major, minor] = version.split('.').map(Number);
  if (major === 24) {
    const glibc = process.report.getReport().header.glibcVersionRuntime;
    if (glibc === undefined || Number(glibc.split('.')[1]) >= 38) return;
    throw new Error(
      `this is Node ${version}, which needs glibc 2.38 or later here (Debian 13, Ubuntu 24.04), and this system has ${glibc}: install Node 20 (from 20.16) or 22, which work here, and run the command again.`,
    );
  }
  if ((major === 22 && minor >= 3) || (major === 20 && minor >= 16)) return;
  throw new Error(
    `this is Node ${version}, but Sheaf runs on Node 20 (from 20.16), 22 (from 22.3) and 24: install one of these and run the command again.`,
  );
}

async function setUp(anew) {
  checkNode(process.versions.node);
  if (!anew && isInstalled(root) && isBuilt(root)) return;
  await withLock(join(root, '.setup-lock'), say, async () => {
    await install(root, say);
    if (anew || !isBuilt(root)) await build(root, say, { anew });
  });
}

try {
  await setUp(process.argv.includes('--anew'));
} catch (error) {
  console.error(`set-up: ${error.message}`);
  process.exitCode = 1;
}
