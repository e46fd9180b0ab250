// Checks names, comments, messages and the documentation against the glossary (docs/reference/glossary.md):
// `npm run check -- words`. The last column of its tables has the words that must not be used for a thing:
//   word      neither as a name nor in prose
//   *word*    not as a name; in prose it has its everyday meaning
//   (word)    advice, which nothing checks
// A word that is forbidden in some folders only is followed by ` in ` and their paths. Names are those of declarations
// and files; a name has a word where one of its parts is the word: `partRoots`, `PART_ROOTS` and `parts` have *part*,
// `partial` has not. Prose is comments, strings with a space in what is shipped, and pages, without what is marked as
// code.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const GLOSSARY = 'docs/reference/glossary.md';
const FOLDERS = ['src', 'workers', 'load', 'test', 'docs'];
const SOURCES = /^(src|workers|load|test)\/.*\.tsx?$/;
const PAGES = /^(docs\/.*|README|CONTRIBUTING)\.md$/;
/** Pages that name what earlier releases called things. */
const OLD_WORDS = [GLOSSARY, 'docs/operations/migrating-from-pavedb.md'];

/** Where a word belongs to somebody else, or has its everyday meaning: path, words, reason. */
const RECORD = 'a field of a record on disk, or of an answer';
const ALLOWED = [
  ['src/service/tenants/auth.ts', ['claim'], 'the claims of a JWT'],
  ['test/unit/tenants/tokens.test.ts', ['claim'], 'the claims of a JWT'],
  ['test/integration/tenants/tokens-over-http.test.ts', ['claim'], 'the claims of a JWT'],
  ['src/storage/checkpoint-files.ts', ['part'], RECORD],
  ['src/engine/checkpoint/writer.ts', ['part'], RECORD],
  ['src/service/reindex/', ['staged'], RECORD],
];

/** The rules of the glossary: `{ word, parts, inProse, folders }`. */
function rulesOf(glossary) {
  const rows = glossary.split('\n').filter((line) => /^\| /.test(line) && !/^\| (Word|---)/.test(line));
  return rows.flatMap((row) => entriesOf(row.split('|').at(-2)));
}

function entriesOf(cell) {
  const entries = cell.split(',').map((entry) => entry.trim());
  return entries.filter((entry) => entry !== '' && !/^\(.*\)$/.test(entry)).map(ruleOf);
}

function ruleOf(entry) {
  const [, star, word, , folders] = /^(\*?)([^*`]+?)\1( in ((?:`[^`]+`(?: and )?)+))?$/.exec(entry) ?? [];
  if (word === undefined) throw new Error(`${GLOSSARY}: ${entry} is no word`);
  const parts = word.toLowerCase().split(/[ -]/);
  const paths = Array.from((folders ?? '').matchAll(/`([^`]+)`/g), ([, path]) => path);
  return { word, parts, inProse: star === '', folders: paths, pattern: patternOf(parts) };
}

const patternOf = (parts) => new RegExp(`(?<![\\w/.-])${parts.join('[\\s-]+')}(?:s|es)?(?![\\w/-])`, 'gi');

const isIn = (file, { folders }) =>
  folders.length === 0 || folders.some((folder) => file === folder || file.startsWith(`${folder}/`));

/** The parts of a name: `readRowAt`, `READ_ROW_AT` and `read-row-at` consist of read, row, at. */
const partsOf = (name) => (name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+/g) ?? []).map((part) => part.toLowerCase());

const isPart = (part, wanted) => part === wanted || part === `${wanted}s` || part === `${wanted}es`;

function hasWord(name, { parts }) {
  const own = partsOf(name);
  return own.some((_, at) => parts.every((part, i) => own[at + i] !== undefined && isPart(own[at + i], part)));
}

/** The declared names and the prose of a source, each with its line. */
function readSource(file, text) {
  const kind = file.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ES2022, true, kind);
  const lineAt = (at) => source.getLineAndCharacterOfPosition(at).line + 1;
  const names = [];
  const prose = commentsOf(source, text).map(({ pos, end }) => ({ line: lineAt(pos), text: text.slice(pos, end) }));
  const visit = (node) => {
    const { name } = node;
    if (name && (ts.isIdentifier(name) || ts.isPrivateIdentifier(name)) && declares(node))
      names.push({ line: lineAt(name.getStart(source)), name: name.text });
    if (ts.isStringLiteralLike(node) && /^(src|workers)\//.test(file) && node.text.includes(' '))
      prose.push({ line: lineAt(node.getStart(source)), text: node.text });
    ts.forEachChild(node, visit);
  };
  visit(source);
  return { names, prose };
}

/** An import under its own name declares nothing, nor does an access to a property. */
const declares = (node) =>
  !ts.isPropertyAccessExpression(node) &&
  !ts.isMetaProperty(node) &&
  !ts.isJsxAttribute(node) &&
  !((ts.isImportSpecifier(node) || ts.isExportSpecifier(node)) && node.propertyName === undefined);

function commentsOf(source, text) {
  const found = new Map();
  const take = (ranges) => ranges?.forEach((range) => found.set(range.pos, range));
  const visit = (node) => {
    if (ts.isJsxText(node)) return;
    if (node.getChildCount(source) > 0) return node.getChildren(source).forEach(visit);
    take(ts.getLeadingCommentRanges(text, node.pos));
    if (node.kind !== ts.SyntaxKind.EndOfFileToken) take(ts.getTrailingCommentRanges(text, node.end));
  };
  visit(source);
  return [...found.values()];
}

const withoutCode = (text) => text.replace(/```[\s\S]*?```/g, blank).replace(/`[^`\n]*`/g, blank);
const blank = (text) => text.replace(/[^\n]/g, ' ');
/** The text of a comment that goes on in the next line, without the comment marks. */
const joined = (text) => text.replace(/\n\s*(?:\*|\/\/)?/g, blank);

/** What breaks a rule in one file: `{ file, line, word, found }`. */
function findWords(rules, file, text) {
  const own = rules.filter((rule) => isIn(file, rule));
  const { names, prose } = SOURCES.test(file) ? readSource(file, text) : { names: [], prose: [{ line: 1, text }] };
  if (SOURCES.test(file)) names.push({ line: 1, name: file.slice(file.lastIndexOf('/') + 1) });
  const found = [];
  for (const rule of own) {
    for (const { line, name } of names)
      if (hasWord(name, rule)) found.push({ file, line, word: rule.word, found: name });
    for (const piece of rule.inProse ? prose : []) found.push(...inProse(rule, file, piece));
  }
  return found;
}

function inProse({ word, pattern }, file, { line, text }) {
  const plain = joined(withoutCode(text));
  return Array.from(plain.matchAll(pattern), ({ 0: match, index }) => ({
    file,
    line: line + text.slice(0, index).split('\n').length - 1,
    word,
    found: `… ${plain
      .slice(Math.max(0, index - 30), index + match.length + 20)
      .replace(/\s+/g, ' ')
      .trim()} …`,
  }));
}

/** The findings that no permission covers, and the permissions that nothing needs. */
function judged(found, allowed) {
  const isAllowed = ({ file, word }, [path, words]) => file.startsWith(path) && words.includes(word);
  return {
    broken: found.filter((one) => !allowed.some((entry) => isAllowed(one, entry))),
    unused: allowed.filter((entry) => !found.some((one) => isAllowed(one, entry))),
  };
}

function main() {
  const root = dirname(dirname(fileURLToPath(import.meta.url)));
  const rules = rulesOf(readFileSync(join(root, GLOSSARY), 'utf8'));
  const below = FOLDERS.filter((folder) => existsSync(join(root, folder))).flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((path) => `${folder}/${path}`),
  );
  const wanted = [...below, ...readdirSync(root)]
    .filter((file) => (SOURCES.test(file) || PAGES.test(file)) && !OLD_WORDS.includes(file))
    .sort();
  const found = wanted.flatMap((file) => findWords(rules, file, readFileSync(join(root, file), 'utf8')));
  const { broken, unused } = judged(found, ALLOWED);
  for (const { file, line, word, found: where } of broken) console.log(`${file}:${line} says ${word}: ${where}`);
  for (const [path, words] of unused)
    console.log(`scripts/words.mjs allows ${words.join(', ')} in ${path} for nothing`);
  console.log(`${rules.length} words, ${wanted.length} files, ${broken.length} found`);
  if (rules.length === 0 || broken.length + unused.length > 0) process.exitCode = 1;
}

main();
