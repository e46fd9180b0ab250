// Reports of the load suite: how a report is written, read back, joined and compared.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { compareReports, comparisonTable, joinedReports, readReport, writeReport } from '../../../load/suite/render.js';
import { type Figure, type LoadReport, latencyChart, told } from '../../../load/suite/report.js';
import { reportOf as runReport } from '../../../load/suite/run.js';
import { latenciesOf } from '../../../load/kit/closed-loop.js';
import { recallChart } from '../../../load/kit/charts.js';
import { tempDirectory } from '../../kit/temp.js';

const figure = (name: string, value: number, better: Figure['better'] = 'higher'): Figure => ({
  name,
  value,
  unit: better === 'higher' ? '1/s' : 'ms',
  better,
});

function reportOf(
  name: string,
  figures: readonly Figure[],
  machine: Record<string, string> = {
    cores: '2',
    disk: 'ext4 on /dev/vda, 20 GB free, a sync of 4 kB takes 1.0 ms',
    commit: name,
  },
): LoadReport {
  const charts = [
    latencyChart('Latency', [
      { name: 'open loop at 50 %', latencies: latenciesOf([1, 2, 3]) },
      { name: 'at 80 %', latencies: latenciesOf([2, 4, 6]) },
    ]),
    {
      title: 'Recall',
      kind: 'line' as const,
      x: 'recall',
      y: 'queries/s',
      series: [
        {
          name: 'ours',
          points: [
            { x: 0.9, y: 10 },
            { x: 0.99, y: 5 },
          ],
        },
      ],
    },
  ];
  const tables = [{ title: 'A <b> table', columns: ['load', 'p99 | ms'], rows: [['closed <script>', '1.5']] }];
  return {
    version: 1,
    startedAt: '2026-01-02T03:04:05.678Z',
    seconds: 90,
    command: `npm run load -- ${name} <&>`,
    machine,
    workloads: [{ name, title: 'Search & find', about: 'It searches.', figures, tables, charts }],
  };
}

test('what could not be told is left out of a report, which is read back', async () => {
  const folder = tempDirectory();
  const { workloads } = reportOf('a', [figure('rate', 10), figure('CPU of no request', NaN)]);
  const charts = [
    {
      title: 'Rate',
      kind: 'bar' as const,
      x: 'of',
      y: '1/s',
      series: [
        {
          name: 'rate',
          points: [
            { x: 'a', y: 1 },
            { x: 'b', y: Infinity },
          ],
        },
      ],
    },
  ];
  writeReport(await runReport('npm run load', () => Promise.resolve([{ ...workloads[0]!, charts }])), folder);
  const [found] = readReport(join(folder, 'report.json')).workloads;
  assert.deepEqual(
    [found!.figures.map(({ name }) => name), found!.charts[0]!.series[0]!.points],
    [['rate'], [{ x: 'a', y: 1 }]],
  );
});

test('the quantiles of latencies are those of the values themselves', () => {
  const { meanMs, p50Ms, p90Ms, p99Ms, p999Ms, maxMs } = latenciesOf(Array.from({ length: 1000 }, (_, i) => 1000 - i));
  assert.deepEqual([meanMs, p50Ms, p90Ms, p99Ms, p999Ms, maxMs], [500.5, 501, 901, 991, 1000, 1000]);
  assert.ok(Object.values(latenciesOf([])).every(Number.isNaN));
  assert.ok(Object.values(latenciesOf([7])).every((value) => value === 7));
});

test('numbers are told with three digits that count', () => {
  assert.deepEqual([0.0123456, 1.005, 12.345, 1234.5, 0, NaN, undefined].map(told), [
    '0.0123',
    '1',
    '12.3',
    '1,235',
    '0',
    '-',
    '-',
  ]);
});

test('a report is written as JSON, Markdown with charts, and HTML', () => {
  const folder = tempDirectory();
  const report = reportOf('search', [figure('throughput', 1234.56), figure('p99 at 50 %', 4.5, 'lower')]);
  writeReport(report, folder);
  assert.deepEqual(readReport(join(folder, 'report.json')), report);
  const markdown = readFileSync(join(folder, 'REPORT.md'), 'utf8');
  assert.match(
    markdown,
    /^# Load report\n\n2026-01-02 03:04 UTC, in 1\.5 minutes, by:\n\n```\nnpm run load -- search <&>\n```/,
  );
  assert.match(markdown, /\| Search & find \| throughput 1,235\/s; p99 at 50 % 4\.5 ms \|/);
  assert.match(markdown, /\| load \| p99 \\\| ms \|\n\|---\|---\|\n\| closed \\<script\\> \| 1\.5 \|/);
  const pictures = [...markdown.matchAll(/!\[.+\]\((.+\.svg)\)/g)].map(([, path]) => path as string);
  assert.deepEqual(pictures, ['REPORT-charts/search-1.svg', 'REPORT-charts/search-2.svg']);
  for (const picture of pictures) assert.match(readFileSync(join(folder, picture), 'utf8'), /^<svg [^]+<\/svg>\s*$/);
  assert.match(readFileSync(join(folder, pictures[0]!), 'utf8'), /p99\.9/);
});

test('recall against rate: nines at equal distances, powers of ten upwards, a line for each engine', () => {
  const points = [0.7, 0.9, 0.99, 1].map((recall, i) => ({ ef: 10 * i, recall, qps: 10_000 / 10 ** i }));
  const svg = recallChart('Vectors <&>', [
    { name: 'ours', points },
    { name: 'theirs', points: points.slice(1) },
  ]);
  assert.match(svg, /^<svg [^]+<\/svg>\s*$/);
  for (const words of ['Vectors &lt;&amp;&gt;', 'recall@10', '0.995', '1,000', 'ours', 'theirs'])
    assert.ok(svg.includes(`>${words}<`), words);
  const at = (words: string): number => Number(new RegExp(`translate\\(([\\d.]+)[^>]*>${words}<`).exec(svg)?.[1]);
  assert.ok(Math.abs(at('0.99') - at('0.9') - (at('0.999') - at('0.99'))) < 0.5);
});

test('the page stands alone: charts within, no script, no request, nothing unescaped', () => {
  const folder = tempDirectory();
  writeReport(reportOf('search', [figure('throughput', 1)]), folder);
  const html = readFileSync(join(folder, 'report.html'), 'utf8');
  assert.equal(html.match(/<svg /g)?.length, 2);
  assert.doesNotMatch(html, /<script|<img|<link|@import|url\(http|src=|href="(?!#)/);
  assert.match(html, /closed &lt;script&gt;/);
  assert.match(html, /<h2 id="search">Search &amp; find<\/h2>/);
  const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
  assert.equal(new Set(ids).size, ids.length, 'an id stands twice');
});

test('what is no report is refused in one line', () => {
  const path = join(tempDirectory(), 'report.json');
  assert.throws(() => readReport(path), /report\.json: .*no such file/);
  for (const text of ['{', '{"version":2}', '[]']) {
    writeFileSync(path, text);
    assert.throws(() => readReport(path), { name: 'Error', message: /report\.json/ });
  }
  assert.equal(existsSync(path), true);
});

test('figures are compared by which way is better, and by how much they must differ', () => {
  const a = reportOf('a', [
    figure('throughput', 100),
    figure('p99', 10, 'lower'),
    figure('p50', 2, 'lower'),
    figure('failed', 0, 'lower'),
    figure('gone', 1),
  ]);
  const b = reportOf('a', [
    figure('throughput', 120),
    figure('p99', 12, 'lower'),
    figure('p50', 2.04, 'lower'),
    figure('failed', 0, 'lower'),
    figure('new', 1),
  ]);
  const { machines, figures } = compareReports(a, b, 0.05);
  assert.deepEqual(machines, []);
  assert.deepEqual(
    figures.map((one) => [one.figure, one.verdict]),
    [
      ['throughput', 'better'],
      ['p99', 'worse'],
      ['p50', 'same'],
      ['failed', 'same'],
      ['gone', 'only in A'],
      ['new', 'only in B'],
    ],
  );
  assert.deepEqual(comparisonTable({ machines, figures }).rows[0], [
    'a',
    'throughput',
    '1/s',
    '100',
    '120',
    '1.20',
    'better',
  ]);
});

test('failures that were not there before are worse', () => {
  const [compared] = compareReports(
    reportOf('a', [figure('failed', 0, 'lower')]),
    reportOf('a', [figure('failed', 3, 'lower')]),
    0.05,
  ).figures;
  assert.equal(compared!.verdict, 'worse');
});

test('what differs between the machines is told, but for the room on the disk and what was built', () => {
  const other = { cores: '8', disk: 'ext4 on /dev/vda, 19 GB free, a sync of 4 kB takes 2.0 ms', commit: 'other' };
  assert.deepEqual(compareReports(reportOf('a', []), reportOf('a', [], other), 0.05).machines, [
    'cores: 2 in A, 8 in B',
  ]);
});

test('reports of several runs are joined, the later one of a workload counts', () => {
  const joined = joinedReports([
    reportOf('search', [figure('throughput', 1)]),
    reportOf('peers', [figure('ratio', 2)]),
    reportOf('search', [figure('throughput', 3)]),
  ]);
  assert.deepEqual(
    joined.workloads.map(({ name, figures }) => [name, figures[0]!.value]),
    [
      ['search', 3],
      ['peers', 2],
    ],
  );
  assert.equal(joined.command.split('\n').length, 3);
  assert.equal(joined.seconds, 270);
});
