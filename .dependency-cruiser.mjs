// Who may import whom. A type is imported as a value is: who names it knows the place it comes from.

/** Folders of src, the lowest first. Each sees itself and those above it in this list; those of one line not each other. */
const LAYERS = [
  ['base'],
  ['contract', 'client'],
  ['rank', 'text', 'ui'],
  ['pool', 'store', 'archive'],
  ['tenants', 'embedding'],
  ['service'],
  ['http'],
];
/** Folders of src that worker threads see. */
const WORKERS_SEE = ['base', 'contract', 'text', 'store', 'rank', 'archive'];
/** What runs: everything that is shipped is reached from here. */
const PROGRAMS = [
  '^src/main\\.ts$',
  '^src/client/client\\.ts$',
  '^src/ui/main\\.tsx$',
  '^workers/[^/]+/(main|worker)\\.ts$',
  '^workers/shard/assembly/index\\.ts$',
  '^src/base/assembly/json-floats\\.ts$',
  '^load/[^/]+\\.ts$',
];
/** The one place in src and workers where a library is imported, so that another takes its place there alone. */
const LIBRARIES = {
  'uWebSockets.js': '^src/http/uws\\.ts$',
  '@modelcontextprotocol/sdk': '^src/http/mcp/',
  '@fastify/busboy': '^src/http/',
  piscina: '^(src/pool|workers)/',
  'node-lmdb': '^src/store/lmdb\\.ts$',
  'prom-client': '^src/service/metrics[^/]*\\.ts$',
  'onnxruntime-node': '^workers/embed/onnx/',
  '@huggingface/tokenizers': '^workers/embed/onnx/',
  cockatiel: '^(src/embedding|workers/embed)/',
  'lru-cache': '^(src/embedding|workers/search)/',
  commander: '^src/cli/',
  'cli-progress': '^src/cli/',
  picomatch: '^src/cli/glob\\.ts$',
  jose: '^src/tenants/',
  yaml: '^src/config[^/]*\\.ts$',
  yazl: '^src/archive/',
  yauzl: '^src/archive/',
  'node-sqlite3-wasm': '^src/archive/pavedb/',
  '(jszip|csv-parse|htmlparser2|mammoth|postal-mime|pdfjs-dist)': '^workers/batch/extract/',
  '(porter2|@orama/stemmers|@orama/stopwords)': '^src/text/stemmers\\.ts$',
  pino: '^src/logger\\.ts$',
  '@opentelemetry': '^src/tracer\\.ts$',
  '(preact|@preact/signals)': '^src/ui/',
  '@tanstack/virtual-core': '^src/ui/parts/',
  uplot: '^src/ui/live/',
};

const below = (folders) => `^src/(${folders.join('|')})/`;
const TYPES = ['type-only', 'type-import'];

const layers = LAYERS.flatMap((folders, i) =>
  folders.map((folder) => ({
    name: `layer-${folder}`,
    comment: `src/${folder} sees only itself and lower layers: move the shared part down, or pass it as an argument`,
    from: { path: below([folder]) },
    to: {
      path: '^src/',
      pathNot: below([folder, ...LAYERS.slice(0, i).flat(), ...(folder === 'client' ? ['contract'] : [])]),
    },
  })),
);

const libraries = Object.entries(LIBRARIES).map(([library, home]) => ({
  name: `library-${library}`,
  comment: `only ${home} imports it`,
  from: { path: '^(src|workers)/', pathNot: home },
  to: { path: `^node_modules/${library}(/|$)` },
}));

export default {
  forbidden: [
    { name: 'no-cycles', from: {}, to: { circular: true } },
    ...layers,
    {
      name: 'layers-are-known',
      comment: 'a new folder of src gets its place in LAYERS',
      from: { path: '^src/[^/]+/', pathNot: below([...LAYERS.flat(), 'cli']) },
      to: {},
    },
    {
      name: 'top-composes',
      comment: 'files in src itself compose the rest; only main.ts knows the command line',
      from: { path: '^src/[^/]+$', pathNot: '^src/main\\.ts$' },
      to: { path: '^src/cli/' },
    },
    { name: 'main-is-last', from: {}, to: { path: '^src/main\\.ts$' } },
    {
      name: 'client-takes-types',
      comment: 'of src/contract the client takes only types: it is published without the rest',
      from: { path: below(['client']) },
      to: { path: below(['contract']), dependencyTypesNot: TYPES },
    },
    {
      name: 'console-takes-types',
      comment: 'of src/contract the console takes only types, and constants, of which the bundler takes those it uses',
      from: { path: below(['ui']) },
      to: {
        path: below(['contract']),
        pathNot: '^src/contract/(limits|language)\\.ts$',
        dependencyTypesNot: TYPES,
      },
    },
    {
      name: 'src-alone',
      comment: 'what src and workers both need belongs in src/contract',
      from: { path: '^src/' },
      to: { path: '^(workers|test|load|scripts)/' },
    },
    {
      name: 'workers-alone',
      comment: 'workers see their own folder and some of src; the search workers read what the shard workers write',
      from: { path: '^workers/([^/]+)/' },
      to: {
        path: '^(src|workers|test|load|scripts)/',
        pathNot: ['^workers/$1/', '^workers/shard/', below(WORKERS_SEE)],
      },
    },
    {
      name: 'workers-alone-shard',
      from: { path: '^workers/', pathNot: '^workers/(search|shard)/' },
      to: { path: '^workers/shard/' },
    },
    ...libraries,
    {
      name: 'declared-packages',
      comment: 'what is shipped imports only `dependencies` of package.json; the build bundles the console',
      from: { path: '^(src|workers)/', pathNot: '^src/ui/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'shipped-is-used',
      comment: 'nothing that runs reaches it (being tested is not being used): use it, delete it or move it below test',
      from: { path: PROGRAMS },
      to: { path: '^(src|workers)/.*\\.tsx?$', pathNot: PROGRAMS, reachable: false },
    },
  ].map((rule) => ({ severity: 'error', ...rule })),
  options: {
    tsConfig: { fileName: './tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: '^node_modules/' },
    exclude: { path: '^dist' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      extensions: ['.ts', '.tsx', '.js', '.mjs', '.cjs', '.json', '.d.ts'],
    },
  },
};
