// Workloads: their schema, reading YAML and JSON files with errors that name the location, and adapting one to a run.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import typia, { type IValidation, type tags } from 'typia';
import { parse } from 'yaml';

/** An error that the user of the suite can fix, in one or a few lines; shown without a stack trace. */
export class UsageError extends Error {}

// The schema of a workload file: contents, requests and rates, and concurrent work. docs/benchmarks.md explains each
// key.

type Whole<Min extends number> = number & tags.Type<'uint32'> & tags.Minimum<Min>;
type Seconds = number & tags.Minimum<0> & tags.Maximum<3600>;
type Rate = number & tags.ExclusiveMinimum<0> & tags.Maximum<1_000_000>;
type Slug = string & tags.Pattern<'^[a-z][a-z0-9-]{0,39}$'>;

export interface Workload {
  name: Slug;
  title: string;
  about: string;
  /** For a server of the suite: configuration by environment variables. */
  server?: Record<string, string>;
  fill: Fill[] & tags.MinItems<1>;
  traffic?: RequestKind[] & tags.MinItems<1>;
  /** Traffic as fast as this many connections permit. */
  closed_loop?: { connections: Whole<1>; seconds: Seconds; warm_up_seconds?: Seconds };
  /** Traffic on a schedule, at shares of the closed loop's throughput or at rates per second. */
  open_loop?: { shares?: (number & tags.ExclusiveMinimum<0> & tags.Maximum<2>)[]; rates?: Rate[]; seconds: Seconds };
  /** Repeats the first rate of the open loop beside each of these. */
  beside?: Beside[];
  /** Repeats this many vector searches exactly, with this many hits. */
  recall?: { queries: Whole<1>; k: Whole<1> };
  /** Stops and kills the server, and starts it again each time. */
  restart?: boolean;
}

export interface Fill {
  /** Name of the collection; several collections get a number appended. */
  name: Slug;
  of: 'vectors' | 'texts';
  documents: Whole<1>;
  /** Dimension of vectors; 384 by default. Real vectors have only the default dimension. */
  dim?: Whole<2>;
  collections?: Whole<1>;
  /** Tenant of the collection. Collections of one tenant share its turn in the server's queues. */
  tenant?: Slug;
}

export interface RequestKind {
  kind: 'search' | 'ingest' | 'read' | 'health';
  /** Name in the report. */
  name?: string;
  /** Weight among all requests; 1 by default. */
  share?: number & tags.ExclusiveMinimum<0>;
  /** Collection in `fill`; the first one by default. */
  collection?: Slug;
  /** Fields of a search besides `q` or `v`: k, mode, filters and so on. */
  body?: Record<string, unknown>;
  /** Ingest: how many documents one request replaces. */
  documents?: Whole<1>;
}

export interface Beside {
  name: string;
  /** `traffic` on its own connections at full speed, or repeated `reindex` jobs or `archive`s. */
  kind: 'traffic' | 'reindex' | 'archive';
  traffic?: RequestKind[] & tags.MinItems<1>;
  connections?: Whole<1>;
  /** Collection to reindex or archive; the first one of `fill` by default. */
  collection?: Slug;
}

/** The folder beside the sources, because dist has only compiled files. */
const OWN_FOLDER = fileURLToPath(new URL('../../../load/suite/workloads/', import.meta.url));
const validate = typia.createValidateEquals<Workload>();

/** The suite's own workloads in order. */
export function ownWorkloads(): Workload[] {
  const files = readdirSync(OWN_FOLDER)
    .filter((file) => file.endsWith('.yaml'))
    .sort();
  return files.map((file) => readWorkload(`${OWN_FOLDER}${file}`));
}

/** Reads a workload file. Throws UsageError with a line per error. */
export function readWorkload(path: string): Workload {
  if (!existsSync(path)) throw new UsageError(`${path}: there is no such file`);
  return parseWorkload(readFileSync(path, 'utf8'), path);
}

/** Parses a workload; `path` is for messages. JSON is accepted too, since it is YAML. */
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

/** The text of typia's type in plain words. */
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

/** Settings that fit the schema but contradict each other. */
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

export interface Wishes {
  tiny: boolean;
  /** Seconds of each loop. */
  seconds?: number;
  /** Rate of the open loop, which replaces the workload's rates or shares. */
  rate?: number;
  /** Connections of the closed loop. */
  connections?: number;
}

export interface Pace {
  /** How often to check whether the server is idle, and how long to wait for it. */
  restCheckMs: number;
  restWithinMs: number;
  /** How many loads are repeated for sampling, and for how long each. */
  sampledLoadsMax: number;
  sampledSeconds: number;
}

const TINY = { documents: 200, seconds: 1, connections: 4, rate: 20, queries: 10 };

export const paceOf = ({ tiny }: Wishes): Pace =>
  tiny
    ? { restCheckMs: 50, restWithinMs: 2000, sampledLoadsMax: 1, sampledSeconds: 1 }
    : { restCheckMs: 1000, restWithinMs: 120_000, sampledLoadsMax: Infinity, sampledSeconds: 5 };

/** Adapts a workload to a run: with numbers from the command line, or scaled down so that each takes seconds. */
export function fitted(workload: Workload, wishes: Wishes): Workload {
  const { seconds, rate, connections } = wishes;
  const { closed_loop: closed, open_loop: open, ...rest } = wishes.tiny ? shrunk(workload) : workload;
  return {
    ...rest,
    ...(closed && { closed_loop: { ...closed, ...(seconds && { seconds }), ...(connections && { connections }) } }),
    ...(open && {
      open_loop: {
        ...(rate ? { rates: [rate] } : { rates: open.rates, shares: open.shares }),
        seconds: seconds ?? open.seconds,
      },
    }),
  };
}

function shrunk({ closed_loop: closed, open_loop: open, beside, recall, ...rest }: Workload): Workload {
  const { seconds, queries } = TINY;
  return {
    ...rest,
    fill: rest.fill.map((fill) => ({ ...fill, documents: Math.min(fill.documents, TINY.documents) })),
    ...(closed && { closed_loop: { connections: Math.min(closed.connections, TINY.connections), seconds } }),
    ...(open && {
      open_loop: {
        ...(open.rates ? { rates: [Math.min(open.rates[0]!, TINY.rate)] } : { shares: open.shares?.slice(0, 1) }),
        seconds,
      },
    }),
    ...(beside && { beside: beside.map(fewer) }),
    ...(recall && { recall: { ...recall, queries } }),
  };
}

const fewer = ({ connections, ...beside }: Beside): Beside => ({
  ...beside,
  ...(connections && { connections: Math.min(connections, TINY.connections) }),
});
