// Builds the console: src/console becomes one page, one stylesheet and a few scripts with a digest in their names, each
// also in a form compressed by brotli at its highest, slowest level. `node scripts/console.mjs FOLDER` builds the
// console alone.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants } from 'node:zlib';

const PAGE = 'src/console/index.html';
const TYPES = 'src/console/tsconfig.json';
/** The first browser versions that support `light-dark()`, from spring 2024. */
const TARGET = ['chrome123', 'firefox121', 'safari17.5'];

/** Empties a folder and writes the files of the console into it. Returns `inputs`, the files that they were made of. */
export async function buildConsole(root, folder) {
  const esbuild = await import('esbuild'); // Not at the top: setup starts before packages are installed.
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { metafile } = await esbuild.build({
    entryPoints: { console: join(root, 'src/console/main.tsx'), style: join(root, 'src/console/style/style.css') },
    outdir: folder,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    absWorkingDir: root,
    bundle: true,
    minify: true,
    splitting: true,
    format: 'esm',
    target: TARGET,
    metafile: true,
    legalComments: 'none',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    tsconfig: join(root, TYPES),
    logLevel: 'warning',
  });
  writeFileSync(join(folder, 'index.html'), pageOf(root, Object.entries(metafile.outputs)));
  for (const name of readdirSync(folder)) {
    const bytes = readFileSync(join(folder, name));
    writeFileSync(
      join(folder, `${name}.br`),
      brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }),
    );
  }
  const own = Object.keys(metafile.inputs).filter((path) => !path.startsWith('node_modules/'));
  return { inputs: [...own, PAGE, TYPES].sort() };
}

/** The HTML page, which names its script, the scripts that are loaded together with it, and its stylesheet. */
function pageOf(root, outputs) {
  const [script, { imports }] = outputs.find(([, { entryPoint }]) => entryPoint?.endsWith('main.tsx'));
  const [style] = outputs.find(([, { entryPoint }]) => entryPoint?.endsWith('style.css'));
  const early = imports
    .filter(({ kind }) => kind === 'import-statement')
    .map(({ path }) => `<link rel="modulepreload" href="ui/${basename(path)}">`);
  const page = readFileSync(join(root, PAGE), 'utf8');
  return page
    .replace('<!-- preload -->', early.join(''))
    .replace('SCRIPT', basename(script))
    .replace('STYLE', basename(style));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = dirname(dirname(fileURLToPath(import.meta.url)));
  await buildConsole(root, process.argv[2] ?? join(root, 'dist/src/console/page'));
}
