// Every error code of the table in src/contract/errors.ts is used somewhere: a code that nothing throws is a promise to
// clients that is not kept. A use is the code as a string, or as a member of the table; to document a code is not to
// use it.
import ts from 'typescript';
import { walk, type SourceFile } from './project.js';

const TABLE_FILE = 'src/contract/errors.ts';

export function errorCodeComplaints(files: readonly SourceFile[]): string[] {
  const table = files.find(({ path }) => path === TABLE_FILE);
  const codes = table ? codesOf(table) : [];
  if (codes.length === 0)
    return [`${TABLE_FILE} has no table ERROR_CODES: tell test/kit/tidy/error-codes.ts where it is`];
  const used = new Set(
    files
      .filter(({ path }) => path !== TABLE_FILE && /^(src|workers)\/(?!http\/openapi\/)/.test(path))
      .flatMap(wordsOf),
  );
  return codes
    .filter((code) => !used.has(code))
    .map((code) => `error code ${code} is never used: use it, or take it out of ${TABLE_FILE}`);
}

function codesOf(table: SourceFile): string[] {
  const codes: string[] = [];
  walk(table, (node) => {
    if (!ts.isPropertyAssignment(node)) return;
    const variable = ts.findAncestor(node, ts.isVariableDeclaration);
    if (variable?.name.getText() === 'ERROR_CODES') codes.push(node.name.getText());
  });
  return codes;
}

function wordsOf(file: SourceFile): string[] {
  const words: string[] = [];
  walk(file, (node) => {
    if (ts.isStringLiteralLike(node)) words.push(node.text);
    if (ts.isPropertyAccessExpression(node) && node.expression.getText() === 'ERROR_CODES') words.push(node.name.text);
  });
  return words;
}
