// Builds the package `sheaf-client` (clients/typescript) from the client of the server: one module that needs fetch alone,
// and one file of types, without what only the server's validation needs.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { rollup } from 'rollup';
import { dts } from 'rollup-plugin-dts';
import ts from 'typescript';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const target = join(root, 'clients', 'typescript', 'dist');
const CLIENT = join('src', 'client', 'client');
const HEADER = '// Built from src/client of Sheaf.';

/** What only the server has of the interface: the tables of its routes, the checks of its input, and what it stores. */
const ONLY_OF_SERVER = new RegExp(
  '^export (?:' +
    'declare (?:const|function) (?:\\w*ROUTES|check\\w+|is\\w+|SEARCH_ANSWER)|' +
    'interface (?:AliasRecord|Collection|DeleteTenantQuery|KeyRecord|LinesWish|MetricsQuery|StoredTenants|TenantRecord)|' +
    'type (?:ArchivedSettings|TenantChange)' +
    ')\\b',
);

const ofClient = (code, id) => (id.includes('/api/') ? withoutStatements(code, ONLY_OF_SERVER) : code);

/** Leaves out the declarations at the top level that begin with a pattern, with their comments. */
function withoutStatements(code, pattern) {
  const source = ts.createSourceFile('types.d.ts', code, ts.ScriptTarget.Latest);
  return source.statements
    .filter((statement) => !pattern.test(statement.getText(source)))
    .map((statement) => statement.getFullText(source))
    .join('');
}

async function buildModule() {
  await build({
    entryPoints: [join(root, `${CLIENT}.ts`)],
    outfile: join(target, 'index.js'),
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    minify: true,
    legalComments: 'none',
    banner: { js: HEADER },
    plugins: [
      {
        name: 'fetch alone',
        setup({ onResolve }) {
          const instead = (filter, file) => onResolve({ filter }, () => ({ path: join(dirname(target), 'src', file) }));
          instead(/\/upload\.js$/, 'upload-by-fetch.ts');
          instead(/^msgpackr$/, 'without-msgpack.ts');
        },
      },
    ],
  });
}

async function buildTypes() {
  const bundle = await rollup({
    input: join(root, 'dist', `${CLIENT}.d.ts`),
    plugins: [{ name: 'of the client', transform: ofClient }, dts()],
    onwarn: () => undefined,
  });
  await bundle.write({ file: join(target, 'index.d.ts'), format: 'es', banner: HEADER });
  await bundle.close();
}

/** The same types in fewer bytes: tabs, and comments on one line. */
const compact = (code) =>
  code
    .replace(/^(?: {4})+/gm, (spaces) => '\t'.repeat(spaces.length / 4))
    .replace(/\/\*\*\n[^]*?\*\//g, (comment) =>
      comment.replace(/\s*\n\s*\*(?!\/)\s*/g, ' ').replace(/\s*\n\s*\*\//, ' */'),
    );

/** Builds the package, and returns its folder. */
export async function buildClientPackage() {
  rmSync(target, { recursive: true, force: true });
  await Promise.all([buildModule(), buildTypes()]);
  const types = join(target, 'index.d.ts');
  writeFileSync(types, compact(readFileSync(types, 'utf8')));
  return dirname(target);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(await buildClientPackage());
