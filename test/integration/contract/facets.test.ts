// Counts and facets against a naive count of the same random documents: values of all kinds, lists, paths, long texts,
// metadata that is not indexed, ranges, filters, words, and documents that are replaced and deleted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { startTestServer } from '../../kit/server.js';

type Meta = Record<string, unknown>;

const server = await startTestServer();
const AT = '/v1/collections/acme/docs';
const { next: random } = createPrng(20261124);
const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;
const WORDS = ['wind', 'wave', 'sun', 'coal', 'tide'];
const LONG = ['x'.repeat(300), `${'x'.repeat(299)}y`, 'x'.repeat(201)];
const TEXTS = ['red', 'green', '12', '12.5', '-3', '2024-05-01', '2023-01-31T10:00:00Z', 'true', '', 'Ärger', ...LONG];
const TIMES = ['2024-05-01', '2023-01-31T10:00:00Z'];

function someMeta(): Meta {
  const meta: Meta = { n: Math.floor(random() * 20) - 10, colour: pick(TEXTS) };
  if (random() < 0.5)
    meta.tags = Array.from({ length: Math.floor(random() * 4) }, () => pick(['a', 'b', 'c', 7, true]));
  if (random() < 0.5) meta.mixed = pick([null, true, false, 1.5, -0.25, 1e300, 'x', { in: pick(['deep', 'er']) }]);
  // Neither can be indexed: more terms than a chunk may have, and half of a surrogate pair.
  if (random() < 0.05) meta.many = Array.from({ length: 1100 }, (_, i) => `value ${i}`);
  if (random() < 0.05) meta.broken = '\ud800';
  return meta;
}

const documents = new Map<string, { text: string; meta: Meta }>();
async function put(docid: string): Promise<void> {
  const document = { text: `${pick(WORDS)} ${pick(WORDS)}`, meta: someMeta() };
  const { status } = await server.call('POST', `${AT}/documents`, {
    docid,
    text: document.text,
    metadata: document.meta,
  });
  assert.equal(status, 201);
  documents.set(docid, document);
}
for (let i = 0; i < 400; i++) await put(`d${i}`);
// The index is built by the first request, so that what follows changes it.
await server.call('POST', `${AT}/count`, { q: 'wind', facets: ['n'] });
for (let i = 0; i < 60; i++) await put(`d${Math.floor(random() * 450)}`);
for (let i = 0; i < 60; i++) {
  const docid = pick([...documents.keys()]);
  await server.call('DELETE', `${AT}/documents/${docid}`);
  documents.delete(docid);
}

function valuesOf(meta: Meta, field: string): unknown[] | undefined {
  const [top = '', below] = field.split('.');
  const value = below === undefined ? meta[field] : (meta[top] as Meta | null | undefined)?.[below];
  return value === undefined ? undefined : [value].flat();
}

/** The values of a facet as the answer has them, in an order of its own. */
function naive(metas: readonly Meta[], field: string): { values: [string, number][]; missing: number } {
  const counts = new Map<string, number>();
  let missing = 0;
  for (const meta of metas) {
    const values = valuesOf(meta, field);
    if (!values) missing++;
    const scalars = new Set(
      (values ?? [])
        .filter((value) => (typeof value !== 'object' || value === null) && value !== '\ud800')
        .map((value) => JSON.stringify(value)),
    );
    for (const value of scalars) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return { values: [...counts].sort(), missing };
}

const FIELDS = ['n', 'colour', 'tags', 'mixed', 'mixed.in', 'broken', 'none'];
const all = (): { text: string; meta: Meta }[] => [...documents.values()];

for (const [name, body, fits] of [
  ['everything', {}, () => true],
  ['a filter', { filters: { n: { $gte: 3 } } }, ({ meta }) => (meta.n as number) >= 3],
  ['words', { q: 'wind tide' }, ({ text }) => /wind|tide/.test(text)],
  [
    'words and a filter',
    { q: 'sun', filters: { tags: 'a' } },
    ({ text, meta }) => text.includes('sun') && (valuesOf(meta, 'tags') ?? []).includes('a'),
  ],
  ['a content filter', { content_filter: { op: 'contains', value: 'oa' } }, ({ text }) => text.includes('oa')],
  ['nothing', { filters: { n: 1000 } }, () => false],
] as [string, object, (document: { text: string; meta: Meta }) => boolean][])
  test(`counts and facets of ${name} are those of a naive count`, async () => {
    const facets = FIELDS.map((field) => ({ field, size: 1000 }));
    const { status, json } = await server.call('POST', `${AT}/count`, { ...body, facets });
    assert.equal(status, 200, JSON.stringify(json));
    const metas = all()
      .filter(fits)
      .map(({ meta }) => meta);
    assert.equal(json.count, metas.length);
    for (const [i, field] of FIELDS.entries()) {
      const { values, missing, distinct } = json.facets[i];
      const found = values.map(({ value, count }: any): [string, number] => [JSON.stringify(value), count]).sort();
      assert.deepEqual({ values: found, missing }, naive(metas, field), field);
      assert.equal(distinct, values.length);
      const counts = values.map(({ count }: any) => count);
      assert.deepEqual(counts, counts.toSorted?.((a: number, b: number) => b - a) ?? counts);
    }
  });

test('ranges and bounds see numbers, decimal texts and times', async () => {
  const ranges = [{ from: -3 }, { from: 0, to: 12.5 }, { to: 0 }];
  const { json } = await server.call('POST', `${AT}/count`, {
    facets: [
      { field: 'n', size: 0, ranges },
      { field: 'colour', ranges: [{ from: 0 }, { from: '2024-01-01' }, { to: '2024-01-01' }] },
    ],
  });
  const ns = all().map(({ meta }) => meta.n as number);
  const [n, colour] = json.facets;
  assert.deepEqual([n.values, n.min, n.max, n.distinct], [[], Math.min(...ns), Math.max(...ns), new Set(ns).size]);
  assert.deepEqual(n.ranges, [
    { from: -3, count: ns.filter((one) => one >= -3).length },
    { from: 0, to: 12.5, count: ns.filter((one) => one >= 0 && one < 12.5).length },
    { to: 0, count: ns.filter((one) => one < 0).length },
  ]);
  const having = (...texts: string[]): number =>
    all().filter(({ meta }) => texts.includes(meta.colour as string)).length;
  assert.deepEqual(
    colour.ranges.map(({ count }: any) => count),
    [having('12', '12.5'), having(TIMES[0] as string), having(TIMES[1] as string)],
  );
  assert.deepEqual([colour.min, colour.max], [-3, 12.5]);
});

test('a facet returns its most frequent values, and equal counts in the order of the values', async () => {
  const { json } = await server.call('POST', `${AT}/count`, { facets: [{ field: 'n', size: 3 }] });
  const counts = new Map<number, number>();
  for (const { meta } of all()) counts.set(meta.n as number, (counts.get(meta.n as number) ?? 0) + 1);
  const best = [...counts].sort(([a, n], [b, m]) => m - n || a - b).slice(0, 3);
  assert.deepEqual(
    json.facets[0].values,
    best.map(([value, count]) => ({ value, count })),
  );
});

test('what cannot be counted is refused with a reason', async () => {
  for (const [body, at] of [
    [{ facets: [{ field: 'n', ranges: [{}] }] }, ['body', 'facets', 0, 'ranges', 0]],
    [{ facets: [{ field: 'n', ranges: [{ from: 1, to: 'x' }] }] }, ['body', 'facets', 0, 'ranges', 0]],
    [{ filters: { n: { $nonsense: 1 } } }, ['body', 'filters', 'n', '$nonsense']],
    [{ unknown: 1 }, ['body', 'unknown']],
  ] as const) {
    const { status, json } = await server.call('POST', `${AT}/count`, body);
    assert.equal(status, 422, JSON.stringify(json));
    assert.deepEqual(json.detail[0].loc, at);
  }
  assert.equal((await server.call('POST', '/v1/collections/acme/none/count')).json.code, 'collection_not_found');
  assert.deepEqual((await server.call('POST', `${AT}/count`)).json.count, documents.size);
});

test('no internal error was logged', () => assert.deepEqual(server.faults, []));
