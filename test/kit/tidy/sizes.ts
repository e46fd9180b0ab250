// Lines of files and of functions against their aims. What is over the aim stands with its present size in
// allowances.ts and may only shrink: a ratchet, so that the aims are reached file by file and never lost again.
import ts from 'typescript';
import { walk, type SourceFile } from './project.js';

export interface Limits {
  /** What needs no allowance. */
  readonly aim: number;
  /** What no allowance can exceed. */
  readonly max: number;
  readonly allowances: Readonly<Record<string, number>>;
}

/** Complaints about sizes by name: over the aim without an allowance, grown, or shrunk below their allowance. */
export function ratchetComplaints(sizes: ReadonlyMap<string, number>, { aim, max, allowances }: Limits): string[] {
  const gone = Object.keys(allowances).filter((name) => !sizes.has(name));
  const complaints = gone.map((name) => `"${name}" is no more: remove its allowance`);
  for (const [name, size] of sizes) {
    const allowance = allowances[name];
    if (size > max) complaints.push(`"${name}" has ${size} lines, and nothing may have more than ${max}: split it`);
    else if (allowance === undefined && size > aim)
      complaints.push(
        `"${name}" has ${size} lines: split it to at most ${aim}, or say why not beside an allowance of ${size}`,
      );
    else if (allowance !== undefined && size > allowance)
      complaints.push(`"${name}" grew from ${allowance} to ${size} lines: it may only shrink`);
    else if (allowance !== undefined && size <= aim)
      complaints.push(`"${name}" has ${size} lines now: remove its allowance`);
    else if (allowance !== undefined && size < allowance)
      complaints.push(`"${name}" shrank to ${size} lines: lower its allowance of ${allowance}`);
  }
  return complaints;
}

export function fileSizes(files: readonly SourceFile[]): Map<string, number> {
  return new Map(files.map(({ path, text }) => [path, text.trimEnd().split('\n').length]));
}

/**
 * Lines of each named function, by `path name`; of nameless ones only where no named one holds them, as `path
 * (nameless)`.
 */
export function functionSizes(files: readonly SourceFile[]): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const file of files) {
    walk(file, (node) => {
      const name = ts.isFunctionLike(node) && 'body' in node && node.body ? nameOf(node) : undefined;
      if (name === undefined) return;
      const key = `${file.path} ${name}`;
      sizes.set(key, Math.max(linesOf(file, node), sizes.get(key) ?? 0));
    });
  }
  return sizes;
}

function linesOf(file: SourceFile, node: ts.Node): number {
  const lineAt = (position: number): number => file.syntax.getLineAndCharacterOfPosition(position).line;
  return lineAt(node.getEnd()) - lineAt(node.getStart()) + 1;
}

function nameOf(node: ts.Node): string | undefined {
  const named = ts.isArrowFunction(node) || ts.isFunctionExpression(node) ? node.parent : node;
  const name = (named as Partial<ts.NamedDeclaration>).name?.getText();
  const owner = ts.isClassLike(named.parent) ? `${named.parent.name?.text ?? 'class'}.` : '';
  if (ts.isConstructorDeclaration(node)) return `${owner}constructor`;
  if (name !== undefined) return `${owner}${name}`;
  return ts.findAncestor(node.parent, ts.isFunctionLike) ? undefined : '(nameless)';
}
