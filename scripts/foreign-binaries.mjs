// Removes binaries of other platforms from packages that bring those of all: together they are most of what an
// installation takes. What is kept runs with every Node that the server supports. `npm install sheaf` does so, and the
// image; a checkout keeps all. Prints how much it has removed.
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Packages with their binaries, and whether one is for this platform and a Node that the package is loaded with. */
const { platform, arch } = process;
const PACKAGES = {
  'onnxruntime-node': (path) => path.includes(`${sep}${platform}${sep}${arch}${sep}`),
  'node-lmdb': (path) => path.includes(`${sep}${platform}-${arch}${sep}`) || path.includes(`${sep}build${sep}`),
  'uWebSockets.js': (path) => new RegExp(`_${platform}_${arch}_(115|127)\\.node$`).test(path),
  '@btc-vision/uwebsockets.js': (path) => new RegExp(`_${platform}_${arch}_137\\.node$`).test(path),
};
const BINARY = /\.(node|dll|dylib|so(\.\d+)*)$/;

/** The folder of a package as `root` finds it; undefined if it is not installed. */
function folderOf(name, root) {
  const { paths } = createRequire(join(root, 'package.json')).resolve;
  const found = (paths(name) ?? []).map((modules) => join(modules, name));
  return found.find((folder) => existsSync(join(folder, 'package.json')));
}

/** Returns the bytes that were removed from the packages that the package in `root` uses. */
export function removeForeignBinaries(root) {
  let bytes = 0;
  for (const [name, isKept] of Object.entries(PACKAGES)) {
    const folder = folderOf(name, root);
    if (!folder) continue;
    const binaries = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && BINARY.test(entry.name))
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
    // A package whose files have other names than these is left as it is.
    if (!binaries.some((path) => isKept(relative(dirname(folder), path)))) continue;
    for (const path of binaries.filter((each) => !isKept(relative(dirname(folder), each)))) {
      bytes += statSync(path).size;
      rmSync(path);
    }
  }
  return bytes;
}

const script = fileURLToPath(import.meta.url);
if (process.argv[1] === script) {
  const bytes = removeForeignBinaries(dirname(dirname(script)));
  console.error(`sheaf: ${Math.round(bytes / 1e6)} MB of binaries for other platforms are removed`);
}
