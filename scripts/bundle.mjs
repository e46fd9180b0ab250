// Bundles each program of the server (the process, the threads, the archiver) into one file, and one more for each part
// that it loads later. A start then reads a few files instead of 600, and each of its threads one instead of a hundred.
// dist also has every module by itself, for the client, the tests and load.
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';

/** These packages are native, or look for their own files beside their modules. */
export const NOT_BUNDLED = [
  '@btc-vision/uwebsockets.js',
  '*.node',
  'msgpackr-extract',
  'node-lmdb',
  'node-sqlite3-wasm',
  'onnxruntime-node',
  'pdfjs-dist',
  'piscina',
  'uWebSockets.js',
];
/** Packages in CommonJS format call `require`. */
const REQUIRE =
  "import { createRequire as createRequireOfBundle } from 'node:module'; const require = createRequireOfBundle(import.meta.url);";

/**
 * Bundles a program, a source relative to `root`, into its place in dist. `compiled` lists files of dist that replace
 * their sources, because they contain more than the sources without types. Returns `inputs` and `outputs`, relative to
 * `root`.
 */
export async function bundleProgram(root, program, compiled) {
  const esbuild = await import('esbuild'); // Not at the top: setup starts before packages are installed.
  const outdir = dirname(join(root, 'dist', program));
  const { metafile } = await esbuild.build({
    entryPoints: [join(root, program)],
    absWorkingDir: root,
    outdir,
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: true,
    sourcesContent: false,
    metafile: true,
    external: NOT_BUNDLED,
    banner: { js: REQUIRE },
    plugins: [ownModules(root, outdir, new Set(compiled))],
    logLevel: 'silent',
  });
  const read = Object.keys(metafile.inputs).filter(
    (path) => existsSync(join(root, path)) && !path.startsWith('node_modules/'),
  );
  const inputs = read.flatMap((path) => [path, ...compiled.filter((output) => output === builtOf(path))]);
  return { inputs: inputs.sort(), outputs: Object.keys(metafile.outputs) };
}

/** Where dist has the module of a source by itself. */
const builtOf = (source) => `dist/${source.replace(/\.ts$/, '.js')}`;

/** The text of a compiled module with its source map inline: esbuild would look for the map beside the source. */
function compiledText(built, source) {
  const map = { ...JSON.parse(readFileSync(`${built}.map`, 'utf8')), sources: [basename(source)] };
  const inline = `data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString('base64')}`;
  return readFileSync(built, 'utf8').replace(/^\/\/# sourceMappingURL=.*$/m, `//# sourceMappingURL=${inline}`);
}

/**
 * Replaces sources by their compiled modules of dist, and makes `import.meta.url` the module's own address in dist, so
 * that a module finds the files beside it from inside any bundle.
 */
function ownModules(root, outdir, compiled) {
  const onLoad = ({ path }) => {
    const source = relative(root, path);
    if (source.startsWith('node_modules/')) return undefined;
    const built = builtOf(source);
    const isCompiled = compiled.has(built);
    const text = isCompiled ? compiledText(join(root, built), path) : readFileSync(path, 'utf8');
    if (!isCompiled && !text.includes('import.meta.url')) return undefined;
    const address = `new URL(${JSON.stringify(relative(outdir, join(root, built)))}, import.meta.url).href`;
    return { contents: text.replaceAll('import.meta.url', address), loader: isCompiled ? 'js' : 'ts' };
  };
  return { name: 'own-modules', setup: (build) => build.onLoad({ filter: /\.ts$/ }, onLoad) };
}
