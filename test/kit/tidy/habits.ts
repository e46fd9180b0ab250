// Small habits that every source file keeps: a head comment, no default export, the environment and the console in
// their places, no notes to self. Each check takes the files and gives its complaints.
import ts from 'typescript';
import { at, walk, type SourceFile } from './project.js';

const HEAD_LINES_MIN = 2;
const HEAD_LINES_MAX = 8;

/**
 * The file opens with a comment that says what it owns, who calls it and on which thread; a test says what it shows, in
 * one line or more.
 */
export function headComplaints(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, text }) => {
    const lines = headLines(text.replace(/^#!.*\n/, ''));
    const linesMin = path.startsWith('test/') ? 1 : HEAD_LINES_MIN;
    if (lines >= linesMin && lines <= HEAD_LINES_MAX) return [];
    return [
      `${path} opens with ${lines} comment lines: say in ${linesMin} to ${HEAD_LINES_MAX} what it owns, who calls it and on which thread`,
    ];
  });
}

function headLines(text: string): number {
  const block = /^\/\*[^]*?\*\//.exec(text)?.[0];
  const lines = /^(?:\/\/.*(?:\n|$))+/.exec(text)?.[0].trimEnd();
  return (block ?? lines)?.split('\n').length ?? 0;
}

/** Declarations of other people's packages may say what those do. */
export function defaultExportComplaints(files: readonly SourceFile[]): string[] {
  const ours = files.filter(({ path }) => !path.endsWith('.d.ts'));
  return complaintsAbout(ours, 'is a default export: name it', (node) => {
    if (ts.isExportAssignment(node)) return true;
    if (ts.isExportSpecifier(node)) return node.name.text === 'default';
    return (
      ts.canHaveModifiers(node) &&
      (ts.getModifiers(node) ?? []).some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword)
    );
  });
}

/** The environment is read by the configuration and the entry point; everything else gets it as an argument. */
export function environmentComplaints(files: readonly SourceFile[]): string[] {
  const bound = shipped(files).filter(({ path }) => !/^src\/(config[^/]*|main)\.ts$/.test(path));
  return complaintsAbout(bound, 'reads process.env: take it from the configuration, as an argument', (node) =>
    isMember(node, 'process', 'env'),
  );
}

/** What is shipped logs through base/log; only the command line prints. */
export function consoleComplaints(files: readonly SourceFile[]): string[] {
  const bound = shipped(files).filter(({ path }) => !path.startsWith('src/cli/'));
  return complaintsAbout(bound, 'prints to the console: log it (src/base/log.ts)', (node) => isMember(node, 'console'));
}

const shipped = (files: readonly SourceFile[]): SourceFile[] =>
  files.filter(({ path }) => /^(src|workers)\//.test(path));

function isMember(node: ts.Node, object: string, member?: string): boolean {
  if (!ts.isPropertyAccessExpression(node) || node.expression.getText() !== object) return false;
  return member === undefined || node.name.text === member;
}

function complaintsAbout(
  files: readonly SourceFile[],
  complaint: string,
  isWrong: (node: ts.Node) => boolean,
): string[] {
  return files.flatMap((file) => {
    const found: string[] = [];
    walk(file, (node) => {
      if (isWrong(node)) found.push(`${at(file, node)} ${complaint}`);
    });
    return found;
  });
}

/** Work left to do belongs in an issue. This file and its kind name the words they look for. */
export function noteComplaints(files: readonly SourceFile[]): string[] {
  const bound = files.filter(({ path }) => !/^test\/(kit\/)?tidy/.test(path));
  return bound.flatMap(({ path, text }) =>
    text
      .split('\n')
      .flatMap((line, i) =>
        /\b(TODO|FIXME|XXX)\b/.test(line)
          ? [`${path}:${i + 1} is a note to self: do it, or open an issue and delete the note`]
          : [],
      ),
  );
}
