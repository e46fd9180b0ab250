// Compiles what needs types: the files that use typia, whose calls become validators, and the type declarations of the
// client, which its package ships. It does not check types; `npm run check` does.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';

const require = createRequire(import.meta.url);
const CLIENT = 'src/client/client.ts';
/** The files from which the client takes its types. */
const DECLARED = /^src\/(client|api|base)\//;

/** Whether typia generates code for a file; a file that only has its tags is transpiled as any other. */
export const usesTypia = (root, path) => /^import typia\b/m.test(readFileSync(join(root, path), 'utf8'));

/**
 * Writes the validators and declarations below dist. Returns `inputs`, every file of the project that they depend on,
 * and `outputs`. Throws an Error with the compiler's message.
 */
export function buildValidators(root, paths) {
  const ts = require('typescript');
  const roots = paths.filter((path) => usesTypia(root, path));
  const program = ts.createProgram(
    [...roots, CLIENT].map((path) => join(root, path)),
    { ...readOptions(ts, root), outDir: join(root, 'dist') },
  );
  const outputs = [];
  const writeFile = (path, text) => {
    if (path.endsWith('.d.ts') && !DECLARED.test(relative(join(root, 'dist'), path))) return;
    if (path.endsWith('.d.ts')) text = plainTypes(text);
    // A file that would not change is not written, so that bundles that contain it are not built again.
    if (ts.sys.readFile(path) !== text) ts.sys.writeFile(path, text);
    outputs.push(relative(root, path));
  };
  const addDiagnostic = ({ messageText, file }) => {
    throw new Error(
      `${file ? relative(root, file.fileName) : 'typia'}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
    );
  };
  const transform = require('typia/lib/transform').default(program, {}, { ts, library: 'typia', addDiagnostic });
  for (const path of roots)
    program.emit(program.getSourceFile(join(root, path)), writeFile, undefined, false, { before: [transform] });
  const own = program.getSourceFiles().filter(({ fileName }) => !fileName.includes('/node_modules/'));
  const inputs = own.map(({ fileName }) => relative(root, fileName));
  for (const path of inputs.filter((path) => DECLARED.test(path)))
    program.emit(program.getSourceFile(join(root, path)), writeFile, undefined, true);
  return { inputs: inputs.sort(), outputs };
}

/** The ranges of numbers and lengths are checked by the server; to users of the client they are plain. */
function plainTypes(code) {
  let before;
  do {
    before = code;
    code = code.replace(/\s*&\s*tags\.\w+<(?:[^<>]|<[^<>]*>)*>/g, '');
  } while (code !== before);
  return code.replace(/^import .* from 'typia';$|^export declare const \w+: .*\btypia\..*$/gm, '');
}

/**
 * What a compiled file may depend on in this file: its imports, types, classes and constants, without the bodies of
 * functions; or its whole text where the file is compiled itself. Types that are inferred from a function body would be
 * missed, so those that typia and the client use are declared.
 */
export function declarationsOf(root, path) {
  const text = readFileSync(join(root, path), 'utf8');
  if (usesTypia(root, path)) return text;
  const ts = require('typescript');
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const seen = file.statements.filter((node) => !ts.isFunctionDeclaration(node) && !ts.isExpressionStatement(node));
  return seen.map((node) => withoutBodies(ts, file, node)).join('\n');
}

function withoutBodies(ts, file, declaration) {
  let kept = '';
  let from = declaration.getStart(file, true);
  const visit = (node) => {
    if (!ts.isFunctionLike(node.parent) || node.parent.body !== node) return ts.forEachChild(node, visit);
    kept += file.text.slice(from, node.getStart(file));
    from = node.getEnd();
  };
  ts.forEachChild(declaration, visit);
  return kept + file.text.slice(from, declaration.getEnd());
}

function readOptions(ts, root) {
  const host = {
    ...ts.sys,
    onUnRecoverableConfigFileDiagnostic: ({ messageText }) => {
      throw new Error(`tsconfig.json: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`);
    },
  };
  return ts.getParsedCommandLineOfConfigFile(join(root, 'tsconfig.json'), {}, host).options;
}
