// The project as the tidy checks see it: every source file with its text and syntax tree, every Markdown page, and the
// packages declared. Each check is a function from this to a list of complaints. Read once by tidy.test.ts.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

export interface SourceFile {
  /** Relative to the project, with slashes. */
  readonly path: string;
  readonly text: string;
  readonly syntax: ts.SourceFile;
}

export interface Page {
  readonly path: string;
  readonly text: string;
}

const SOURCE_FOLDERS = ['src', 'workers', 'test', 'load', 'scripts'];
const NOT_OURS = /^(node_modules|dist.*|data|models|\..*)$/;

/** A source file from its text: planted ones in the checks' own tests are made so. */
export function sourceFile(path: string, text: string): SourceFile {
  return { path, text, syntax: ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true) };
}

export function readSources(root: string): SourceFile[] {
  const paths = SOURCE_FOLDERS.flatMap((folder) => pathsBelow(root, folder)).filter((path) =>
    /\.(tsx?|mjs)$/.test(path),
  );
  return paths.map((path) => sourceFile(path, readFileSync(join(root, path), 'utf8')));
}

export function readPages(root: string): Page[] {
  const paths = pathsBelow(root, '').filter((path) => path.endsWith('.md'));
  return paths.map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

/** Paths of every file of ours below a folder, sorted. */
function pathsBelow(root: string, folder: string): string[] {
  if (!existsSync(join(root, folder))) return [];
  const entries = readdirSync(join(root, folder), { withFileTypes: true }).filter(
    ({ name }) => folder !== '' || !NOT_OURS.test(name),
  );
  const nested = entries.map((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    return entry.isDirectory() ? pathsBelow(root, path) : [path];
  });
  return nested.flat().sort();
}

/** Calls `visit` with every node of a file. */
export function walk(file: SourceFile, visit: (node: ts.Node) => void): void {
  const step = (node: ts.Node): void => {
    visit(node);
    ts.forEachChild(node, step);
  };
  step(file.syntax);
}

/** `path:line`, as editors and terminals open it. */
export function at(file: SourceFile, node: ts.Node): string {
  return `${file.path}:${file.syntax.getLineAndCharacterOfPosition(node.getStart()).line + 1}`;
}
