// Compiles what needs types: the files that use typia, whose calls become validators, and the declarations of the client,
// which its package ships. build.mjs runs it where a declaration that they see has changed. Types themselves are checked
// by `npm run check`.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';

const require = createRequire(import.meta.url);
const CLIENT = 'src/client/client.ts';
/** The client takes its types from these. */
const DECLARED = /^src\/(client|api|base)\//;

/** Whether typia makes code of a file's calls; one that only has its tags is as any other. */
export const usesTypia = (root, path) => /^import typia\b/m.test(readFileSync(join(root, path), 'utf8'));

/**
 * Writes them below dist. Answers `inputs`, every file of the project that they see, and `outputs`. Throws Error with
 * the compiler's message.
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
    // What is the same stays as old as it is: bundles that hold it are not made again.
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

/**
 * What a compiled file may see of this one: its imports, types, classes and constants, without the bodies of functions;
 * all of its text where it is compiled itself. A type that is inferred from a function is the exception: those that
 * typia and the client see are declared.
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
