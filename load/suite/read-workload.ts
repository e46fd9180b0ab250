// Reads workloads from their YAML or JSON files, the suite's own and those of users, and says what is wrong with one in
// words that lead to the place. Called by the commands of the suite.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import typia, { type IValidation } from 'typia';
import { parse } from 'yaml';
import { UsageError } from './usage-error.js';
import type { RequestKind, Workload } from './workload.js';

/** Beside the sources, as dist has only what is compiled. */
const OWN_FOLDER = fileURLToPath(new URL('../../../load/suite/workloads/', import.meta.url));
const validate = typia.createValidateEquals<Workload>();

/** The suite's own, in their order. */
export function ownWorkloads(): Workload[] {
  const files = readdirSync(OWN_FOLDER)
    .filter((file) => file.endsWith('.yaml'))
    .sort();
  return files.map((file) => readWorkload(`${OWN_FOLDER}${file}`));
}

/** Throws UsageError, with a line for each thing that is wrong. */
export function readWorkload(path: string): Workload {
  if (!existsSync(path)) throw new UsageError(`${path}: there is no such file`);
  return parseWorkload(readFileSync(path, 'utf8'), path);
}

/** `path` is for messages. YAML holds JSON. */
export function parseWorkload(text: string, path: string): Workload {
  let found: unknown;
  try {
    found = parse(text);
  } catch (error) {
    throw new UsageError(`${path}: ${(error as Error).message.split('\n')[0]}`);
  }
  const checked = validate(found);
  const wrong = checked.success ? contradictions(checked.data) : checked.errors.map(worded);
  if (wrong.length > 0)
    throw new UsageError([...new Set(wrong)].map((complaint) => `${path}: ${complaint}`).join('\n'));
  return found as Workload;
}

function worded({ path, expected, value }: IValidation.IError): string {
  const where = path.replace(/^\$input\.?/, '') || 'the file';
  if (expected === 'undefined') return `${where}: there is no such key`;
  if (value === undefined) return `${where}: is missing`;
  const told = typeof value === 'object' ? (Array.isArray(value) ? 'a list' : 'a map') : JSON.stringify(value);
  return `${where}: wants ${wordsFor(expected)}, found ${told}`;
}

/** typia's type text without its notation. */
function wordsFor(expected: string): string {
  const type = expected.replace(/[()]/g, '').replace(/ \| undefined$/, '');
  if (type.includes('Pattern<')) return 'small letters, digits and hyphens, a letter first, 40 at most';
  if (/^(Array<|.*\[\])/.test(type) || type.includes('MinItems')) return 'a list with at least one entry';
  return type
    .replace(/number & Type<"uint32">/g, 'a whole number')
    .replace(/^number/, 'a number')
    .replace(/ExclusiveMinimum<(.+?)>/g, 'above $1')
    .replace(/Minimum<(.+?)>/g, 'at least $1')
    .replace(/Maximum<(.+?)>/g, 'at most $1')
    .replace(/ & /g, ', ')
    .replace(/ \| /g, ' or ')
    .replace(/Record<.*>/g, 'a map')
    .replace(/__type|[A-Z]\w+/g, 'a map');
}

/** What fits the form and makes no sense. */
function contradictions({
  fill,
  traffic,
  closed_loop: closed,
  open_loop: open,
  beside = [],
  recall,
  restart,
}: Workload): string[] {
  const names = fill.map(({ name }) => name);
  const known = (collection: string | undefined, where: string): string[] =>
    collection === undefined || names.includes(collection)
      ? []
      : [`${where}.collection: fill has no ${collection}, but ${names.join(', ')}`];
  const kinds = (list: readonly RequestKind[], where: string): string[] =>
    list.flatMap((kind, i) => [...known(kind.collection, `${where}[${i}]`), ...misplaced(kind, `${where}[${i}]`)]);
  return [
    ...(new Set(names).size < names.length ? ['fill: two collections have one name'] : []),
    ...kinds(traffic ?? [], 'traffic'),
    ...((closed || open || restart) && !traffic ? ['traffic: is missing, and the loops and the restart want it'] : []),
    ...(open && (open.rates === undefined) === (open.shares === undefined)
      ? ['open_loop: wants either shares or rates']
      : []),
    ...(open?.shares && !closed ? ['open_loop.shares: are those of closed_loop, which is missing'] : []),
    ...(beside.length > 0 && !open ? ['beside: wants an open_loop to repeat'] : []),
    ...beside.flatMap((one, i) => [
      ...known(one.collection, `beside[${i}]`),
      ...kinds(one.traffic ?? [], `beside[${i}].traffic`),
      ...((one.kind === 'traffic') === (one.traffic === undefined)
        ? [`beside[${i}].traffic: belongs to kind traffic, and to no other`]
        : []),
    ]),
    ...(recall && !fill.some(({ of }) => of === 'vectors') ? ['recall: wants a collection of vectors'] : []),
  ];
}

function misplaced({ kind, body, documents }: RequestKind, where: string): string[] {
  return [
    ...(body && kind !== 'search' ? [`${where}.body: belongs to a search`] : []),
    ...(documents !== undefined && kind !== 'ingest' ? [`${where}.documents: belongs to an ingest`] : []),
  ];
}
