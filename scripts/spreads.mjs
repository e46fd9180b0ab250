// Checks that spreads in object literals add no property that the expected type lacks: `npm run check -- spreads`. The
// TypeScript compiler rejects such a property where it is written out, but not where a spread adds it: in
// `put({ text, ...(copy && { copy }) })` the property `copy` has no effect once `put` calls it `shadow`. A spread of a
// variable or of a property is exempt: it copies an object that may have more properties.
import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const PROJECTS = ['tsconfig.json', 'src/console/tsconfig.json'];
const TYPE_CHARACTERS_MAX = 80;

const root = process.argv[2] ?? dirname(dirname(fileURLToPath(import.meta.url)));

function programOf(project) {
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: fail };
  const { fileNames, options, errors } = ts.getParsedCommandLineOfConfigFile(
    join(root, project),
    { noEmit: true },
    host,
  );
  errors.forEach(fail);
  return ts.createProgram(fileNames, options);
}

function fail({ messageText }) {
  throw new Error(ts.flattenDiagnosticMessageText(messageText, '\n'));
}

/** How many spreads of a file are checked, and messages about those that add too much. */
function readSpreads(source, checker) {
  const seen = { held: 0, broken: [] };
  const visit = (node) => {
    if (ts.isObjectLiteralExpression(node)) {
      const expected = checker.getContextualType(node);
      if (expected && isClosed(expected, checker))
        for (const spread of node.properties.filter(isHeld)) {
          seen.held++;
          seen.broken.push(...unknownIn(spread, expected, source, checker));
        }
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return seen;
}

const isHeld = (property) =>
  ts.isSpreadAssignment(property) &&
  !ts.isIdentifier(property.expression) &&
  !ts.isPropertyAccessExpression(property.expression);

/** The object types of a union, or the type itself. */
const objectsOf = (type) =>
  (type.isUnion() ? type.types : [type]).filter(
    ({ flags }) => (flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) !== 0,
  );

/** Whether the type names all properties that its objects have. `unknown`, `{}`, records and type parameters do not. */
function isClosed(type, checker) {
  const objects = objectsOf(type);
  return objects.length > 0 && objects.every((one) => !isOpen(one, checker));
}

const isOpen = (type, checker) =>
  checker.getIndexInfosOfType(type).length > 0 || checker.getPropertiesOfType(type).length === 0;

function unknownIn(spread, expected, source, checker) {
  const { line } = source.getLineAndCharacterOfPosition(spread.getStart(source));
  const place = `${relative(root, source.fileName)}:${line + 1}`;
  const typeName = checker.typeToString(expected).slice(0, TYPE_CHARACTERS_MAX);
  const targets = objectsOf(expected);
  const added = objectsOf(checker.getTypeAtLocation(spread.expression)).flatMap((one) =>
    checker.getPropertiesOfType(one),
  );
  const names = new Set(added.map(({ name }) => name));
  return [...names]
    .filter((name) => !targets.some((target) => checker.getPropertyOfType(target, name)))
    .map((name) => `${place}: a spread adds ${name}, which ${typeName} does not have`);
}

let held = 0;
const broken = new Set();
for (const project of PROJECTS.filter((path) => existsSync(join(root, path)))) {
  const program = programOf(project);
  const checker = program.getTypeChecker();
  for (const source of program.getSourceFiles()) {
    if (source.isDeclarationFile || source.fileName.includes('/node_modules/')) continue;
    const seen = readSpreads(source, checker);
    held += seen.held;
    for (const message of seen.broken) broken.add(message);
  }
}
for (const message of broken) console.error(message);
console.log(`${held} spreads, ${broken.size} broken`);
process.exitCode = broken.size > 0 || held === 0 ? 1 : 0;
