// What a comparison found as reports of workloads: a table for people, figures for programs, a bar for each database.
// Used by load/suite/peers.ts.
import type { Figure, WorkloadReport } from '../report.js';
import type { Contestant } from './field.js';
import type { Filled } from './fill.js';
import type { Measured } from './measure.js';
import type { Workload } from './workloads.js';

export interface Result {
  readonly measured: Measured;
  /** Absent where it was not judged. */
  readonly recall?: number;
  /** Absent where nothing was written beside. */
  readonly rowsPerSecond?: number;
}

type Words = Pick<Workload, 'name' | 'title' | 'about'>;
/** Whom the others are compared with. */
export const BASE = 'Sheaf';
const HEAD = [
  'database',
  'requests/s',
  `${BASE} against it`,
  'p50 ms',
  'p99 ms',
  'recall@10',
  'CPU ms a request',
  'memory MB',
  'its own MB',
];

/** By name of the database, in order. */
export function searchReport({ name, title, about }: Words, results: ReadonlyMap<string, Result>): WorkloadReport {
  const base = results.get(BASE)?.measured.requestsPerSecond;
  const writes = [...results.values()].some(({ rowsPerSecond }) => rowsPerSecond !== undefined);
  const rows = [...results].map(([database, result]) => [
    database,
    ...cellsOf(result, base),
    ...(writes ? [whole(result.rowsPerSecond)] : []),
  ]);
  const points = [...results].map(([x, { measured }]) => ({ x, y: measured.requestsPerSecond }));
  return {
    name,
    title,
    about,
    figures: [...results].flatMap(([database, result]) => figuresOf(database, result, base)),
    tables: [{ title, columns: [...HEAD, ...(writes ? ['rows written/s'] : [])], rows }],
    charts: [{ title, kind: 'bar', x: 'database', y: 'requests/s', series: [{ name: 'requests/s', points }] }],
  };
}

function cellsOf({ measured, recall }: Result, base: number | undefined): string[] {
  const { requestsPerSecond, p50Ms, p99Ms, cpuMsPerRequest, memory } = measured;
  return [
    whole(requestsPerSecond),
    digits(base && base / requestsPerSecond),
    digits(p50Ms),
    digits(p99Ms),
    digits(recall, 4),
    digits(cpuMsPerRequest),
    whole(memory?.resident),
    whole(memory?.anonymous),
  ];
}

function figuresOf(database: string, { measured, recall, rowsPerSecond }: Result, base: number | undefined): Figure[] {
  const { requestsPerSecond, p50Ms, p99Ms, cpuMsPerRequest, memory } = measured;
  const figure = (what: string, value: number | undefined, unit: string, better: Figure['better']): Figure[] =>
    value === undefined ? [] : [{ name: `${database} ${what}`, value, unit, better }];
  return [
    ...figure('requests', requestsPerSecond, '1/s', 'higher'),
    ...figure('p50', p50Ms, 'ms', 'lower'),
    ...figure('p99', p99Ms, 'ms', 'lower'),
    ...figure('recall@10', recall, '', 'higher'),
    ...figure('CPU a request', cpuMsPerRequest, 'ms', 'lower'),
    ...figure('memory', memory?.resident, 'MB', 'lower'),
    ...figure('rows written', rowsPerSecond, '1/s', 'higher'),
    ...(database === BASE || base === undefined
      ? []
      : [
          { name: `${BASE} against ${database}`, value: base / requestsPerSecond, unit: '', better: 'higher' as const },
        ]),
  ];
}

const FILL_HEAD = ['database', 'version', 'what', 'rows/s', 'seconds until it rests', 'CPU ms a row'];

export interface FillResult {
  readonly contestant: Contestant;
  readonly what: 'vectors' | 'texts';
  readonly filled: Filled;
}

export function fillReport(results: readonly FillResult[]): WorkloadReport {
  const title = 'Filling';
  const rate = ({ rows, storedMs }: Filled): number => (rows / storedMs) * 1000;
  return {
    name: 'peers-fill',
    title,
    about:
      'The same rows over HTTP, in batches of 200, four requests under way; then until the database has indexed them and does nothing any more.',
    figures: results.map(({ contestant, what, filled }) => ({
      name: `${contestant.name} ${what} filled`,
      value: rate(filled),
      unit: '1/s',
      better: 'higher',
    })),
    tables: [
      {
        title,
        columns: FILL_HEAD,
        rows: results.map(({ contestant, what, filled }) => [
          contestant.name,
          contestant.version,
          what,
          whole(rate(filled)),
          digits(filled.restedMs / 1000),
          digits(filled.cpuMs && filled.cpuMs / filled.rows),
        ]),
      },
    ],
    charts: [],
  };
}

const ABSENT = '';
const whole = (value: number | undefined): string =>
  value === undefined ? ABSENT : Math.round(value).toLocaleString('en-US');

function digits(value: number | undefined, count = 3): string {
  return value === undefined ? ABSENT : String(Number(value.toPrecision(count)));
}
