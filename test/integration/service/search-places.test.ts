// Filters on places and dates against a naive version that measures by vectors in space and compares instants: in every
// mode, sorted, counted, in deletions and patches by filter, in a small collection and in one whose index has many cells;
// with and without front threads, over a restart.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { startTestServer, type TestServer } from '../../kit/server.js';
import { naiveSearch, type NaiveChunk } from '../../kit/service/naive-search.js';
import { PATH, type RandomFilter, chunksFor, fill, pick, randomDocument } from '../../kit/service/random-documents.js';
import { tempDirectory } from '../../kit/temp.js';

const SEED = 20_261_127;
const DOCUMENTS = 150;
const MANY = 2500;
const VECTORS = '/v1/collections/acme/many';
const EARTH_RADIUS_M = 6_371_008.8;

interface Place {
  lat: number;
  lon: number;
}

const prng = createPrng(SEED);
const between = (low: number, high: number): number => low + prng.next() * (high - low);
const turned = (lon: number): number => (lon > 180 ? lon - 360 : lon < -180 ? lon + 360 : lon);

/** Around Berlin, around Fiji on the antimeridian, around a pole, or anywhere. */
function randomPlace(): Place {
  const [lat, lon, spread] = pick(prng, [
    [52.5, 13.4, 0.3],
    [-17, 180, 3],
    [89, 0, 0.9],
    [0, 0, 90],
  ] as const);
  const far = spread === 90 ? 180 : spread;
  return { lat: lat + between(-spread, spread), lon: turned(lon + between(-far, far)) };
}

const MOMENTS = [
  '2024-02-29',
  '2024-02-29T00:00:00Z',
  '2024-02-29T10:00:00+02:00',
  '2024-02-28T23:30:00-01:00',
  '2024-03-01 12:00',
  '1999-12-31T23:59:59.999Z',
  '2025-01-01T00:00:00.001Z',
];

function randomFields(): Record<string, unknown> {
  const place = pick<unknown>(prng, [
    randomPlace(),
    randomPlace(),
    randomPlace(),
    { ...randomPlace(), name: 'somewhere' },
    [randomPlace(), randomPlace()],
    [randomPlace(), 'no place', null],
    { lat: 95, lon: 0 },
    { lat: '52.5', lon: '13.4' },
    'Berlin',
    undefined,
  ]);
  return {
    ...(place !== undefined && { place }),
    ...(prng.int(3) === 0 && { visits: [{ where: randomPlace() }, { where: randomPlace() }] }),
    at: pick<unknown>(prng, [
      ...MOMENTS,
      [pick(prng, MOMENTS), 'later'],
      '2024',
      '20240229',
      'yesterday',
      1709164800000,
      null,
    ]),
  };
}

function inSpace({ lat, lon }: Place): [number, number, number] {
  const [phi, lambda] = [(lat * Math.PI) / 180, (lon * Math.PI) / 180];
  return [Math.cos(phi) * Math.cos(lambda), Math.cos(phi) * Math.sin(lambda), Math.sin(phi)];
}

function distanceM(a: Place, b: Place): number {
  const [[x, y, z], [u, v, w]] = [inSpace(a), inSpace(b)];
  return EARTH_RADIUS_M * Math.atan2(Math.hypot(y * w - z * v, z * u - x * w, x * v - y * u), x * u + y * v + z * w);
}

const isPlace = (value: any): value is Place =>
  typeof value?.lat === 'number' && typeof value.lon === 'number' && Math.abs(value.lat) <= 90;

const placesIn = (chunk: NaiveChunk, field: string): Place[] =>
  (field === 'place' ? [chunk.meta.place].flat() : (chunk.meta.visits ?? []).map(({ where }: any) => where)).filter(
    isPlace,
  );

function naiveTime(value: unknown): number {
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\d/.test(value)) return NaN;
  const [day, time = '00:00'] = value.split(/[T ]/) as [string, string?];
  return Date.parse(`${day}T${time}${/Z|[+-]\d\d:\d\d$/.test(time) ? '' : 'Z'}`);
}

function randomCondition(): [filters: Record<string, unknown>, fits: RandomFilter[1]] {
  const field = pick(prng, ['place', 'place', 'visits.where']);
  const kind = prng.int(4);
  if (kind === 0) {
    const { lat, lon } = randomPlace();
    const radius = 10 ** between(2, 7.3);
    return [
      { [field]: { $geo_radius: { lat, lon, radius_m: radius } } },
      (chunk) => placesIn(chunk, field).some((place) => distanceM(place, { lat, lon }) <= radius),
    ];
  }
  if (kind === 1) {
    const [one, other] = [randomPlace(), randomPlace()];
    const [south, north] = [Math.min(one.lat, other.lat), Math.max(one.lat, other.lat)];
    const [west, east] = [one.lon, other.lon];
    const isIn = ({ lat, lon }: Place): boolean =>
      lat >= south && lat <= north && (west <= east ? lon >= west && lon <= east : lon >= west || lon <= east);
    return [{ [field]: { $geo_box: { south, west, north, east } } }, (chunk) => placesIn(chunk, field).some(isIn)];
  }
  const [from, to] = [pick(prng, MOMENTS), pick(prng, MOMENTS)];
  const holds = (chunk: NaiveChunk, by: (timeMs: number) => boolean): boolean =>
    [chunk.meta.at].flat().map(naiveTime).some(by);
  if (kind === 2)
    return [
      { at: { $date: { $gte: from, $lt: to } } },
      (chunk) =>
        holds(chunk, (timeMs) => timeMs >= naiveTime(from)) && holds(chunk, (timeMs) => timeMs < naiveTime(to)),
    ];
  return [
    { $not: { at: { $date: pick(prng, [{ $gt: from }]) } } },
    (chunk) => !holds(chunk, (timeMs) => timeMs > naiveTime(from)),
  ];
}

function randomFilter(): RandomFilter {
  const [[a, fitsA], [b, fitsB]] = [randomCondition(), randomCondition()];
  const kind = prng.int(3);
  if (kind === 0) return [{ filters: a }, fitsA];
  if (kind === 1) return [{ filters: { $and: [a, b] } }, (chunk) => fitsA(chunk) && fitsB(chunk)];
  return [{ filters: { $or: [a, { $not: b }] } }, (chunk) => fitsA(chunk) || !fitsB(chunk)];
}

const directory = tempDirectory();
const start = (fronts: string): Promise<TestServer> =>
  startTestServer({ SHEAF_SERVER__THREADS: fronts, ...(fronts === '2' && { SHEAF_DATA_DIR: directory }) });
let servers = await Promise.all(['0', '2'].map(start));
await fill(
  servers,
  Array.from({ length: DOCUMENTS }, (_, i) => {
    const document = randomDocument(prng, `D${i}`);
    return { ...document, metadata: { ...document.metadata, ...randomFields() } };
  }),
);

const many: NaiveChunk[] = Array.from({ length: MANY }, (_, i) => {
  const docid = `V${i}`;
  return { id: `${docid}::0`, docid, index: 0, text: '', meta: { ...randomFields(), docid }, priority: 0, cosine: 0 };
});
for (const { call } of servers) {
  await call('POST', VECTORS, { embedder_type: 'identity', embedder_config: { dim: 2 } });
  const documents = many.map(({ docid, meta: { docid: _, ...metadata } }) => ({ docid, metadata, vector: [1, 2] }));
  const { json } = await call('POST', `${VECTORS}/documents:batch`, { documents });
  assert.equal(json.succeeded, MANY, JSON.stringify(json).slice(0, 500));
}

async function assertLikeNaive(searches: number, when: string): Promise<void> {
  const q = 'whale captain sea';
  const all = await chunksFor(servers[0] as TestServer, q);
  let found = 0;
  for (let i = 0; i < searches; i++) {
    const [filter, fits] = randomFilter();
    const what = `seed ${SEED}, ${when}, search ${i}: ${JSON.stringify(filter)}`;
    for (const mode of ['vector', 'boost', 'hybrid'] as const) {
      const expected = naiveSearch(all, { q, mode, k: 20, fits }).map(({ id }) => id);
      found += expected.length;
      for (const { call } of servers) {
        const { json } = await call('POST', `${PATH}/search`, { q, mode, k: 20, ...filter });
        assert.deepEqual(
          json.matches?.map(({ id }: any) => id),
          expected,
          `${what}, ${mode}: ${JSON.stringify(json)}`,
        );
      }
    }
    const expected = many.filter(fits).map(({ docid }) => docid);
    for (const { call } of servers) {
      const { json } = await call('POST', `${VECTORS}/count`, filter);
      assert.equal(json.count, expected.length, `${what}: ${JSON.stringify(json)}`);
      const sorted = await call('POST', `${VECTORS}/search`, { ...filter, k: 1000, sort: { field: 'docid' } });
      assert.deepEqual(
        sorted.json.matches?.map(({ meta }: any) => meta.docid),
        expected.sort().slice(0, 1000),
        what,
      );
    }
  }
  assert.ok(found > searches, `${found} hits in ${searches} searches`);
}

test('searches, counts and sorted searches find what a naive version finds', () => assertLikeNaive(25, 'filled'));

test('documents are deleted and patched by place and by date', async () => {
  for (let round = 0; round < 6; round++) {
    const [filter, fits] = randomCondition();
    const chosen = many.filter(fits).slice(0, 1000);
    for (const { call } of servers) {
      const { json } = await call('POST', `${VECTORS}/documents:delete`, { filters: filter, dry_run: true });
      assert.equal(json.documents, many.filter(fits).length, `seed ${SEED}: ${JSON.stringify([filter, json])}`);
    }
    if (round % 2 === 0 || chosen.length === 0) continue;
    const { docid } = chosen[0] as NaiveChunk;
    const home = { lat: -33.86, lon: 151.21 };
    for (const { call } of servers) {
      const near = { place: { $geo_radius: { ...home, radius_m: 1 } }, docid };
      assert.equal((await call('PATCH', `${VECTORS}/documents/${docid}`, { metadata: { place: home } })).status, 200);
      assert.equal((await call('POST', `${VECTORS}/documents:delete`, { filters: near })).json.documents, 1);
    }
    many.splice(
      many.findIndex((chunk) => chunk.docid === docid),
      1,
    );
  }
  await assertLikeNaive(10, 'after deletions');
});

test('bad regions and dates are refused, and the answer says what is wanted', async () => {
  const bad: [filter: object, at: string, message: RegExp][] = [
    [{ $geo_radius: { lat: 91, lon: 0, radius_m: 1 } }, 'lat', /from -90 to 90/],
    [{ $geo_radius: { lat: 0, lon: 0 } }, 'radius_m', /number from 0/],
    [{ $geo_radius: { lat: 0, lon: 0, radius_m: -1 } }, 'radius_m', /number from 0/],
    [{ $geo_radius: { lat: 0, lon: 0, radius_m: 1, unit: 'km' } }, 'unit', /lat, lon, radius_m/],
    [{ $geo_radius: [0, 0, 1] }, '$geo_radius', /object/],
    [{ $geo_box: { south: 1, west: 0, north: 0, east: 1 } }, 'south', /at most `north`/],
    [{ $geo_box: { south: 0, west: -181, north: 1, east: 1 } }, 'west', /from -180 to 180/],
    [{ $geo_box: { south: '0', west: 0, north: 1, east: 1 } }, 'south', /number/],
    [{ $date: { $gte: '2024-02-30' } }, '$gte', /ISO 8601/],
    [{ $date: { $gte: '2024-13-01' } }, '$gte', /ISO 8601/],
    [{ $date: { $gte: 'yesterday' } }, '$gte', /ISO 8601/],
    [{ $date: { $gte: 1709164800 } }, '$gte', /ISO 8601/],
    [{ $date: { $after: '2024-01-01' } }, '$after', /no such operator/],
    [{ $date: { constructor: '2024-01-01' } }, 'constructor', /no such operator/],
    [{ $date: '2024-01-01' }, '$date', /object/],
    [{ $date: {} }, '$date', /object/],
  ];
  for (const [filter, at, message] of bad) {
    for (const { call } of servers) {
      const { status, json } = await call('POST', `${PATH}/search`, { q: 'sea', filters: { place: filter } });
      assert.deepEqual([status, json.code, json.detail[0].loc.at(-1)], [422, 'validation_error', at]);
      assert.match(json.detail[0].msg, message);
    }
  }
});

test('the same after a restart', async () => {
  const [first, second] = servers as [TestServer, TestServer];
  await second.stop();
  servers = [first, await start('2')];
  await assertLikeNaive(10, 'restarted');
});
