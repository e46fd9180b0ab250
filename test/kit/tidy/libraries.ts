// A library is imported in its own folder only, so that a swap touches one folder; and only packages that package.json
// declares are imported: by what is shipped, only those that are no dev dependencies.
import { importsOf, packageOf } from './imports.js';
import type { SourceFile } from './project.js';

/** Where in src and workers a library may be imported; those not named here may be imported anywhere. */
const HOMES: Readonly<Record<string, RegExp>> = {
  'uWebSockets.js': /^src\/http\//,
  '@modelcontextprotocol/sdk': /^src\/http\/mcp\//,
  '@fastify/busboy': /^src\/http\//,
  piscina: /^(src\/pool|workers)\//,
  'node-lmdb': /^src\/store\//,
  'prom-client': /^src\/service\/metrics[^/]*\.ts$/,
  'onnxruntime-node': /^workers\/embed\/onnx\//,
  '@huggingface/tokenizers': /^workers\/embed\/onnx\//,
  cockatiel: /^(src\/embedding|workers\/embed)\//,
  'lru-cache': /^(src\/embedding|workers\/search)\//,
  commander: /^src\/cli\//,
  'cli-progress': /^src\/cli\//,
  picomatch: /^src\/cli\/glob\.ts$/,
  jose: /^src\/tenants\//,
  yaml: /^src\/config[^/]*\.ts$/,
  yazl: /^src\/archive\//,
  'node-sqlite3-wasm': /^src\/archive\/pavedb\//,
  yauzl: /^src\/archive\//,
  jszip: /^workers\/batch\/extract\/zip-package\.ts$/,
  'csv-parse': /^workers\/batch\/extract\//,
  htmlparser2: /^workers\/batch\/extract\//,
  mammoth: /^workers\/batch\/extract\//,
  'postal-mime': /^workers\/batch\/extract\//,
  porter2: /^src\/text\/stemmers\.ts$/,
  '@orama/stemmers': /^src\/text\/stemmers\.ts$/,
  '@orama/stopwords': /^src\/text\/stemmers\.ts$/,
  'pdfjs-dist': /^workers\/batch\/extract\//,
  pino: /^src\/logger\.ts$/,
  '@opentelemetry/api': /^src\/tracer\.ts$/,
  '@opentelemetry/core': /^src\/tracer\.ts$/,
  '@opentelemetry/exporter-trace-otlp-http': /^src\/tracer\.ts$/,
  '@opentelemetry/resources': /^src\/tracer\.ts$/,
  '@opentelemetry/sdk-trace': /^src\/tracer\.ts$/,
  preact: /^src\/ui\//,
  '@preact/signals': /^src\/ui\//,
  '@tanstack/virtual-core': /^src\/ui\/parts\//,
  uplot: /^src\/ui\/live\//,
};
/** The build puts what is imported here into files of its own, so a dev dependency will do. */
const BUNDLED = /^src\/ui\//;
/** These are imported in one file, so that another build or version is a change of one file. */
const ONE_FILE = ['uWebSockets.js', 'node-lmdb', 'pino'];

export interface Declared {
  readonly dependencies: readonly string[];
  readonly devDependencies: readonly string[];
}

export function libraryComplaints(files: readonly SourceFile[], declared: Declared): string[] {
  const uses = files.flatMap((file) =>
    importsOf(file).flatMap(({ specifier, at }) => {
      const library = packageOf(specifier);
      return library === undefined ? [] : [{ path: file.path, library, at }];
    }),
  );
  const misplaced = uses.flatMap(({ path, library, at }) => {
    const shipped = /^(src|workers)\//.test(path);
    if (shipped && HOMES[library]?.test(path) === false)
      return [`${at} imports ${library}, which only ${HOMES[library]} may`];
    const known =
      declared.dependencies.includes(library) ||
      ((!shipped || BUNDLED.test(path)) && declared.devDependencies.includes(library));
    return known
      ? []
      : [
          `${at} imports ${library}, which package.json does not name under ${shipped ? 'dependencies' : 'dependencies or devDependencies'}`,
        ];
  });
  return [...misplaced, ...scattered(uses)];
}

function scattered(uses: readonly { path: string; library: string }[]): string[] {
  return ONE_FILE.flatMap((library) => {
    const paths = new Set(
      uses.filter((use) => use.library === library && use.path.startsWith('src/')).map(({ path }) => path),
    );
    return paths.size > 1 ? [`${library} is imported by ${[...paths].join(' and ')}: one file is its door`] : [];
  });
}
