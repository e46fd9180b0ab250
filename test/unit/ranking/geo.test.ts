// Points and regions on the Earth: distances against vectors in space, covers against every point, by the digits of its
// cell, and what is no point.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Region } from '../../../src/api/filter.js';
import { createPrng, type Prng } from '../../../src/base/prng.js';
import { type CellRange, type Point, cellOf, coverOf, isInRegion, pointOf } from '../../../src/engine/filter/geo.js';

const SEED = 20_261_125;

test('values that are points, and values that are not', () => {
  assert.deepEqual(pointOf({ lat: 52.5, lon: 13.4, name: 'Berlin' }), { lat: 52.5, lon: 13.4 });
  assert.deepEqual(pointOf({ lat: -90, lon: 180 }), { lat: -90, lon: -180 });
  const others: unknown[] = [
    null,
    'lat',
    [52.5, 13.4],
    { lat: 52.5 },
    { lat: '52.5', lon: 13.4 },
    { lat: 91, lon: 0 },
    { lat: 0, lon: 180.001 },
    Object.create({ lat: 1, lon: 1 }),
  ];
  for (const value of others) assert.equal(pointOf(value), undefined, JSON.stringify(value));
});

const near = (lat: number, lon: number, radiusM: number): Region => ({ op: 'near', lat, lon, radiusM });
const box = (south: number, west: number, north: number, east: number): Region => ({
  op: 'box',
  south,
  west,
  north,
  east,
});

test('regions: known distances, the edge, the antimeridian and the poles', () => {
  const cases: [what: string, region: Region, point: Point, isIn: boolean][] = [
    ['Berlin to Paris is 877 km', near(52.52, 13.405, 878_500), { lat: 48.8566, lon: 2.3522 }, true],
    ['and no less', near(52.52, 13.405, 876_500), { lat: 48.8566, lon: 2.3522 }, false],
    ['a radius of 0 has its centre', near(1.5, 2.5, 0), { lat: 1.5, lon: 2.5 }, true],
    ['over the antimeridian', near(0, 179.9, 30_000), { lat: 0, lon: -179.9 }, true],
    ['over the pole', near(89.9, 0, 30_000), { lat: 89.9, lon: -180 }, true],
    ['a quarter of the Earth', near(0, 0, 10_007_600), { lat: 90, lon: 45 }, true],
    ['a box has its edge', box(10, 20, 30, 40), { lat: 30, lon: 40 }, true],
    ['and nothing beyond', box(10, 20, 30, 40), { lat: 30.000001, lon: 40 }, false],
    ['a box over the antimeridian', box(-10, 170, 10, -170), { lat: 0, lon: 179 }, true],
    ['not the other way round', box(-10, 170, 10, -170), { lat: 0, lon: 0 }, false],
    ['the antimeridian from the west', box(-10, 170, 10, 180), { lat: 0, lon: -180 }, true],
    ['and from the east', box(-10, -180, 10, -170), { lat: 0, lon: -180 }, true],
    ['a box without a width', box(-1, 5, 1, 5), { lat: 0, lon: 5 }, true],
  ];
  for (const [what, region, point, isIn] of cases) assert.equal(isInRegion(region, point), isIn, what);
});

const inSpace = ({ lat, lon }: Point): [number, number, number] => {
  const [phi, lambda] = [(lat * Math.PI) / 180, (lon * Math.PI) / 180];
  return [Math.cos(phi) * Math.cos(lambda), Math.cos(phi) * Math.sin(lambda), Math.sin(phi)];
};

/** The distance by the angle between vectors from the centre of the Earth. */
function naiveDistanceM(a: Point, b: Point): number {
  const [[x, y, z], [u, v, w]] = [inSpace(a), inSpace(b)];
  const cross = Math.hypot(y * w - z * v, z * u - x * w, x * v - y * u);
  return 6_371_008.8 * Math.atan2(cross, x * u + y * v + z * w);
}

const between = (prng: Prng, low: number, high: number): number => low + prng.next() * (high - low);
const pick = <T>(prng: Prng, items: readonly T[]): T => items[prng.int(items.length)] as T;

/** Many lie on borders of cells, at poles and at the antimeridian. */
function randomPoint(prng: Prng): Point {
  if (prng.int(3) > 0) return { lat: between(prng, -90, 90), lon: between(prng, -180, 180) };
  const lat = pick(prng, [-90, -89.99, -45, 0, -0, 1e-20, -1e-20, 22.5, 45, 89.99, 90]);
  return { lat, lon: pick(prng, [-180, -179.99, -90, 0, -1e-20, 45, 90, 179.99, 180]) };
}

function randomRegion(prng: Prng): Region {
  const { lat, lon } = randomPoint(prng);
  const reach = 10 ** between(prng, -5, 2.2);
  if (prng.int(2) === 0) return near(lat, lon === 180 ? -180 : lon, Math.min(reach * 111_195, 20_040_000));
  const other = randomPoint(prng);
  if (prng.int(2) === 0) return box(Math.min(lat, other.lat), lon, Math.max(lat, other.lat), other.lon);
  const clamped = (value: number, most: number): number => Math.max(-most, Math.min(most, value));
  return box(clamped(lat - reach, 90), clamped(lon - reach, 180), clamped(lat + reach, 90), clamped(lon + reach, 180));
}

/** A point near the region's edge, where there is one. */
function pointAround(prng: Prng, region: Region): Point {
  const reach = region.op === 'near' ? region.radiusM / 111_195 : Math.max(region.north - region.south, 1e-6);
  const [lat, lon] = region.op === 'near' ? [region.lat, region.lon] : [region.south, region.west];
  const point = { lat: lat + between(prng, -2, 2) * reach, lon: lon + between(prng, -2, 2) * reach };
  const turned = ((((point.lon + 180) % 360) + 360) % 360) - 180;
  return pointOf({ lat: Math.max(-90, Math.min(90, point.lat)), lon: turned }) as Point;
}

const isAmong = (ranges: readonly CellRange[], cell: string): boolean =>
  ranges.some(({ from, to }) => cell >= from && (to === undefined || cell < to));

test('distances are those between vectors in space', () => {
  const prng = createPrng(SEED);
  for (let i = 0; i < 20_000; i++) {
    const [a, b] = [randomPoint(prng), randomPoint(prng)];
    const distance = naiveDistanceM(a, b);
    const [beyond, short] = [near(a.lat, a.lon, distance + 1), near(a.lat, a.lon, distance - 1)];
    assert.ok(isInRegion(beyond, b) && !isInRegion(short, b), `seed ${SEED}: ${JSON.stringify({ a, b, distance })}`);
  }
});

test('covers: every point of a region is in a cell of the cover, and those inside have no other points', () => {
  const prng = createPrng(SEED + 1);
  let [decided, all] = [0, 0];
  for (let i = 0; i < 1000; i++) {
    const region = randomRegion(prng);
    const { inside, edge } = coverOf(region);
    assert.ok(inside.length + edge.length <= 256);
    for (let n = 0; n < 60; n++) {
      const point = pointOf(n % 2 === 0 ? randomPoint(prng) : pointAround(prng, region)) as Point;
      const isIn = isInRegion(region, point);
      const cell = cellOf(point);
      const [isInside, isOnEdge] = [isAmong(inside, cell), isAmong(edge, cell)];
      const what = `seed ${SEED + 1}: ${JSON.stringify({ region, point, isIn, isInside, isOnEdge })}`;
      if (isInside) assert.ok(isIn, what);
      else if (isIn) assert.ok(isOnEdge, what);
      if (isIn) all++;
      if (isIn && isInside) decided++;
    }
  }
  assert.ok(decided > all / 3, `${decided} of ${all} points are decided by their cell`);
});

test('cells have the digits of quarters: south-west, south-east, north-west, north-east', () => {
  assert.equal(cellOf({ lat: -90, lon: -180 }), '0'.repeat(20));
  assert.equal(cellOf({ lat: 90, lon: 179.9999999 }), '3'.repeat(20));
  assert.equal(cellOf({ lat: 0, lon: 0 }), `3${'0'.repeat(19)}`);
  assert.equal(cellOf({ lat: -1e-20, lon: 0 }), `1${'2'.repeat(19)}`);
});
