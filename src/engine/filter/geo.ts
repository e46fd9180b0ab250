// Points on the Earth in metadata: values {lat, lon} in degrees, and the regions that filters name. The index has a term
// for the cell of each point in a quadtree over latitude and longitude, so a region is some ranges of terms: cells that
// lie in it, and cells on its edge, whose points are compared one by one. Pure functions.
import type { Region } from '../../api/filter.js';

export interface Point {
  readonly lat: number;
  readonly lon: number;
}

/** The mean radius of the Earth (IUGG), in metres. */
const EARTH_RADIUS_M = 6_371_008.8;
const DEGREE = Math.PI / 180;

/** Reads a metadata value; undefined for a value that is no point. Longitude 180 becomes -180, the same meridian. */
export function pointOf(value: unknown): Point | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, 'lat') || !Object.hasOwn(value, 'lon'))
    return undefined;
  const { lat, lon } = value as { lat: unknown; lon: unknown };
  const isPoint = typeof lat === 'number' && typeof lon === 'number' && Math.abs(lat) <= 90 && Math.abs(lon) <= 180;
  return isPoint ? { lat, lon: lon === 180 ? -180 : lon } : undefined;
}

/** The distance on a sphere in metres, by the haversine formula. */
function distanceM(a: Point, b: Point): number {
  const [dLat, dLon] = [(b.lat - a.lat) * DEGREE, (b.lon - a.lon) * DEGREE];
  const h = Math.sin(dLat / 2) ** 2 + Math.cos(a.lat * DEGREE) * Math.cos(b.lat * DEGREE) * Math.sin(dLon / 2) ** 2;
  return 2 * EARTH_RADIUS_M * Math.asin(Math.min(1, Math.sqrt(h)));
}

/** Whether a point is in the region; the edge belongs to it. */
export function isInRegion(region: Region, point: Point): boolean {
  if (region.op === 'near') return distanceM(region, point) <= region.radiusM;
  const { south, west, north, east } = region;
  if (point.lat < south || point.lat > north) return false;
  const isBetween = (lon: number): boolean => (west <= east ? lon >= west && lon <= east : lon >= west || lon <= east);
  return isBetween(point.lon) || (point.lon === -180 && isBetween(180));
}

/** Levels of the quadtree: cells of the last one are 38 m wide at the equator. */
const LEVELS = 20;
/** Cells into which a region is cut at most. */
const CELLS_MAX = 256;

/** A cell as the digits that lead to it from the whole Earth, 0 to 3 for each level, and its bounds. */
interface Cell {
  readonly digits: string;
  readonly south: number;
  readonly west: number;
  readonly north: number;
  readonly east: number;
}

const EARTH: Cell = { digits: '', south: -90, west: -180, north: 90, east: 180 };

function quartersOf({ digits, south, west, north, east }: Cell): Cell[] {
  const [lat, lon] = [(south + north) / 2, (west + east) / 2];
  return [
    { digits: `${digits}0`, south, west, north: lat, east: lon },
    { digits: `${digits}1`, south, west: lon, north: lat, east },
    { digits: `${digits}2`, south: lat, west, north, east: lon },
    { digits: `${digits}3`, south: lat, west: lon, north, east },
  ];
}

/** The digits of the cell of the last level that has the point: its south and west belong to a cell. */
export function cellOf({ lat, lon }: Point): string {
  let { south, west, north, east } = EARTH;
  let digits = '';
  for (let level = 0; level < LEVELS; level++) {
    const [middleLat, middleLon] = [(south + north) / 2, (west + east) / 2];
    const [isNorth, isEast] = [lat >= middleLat, lon >= middleLon];
    digits += (isNorth ? 2 : 0) + (isEast ? 1 : 0);
    if (isNorth) south = middleLat;
    else north = middleLat;
    if (isEast) west = middleLon;
    else east = middleLon;
  }
  return digits;
}

/** Cells that follow each other, by their digits, from `from` (inclusive) to `to` (exclusive), or to the last one. */
export interface CellRange {
  readonly from: string;
  readonly to: string | undefined;
}

/**
 * Cells that have every point of a region: `inside` those all of whose points are in it, `edge` the others. Cells are
 * divided as long as there are at most `CELLS_MAX`.
 */
export function coverOf(region: Region): {
  readonly inside: readonly CellRange[];
  readonly edge: readonly CellRange[];
} {
  const relationTo = region.op === 'near' ? nearRelation(region) : boxRelation(region);
  let inside: string[] = [];
  let edge: Cell[] = [EARTH];
  for (let level = 0; level < LEVELS && edge.length > 0; level++) {
    const quarters = edge.flatMap(quartersOf).map((cell) => ({ cell, relation: relationTo(cell) }));
    const having = (wanted: Relation): Cell[] =>
      quarters.filter(({ relation }) => relation === wanted).map(({ cell }) => cell);
    const [in_, on] = [having('inside'), having('edge')];
    if (inside.length + in_.length + on.length > CELLS_MAX) break;
    inside = [...inside, ...in_.map(({ digits }) => digits)];
    edge = on;
  }
  return { inside: rangesOf(inside), edge: rangesOf(edge.map(({ digits }) => digits)) };
}

/** Joins cells that follow each other. */
function rangesOf(cells: readonly string[]): CellRange[] {
  const ranges: { from: string; to: string | undefined }[] = [];
  for (const from of [...cells].sort()) {
    const last = ranges.at(-1);
    if (last && last.to === withoutZeros(from)) last.to = behind(from);
    else ranges.push({ from: withoutZeros(from), to: behind(from) });
  }
  return ranges;
}

/** Where the cells of a cell begin: digits sort the same without zeros at their end. */
const withoutZeros = (digits: string): string => digits.replace(/0+$/, '');

/** Where the cells behind a cell begin; undefined behind the last one. */
function behind(digits: string): string | undefined {
  const begun = digits.replace(/3+$/, '');
  return begun === '' ? undefined : begun.slice(0, -1) + String(Number(begun.at(-1)) + 1);
}

type Relation = 'inside' | 'edge' | 'outside';

function boxRelation({ south, west, north, east }: Extract<Region, { op: 'box' }>): (cell: Cell) => Relation {
  const spans =
    west <= east
      ? [[west, east]]
      : [
          [west, 180],
          [-180, east],
        ];
  // Points on the antimeridian are in the cells at -180.
  if (east === 180) spans.push([-180, -180]);
  return (cell) => {
    const lat = relationOf(cell.south, cell.north, south, north);
    const lons = spans.map(([from, to]) => relationOf(cell.west, cell.east, from as number, to as number));
    const lon = lons.find((one) => one === 'inside') ?? lons.find((one) => one === 'edge') ?? 'outside';
    if (lat === 'outside' || lon === 'outside') return 'outside';
    return lat === 'inside' && lon === 'inside' ? 'inside' : 'edge';
  };
}

/** How the interval from `low` to `high` lies to that between `from` and `to`. */
function relationOf(low: number, high: number, from: number, to: number): Relation {
  if (low >= from && high <= to) return 'inside';
  return high < from || low > to ? 'outside' : 'edge';
}

/** Margins for rounding, far above its errors: cells so near to the edge count as on it. */
const MARGIN_M = 0.01;
const MARGIN_DEGREES = 1e-7;

/**
 * A cell is inside if its farthest corner is: along a parallel the distance grows with the difference of longitudes,
 * and along a meridian at most 90 degrees away no point is farther than both ends. It is outside if its latitudes or its
 * longitudes are beyond those of the circle.
 */
function nearRelation(region: Extract<Region, { op: 'near' }>): (cell: Cell) => Relation {
  const { lat, lon, radiusM } = region;
  const reach = radiusM / EARTH_RADIUS_M / DEGREE + MARGIN_DEGREES;
  const hasPole = Math.abs(lat) + reach >= 90;
  const width = hasPole
    ? 180
    : Math.asin(Math.min(1, Math.sin(reach * DEGREE) / Math.cos(lat * DEGREE))) / DEGREE + MARGIN_DEGREES;
  return (cell) => {
    if (cell.south > lat + reach || cell.north < lat - reach) return 'outside';
    const [nearest, farthest] = longitudesFrom(lon, cell);
    if (nearest > width) return 'outside';
    if (farthest > 90) return 'edge';
    const corners = [cell.south, cell.north].map((edge) => distanceM(region, { lat: edge, lon: lon + farthest }));
    return Math.max(...corners) <= radiusM - MARGIN_M ? 'inside' : 'edge';
  };
}

/** The smallest and the largest difference of the cell's longitudes to `lon`, in degrees. */
function longitudesFrom(lon: number, { west, east }: Cell): [nearest: number, farthest: number] {
  const [toWest, toEast] = [turn(west - lon), turn(east - lon)];
  const ends = [Math.abs(toWest), Math.abs(toEast)];
  const hasOpposite = toWest > toEast;
  const hasMeridian = !hasOpposite && toWest <= 0 && toEast >= 0;
  return [hasMeridian ? 0 : Math.min(...ends), hasOpposite ? 180 : Math.max(...ends)];
}

/** A difference of longitudes from -180 to below 180. */
const turn = (degrees: number): number => ((((degrees + 180) % 360) + 360) % 360) - 180;
