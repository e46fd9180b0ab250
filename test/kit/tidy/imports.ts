// What a source file imports, and which file of the project that is. Used by the checks of ranks, cycles, libraries and
// orphans. Type imports count like others: who names a type knows the place it comes from.
import { builtinModules } from 'node:module';
import { posix } from 'node:path';
import ts from 'typescript';
import { at, walk, type SourceFile } from './project.js';

export interface Import {
  readonly specifier: string;
  /** `path:line` of the import. */
  readonly at: string;
  /** True when nothing of it is left at run time. */
  readonly typeOnly: boolean;
}

/** Every import, re-export, dynamic import, `require` and import type with a literal specifier. */
export function importsOf(file: SourceFile): Import[] {
  const found: Import[] = [];
  walk(file, (node) => {
    const specifier = specifierOf(node);
    if (specifier) found.push({ specifier: specifier.text, at: at(file, node), typeOnly: isTypeOnly(node) });
  });
  return found;
}

function specifierOf(node: ts.Node): ts.StringLiteralLike | undefined {
  let specifier: ts.Node | undefined;
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) specifier = node.moduleSpecifier;
  else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) specifier = node.argument.literal;
  else if (
    ts.isCallExpression(node) &&
    (node.expression.kind === ts.SyntaxKind.ImportKeyword || node.expression.getText() === 'require')
  )
    specifier = node.arguments[0];
  return specifier && ts.isStringLiteralLike(specifier) ? specifier : undefined;
}

function isTypeOnly(node: ts.Node): boolean {
  if (ts.isImportTypeNode(node)) return true;
  if (ts.isExportDeclaration(node)) return node.isTypeOnly;
  if (!ts.isImportDeclaration(node)) return false;
  const { importClause } = node;
  if (!importClause || importClause.isTypeOnly) return importClause !== undefined;
  const named = importClause.namedBindings;
  return (
    !importClause.name &&
    named !== undefined &&
    ts.isNamedImports(named) &&
    named.elements.length > 0 &&
    named.elements.every((element) => element.isTypeOnly)
  );
}

/** Files named by `new URL('./x.js', import.meta.url)`: worker entries, for instance. */
export function urlsOf(file: SourceFile): string[] {
  const found: string[] = [];
  walk(file, (node) => {
    const first = ts.isNewExpression(node) && node.expression.getText() === 'URL' ? node.arguments?.[0] : undefined;
    if (first && ts.isStringLiteralLike(first) && first.text.startsWith('.')) found.push(first.text);
  });
  return found;
}

/**
 * The project's path of a relative specifier, as a source: compiled `.js` is its `.ts`, and dist is where it comes
 * from.
 */
export function resolve(from: SourceFile, specifier: string): string {
  const path = posix.join(posix.dirname(from.path), specifier).replace(/^dist\//, '');
  if (path.endsWith('.js')) return path.replace(/\.js$/, '.ts');
  return /\.\w+$/.test(path) ? path : `${path}.ts`;
}

/** The package of a specifier; undefined for relative ones and Node's own. */
export function packageOf(specifier: string): string | undefined {
  if (specifier.startsWith('.') || specifier.startsWith('node:') || builtinModules.includes(specifier))
    return undefined;
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}
