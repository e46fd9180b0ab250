// The axes of the map, compared with a naive version: the covariance matrix written out, and its eigenvalues by Jacobi
// rotations.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { principalPlane } from '../../../src/console/map/projection.js';

const SEED = 11;

/** All eigenvalues of a symmetric matrix, the largest first. */
function eigenvalues(matrix: number[][]): number[] {
  const a = matrix.map((row) => [...row]);
  const n = a.length;
  const at = (i: number, j: number): number => (a[i] as number[])[j] as number;
  for (let sweep = 0; sweep < 60; sweep++) {
    for (let p = 0; p < n; p++) {
      for (let q = p + 1; q < n; q++) {
        if (Math.abs(at(p, q)) < 1e-14) continue;
        const angle = 0.5 * Math.atan2(2 * at(p, q), at(q, q) - at(p, p));
        const [c, s] = [Math.cos(angle), Math.sin(angle)];
        for (let k = 0; k < n; k++)
          [(a[k] as number[])[p], (a[k] as number[])[q]] = [c * at(k, p) - s * at(k, q), s * at(k, p) + c * at(k, q)];
        for (let k = 0; k < n; k++)
          [(a[p] as number[])[k], (a[q] as number[])[k]] = [c * at(p, k) - s * at(q, k), s * at(p, k) + c * at(q, k)];
      }
    }
  }
  return a.map((row, i) => row[i] as number).sort((x, y) => y - x);
}

function covariance(rows: Float32Array, dim: number): number[][] {
  const length = rows.length / dim;
  const value = (i: number, j: number): number => rows[i * dim + j] as number;
  const means = Array.from(
    { length: dim },
    (_, j) => Array.from({ length }, (_, i) => value(i, j)).reduce((sum, x) => sum + x, 0) / length,
  );
  return Array.from({ length: dim }, (_, j) =>
    Array.from({ length: dim }, (_, k) =>
      Array.from(
        { length },
        (_, i) => (value(i, j) - (means[j] as number)) * (value(i, k) - (means[k] as number)),
      ).reduce((sum, x) => sum + x, 0),
    ),
  );
}

test(`the axes show as much as the two largest eigenvalues say, and stand at right angles (seed ${SEED})`, () => {
  const prng = createPrng(SEED);
  for (let round = 0; round < 20; round++) {
    const dim = 2 + prng.int(8);
    const length = 20 + prng.int(60);
    const weights = Array.from({ length: dim }, (_, j) => 3 / (1 + 2 * j));
    const rows = Float32Array.from(
      { length: dim * length },
      (_, i) => (prng.next() - 0.5) * (weights[i % dim] as number) + 5,
    );
    const values = eigenvalues(covariance(rows, dim));
    const total = values.reduce((sum, value) => sum + value, 0);
    const { points, shares } = principalPlane(rows, dim);
    assert.ok(
      Math.abs(shares[0] - (values[0] as number) / total) < 0.01,
      `${shares[0]} is not ${(values[0] as number) / total}`,
    );
    assert.ok(
      Math.abs(shares[1] - (values[1] as number) / total) < 0.02,
      `${shares[1]} is not ${(values[1] as number) / total}`,
    );
    let [xy, x, y] = [0, 0, 0];
    for (let i = 0; i < length; i++) {
      const [px, py] = [points[2 * i] as number, points[2 * i + 1] as number];
      [xy, x, y] = [xy + px * py, x + px, y + py];
    }
    assert.ok(Math.abs(xy) < 0.02 * total && Math.abs(x) < 1e-2 && Math.abs(y) < 1e-2, `${xy}, ${x}, ${y}`);
  }
});

test('equal vectors, one vector, and none have a place', () => {
  assert.deepEqual(principalPlane(new Float32Array(12).fill(2), 4), { points: new Float32Array(6), shares: [0, 0] });
  assert.deepEqual([...principalPlane(Float32Array.of(1, 2, 3), 3).points], [0, 0]);
  assert.equal(principalPlane(new Float32Array(), 3).points.length, 0);
  assert.equal(principalPlane(Float32Array.of(1, 3), 1).shares[0], 1);
});
