// Makes each program of the server (the process, the threads, the archiver) one file, and one for each part that it
// loads later: a start then reads a few files instead of 600, and each of its threads one instead of a hundred. Called
// by build.mjs on what it has compiled; the modules that a bundle was made of stay where they are, for the client, the
// tests and the load programs.
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** They are native, or look for files of theirs where they lie. */
const NOT_BUNDLED = [
  '*.node',
  'msgpackr-extract',
  'node-lmdb',
  'node-sqlite3-wasm',
  'onnxruntime-node',
  'pdfjs-dist',
  'piscina',
  'uWebSockets.js',
];
/** Packages of the older module format call it. */
const REQUIRE =
  "import { createRequire as createRequireOfBundle } from 'node:module'; const require = createRequireOfBundle(import.meta.url);";

/** `folder`: a whole build, in which each program is replaced by its bundle. */
export async function bundlePrograms(folder) {
  const outDir = realpathSync(folder);
  const esbuild = await import('esbuild'); // Not at the head: set-up starts without packages.
  const workers = readdirSync(join(outDir, 'workers')).flatMap((kind) =>
    ['main.js', 'worker.js'].map((name) => join(outDir, 'workers', kind, name)),
  );
  for (const program of [join(outDir, 'src/main.js'), ...workers.filter(existsSync)]) {
    await esbuild.build({
      entryPoints: [program],
      absWorkingDir: outDir,
      outdir: dirname(program),
      chunkNames: '[name]-[hash]',
      allowOverwrite: true,
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      sourcemap: true,
      sourcesContent: false,
      external: NOT_BUNDLED,
      banner: { js: REQUIRE },
      plugins: [keepAddresses(outDir, dirname(program))],
      logLevel: 'error',
    });
  }
}

/** A module of ours finds what lies beside it from wherever its bundle is. */
function keepAddresses(outDir, folder) {
  const onLoad = ({ path }) => {
    const text = readFileSync(path, 'utf8');
    if (!path.startsWith(outDir) || !text.includes('import.meta.url')) return undefined;
    return {
      contents: text.replaceAll(
        'import.meta.url',
        `new URL(${JSON.stringify(relative(folder, path))}, import.meta.url).href`,
      ),
      loader: 'js',
    };
  };
  return { name: 'keep-addresses', setup: (build) => build.onLoad({ filter: /\.js$/ }, onLoad) };
}
