import { NOT_BUNDLED } from './scripts/bundle.mjs';

// Who may import whom. A type is imported as a value is: who names it knows the place it comes from.

/** Folders of src, the lowest first, and what each sees beside itself. */
const SEES = {
  base: [],
  api: ['base'],
  text: ['base', 'api'],
  ranking: ['base', 'api', 'text'],
  storage: ['base', 'api', 'text', 'ranking'],
  engine: ['base', 'api', 'text', 'ranking', 'storage'],
  extract: ['base', 'api', 'text', 'ranking'],
  embedding: ['base', 'api', 'text'],
  archive: ['base', 'api', 'text', 'ranking', 'storage'],
  config: ['base', 'api', 'embedding', 'ranking'],
  pool: ['base', 'api', 'extract', 'embedding', 'archive', 'storage', 'engine'],
  observability: ['base', 'api', 'config', 'pool'],
  cluster: ['base', 'api', 'config', 'pool', 'storage', 'engine'],
  service: [
    'base',
    'api',
    'text',
    'ranking',
    'storage',
    'engine',
    'extract',
    'embedding',
    'archive',
    'config',
    'pool',
    'observability',
    'cluster',
  ],
  http: ['base', 'api', 'config', 'extract', 'observability', 'service'],
  client: ['base', 'api'],
  console: ['base', 'api', 'ranking', 'client'],
};
/** Files of src/api that define no routes. */
const LIGHT_API = '^src/api/(choices|common|errors|filter|ids|limits|memory-placement|msgpack|numbers|placement)\\.ts$';
/** Folders of src that worker threads see. */
const WORKERS_SEE = ['base', 'api', 'text', 'ranking', 'storage', 'engine', 'extract', 'embedding', 'archive'];
/** Folders of src that front threads, which serve HTTP, see as well. */
const FRONTS_SEE = ['config', 'pool', 'observability', 'service', 'http'];
/** What runs: everything that is shipped is reached from here. */
const PROGRAMS = [
  '^src/main\\.ts$',
  '^src/client/client\\.ts$',
  '^src/console/main\\.tsx$',
  '^workers/[^/]+/(main|worker)\\.ts$',
  '^src/engine/kernel/index\\.ts$',
  '^src/base/assembly/json-floats\\.ts$',
  '^load/main\\.ts$',
];
/** The one place in src and workers where a library is imported, so that another takes its place there alone. */
const LIBRARIES = {
  'uWebSockets.js': '^src/http/uws\\.ts$',
  '@modelcontextprotocol/sdk': '^src/http/mcp/',
  '@fastify/busboy': '^src/http/form\\.ts$',
  piscina: '^(src/pool|workers)/',
  'node-lmdb': '^src/storage/lmdb\\.ts$',
  'prom-client': '^src/observability/gauges\\.ts$',
  'onnxruntime-node': '^src/embedding/onnx/',
  '@huggingface/tokenizers': '^src/embedding/onnx/',
  cockatiel: '^src/(embedding/remote|service/embedding)/',
  'lru-cache': '^src/(engine/search|service/embedding)/',
  commander: '^src/cli/',
  'cli-progress': '^src/cli/',
  picomatch: '^src/cli/files\\.ts$',
  '@nats-io': '^src/cluster/nats\\.ts$',
  jose: '^src/(config|service/tenants)/auth\\.ts$',
  yaml: '^src/config/',
  yazl: '^src/archive/writer\\.ts$',
  yauzl: '^src/archive/reader\\.ts$',
  'node-sqlite3-wasm': '^src/archive/pavedb\\.ts$',
  '(jszip|csv-parse|htmlparser2|mammoth|postal-mime|pdfjs-dist)': '^src/extract/',
  '(porter2|@orama/stemmers|@orama/stopwords)': '^src/text/stemming\\.ts$',
  pino: '^src/observability/log\\.ts$',
  '@opentelemetry': '^src/observability/tracing\\.ts$',
  '(preact|@preact/signals)': '^src/console/',
  '@tanstack/virtual-core': '^src/console/virtual-table\\.tsx$',
  uplot: '^src/console/overview\\.tsx$',
};

const below = (folders) => `^src/(${folders.join('|')})/`;
const TYPES = ['type-only', 'type-import'];

const layers = Object.entries(SEES).map(([folder, seen]) => ({
  name: `layer-${folder}`,
  comment: `src/${folder} sees only itself and ${seen.join(', ') || 'nothing else'}: move the shared part down, or pass it as an argument`,
  from: { path: below([folder]) },
  to: { path: '^src/', pathNot: below([folder, ...seen]) },
}));

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
      comment: 'a new folder of src gets its place in SEES; at the top of src there is main.ts alone',
      from: { path: '^src/', pathNot: [below([...Object.keys(SEES), 'cli']), '^src/main\\.ts$'] },
      to: {},
    },
    { name: 'main-is-last', from: {}, to: { path: '^src/main\\.ts$' } },
    {
      name: 'pool-takes-types',
      comment: 'of the engine the pool takes only types, the layout of shared memory and the tables of its commands',
      from: { path: below(['pool']) },
      to: {
        path: below(['engine']),
        pathNot: ['^src/engine/memory/(layout|ownership)\\.ts$', '^src/engine/write/commands\\.ts$'],
        dependencyTypesNot: TYPES,
      },
    },
    {
      name: 'kernel-alone',
      comment: 'the kernel is AssemblyScript: it sees itself and the layout of the memory',
      from: { path: '^src/engine/kernel/' },
      to: { path: '^src/', pathNot: '^src/engine/(kernel/|memory/layout\\.ts$)' },
    },
    {
      name: 'client-takes-types',
      comment: 'of src/api the client takes only types: it is published without the rest',
      from: { path: below(['client']) },
      to: { path: below(['api']), dependencyTypesNot: TYPES },
    },
    {
      name: 'console-takes-types',
      comment: 'of src/api the console takes only types, and constants, of which the bundler takes those it uses',
      from: { path: below(['console']) },
      to: {
        path: below(['api']),
        pathNot: '^src/api/(limits|choices)\\.ts$',
        dependencyTypesNot: TYPES,
      },
    },
    {
      name: 'definitions-are-of-http',
      comment: 'of the files of src/api that define routes, whose checks are compiled, all but http take only types',
      from: { path: '^(src|workers|load)/', pathNot: below(['api', 'http']) },
      to: { path: below(['api']), pathNot: LIGHT_API, dependencyTypesNot: TYPES },
    },
    {
      name: 'src-alone',
      comment: 'what src and workers both need belongs in src',
      from: { path: '^src/' },
      to: { path: '^(workers|test|load|scripts)/' },
    },
    {
      name: 'workers-alone',
      comment: 'a worker sees its own folder, what all workers share and some of src',
      from: { path: '^workers/([^/]+)/', pathNot: '^workers/front/' },
      to: {
        path: '^(src|workers|test|load|scripts)/',
        pathNot: ['^workers/($1/|[^/]+\\.ts$)', below(WORKERS_SEE), '^src/cli/bench-run\\.ts$'],
      },
    },
    {
      name: 'fronts-alone',
      comment: 'the worker of front threads sees what serves HTTP as well',
      from: { path: '^workers/front/' },
      to: {
        path: '^(src|workers|test|load|scripts)/',
        pathNot: ['^workers/(front/|[^/]+\\.ts$)', below([...WORKERS_SEE, ...FRONTS_SEE])],
      },
    },
    ...libraries,
    {
      name: 'declared-packages',
      comment: 'what is shipped imports only packages of package.json',
      from: { path: '^(src|workers)/' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'installed-packages',
      comment: 'the build bundles all packages but these, which are `dependencies` of package.json',
      from: { path: '^(src|workers)/' },
      to: {
        path: `node_modules/(${NOT_BUNDLED.filter((name) => !name.includes('*')).join('|')})/`,
        dependencyTypes: ['npm-dev'],
      },
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
