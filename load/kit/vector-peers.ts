// Engines of vectors that live in Python, as curves: measured there, by vectors_peer.py, on the same rows, queries and
// truth, with the same clock. Used by load/vectors.ts.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { VectorSet } from '../vector-sets.js';
import type { Curve } from './recall-curve.js';
import { K, unitRow } from './vector-engines.js';

export const PYTHON_PEERS = ['hnswlib', 'faiss', 'symphonyqg'] as const;
const EFS = [10, 16, 24, 32, 48, 64, 96, 128, 192, 256];
/** Curves are a few kilobytes. */
const OUTPUT_BYTES_MAX = 1 << 20;

type Line = Curve | { readonly skipped: string; readonly reason: string };

/** Those that this Python (PYTHON, else python3) has; the others are named on standard output. */
export function pythonCurves(
  { rows, queries }: VectorSet,
  truth: readonly ArrayLike<number>[],
  peers: readonly string[],
): Curve[] {
  if (peers.length === 0) return [];
  const python = process.env['PYTHON'] ?? 'python3';
  if (spawnSync(python, ['-c', 'import numpy']).status !== 0) {
    console.log(
      `skipped: ${peers.join(', ')} (a Python with numpy and hnswlib, faiss-cpu, rabitqlib; PYTHON names the interpreter)`,
    );
    return [];
  }
  const folder = mkdtempSync(join(tmpdir(), 'sheaf-vectors-'));
  try {
    const given = {
      dim: rows[0]!.length,
      k: K,
      efs: EFS,
      peers,
      rows: kept(folder, 'rows', floats(rows)),
      queries: kept(folder, 'queries', floats(queries)),
      truth: kept(folder, 'truth', Int32Array.from(truth.flatMap((near) => Array.from(near)))),
    };
    const file = join(folder, 'given.json');
    writeFileSync(file, JSON.stringify(given));
    const { stdout } = spawnSync(python, ['load/kit/vectors_peer.py', file], {
      encoding: 'utf8',
      maxBuffer: OUTPUT_BYTES_MAX,
    });
    return curvesIn(stdout);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A library that ends its process takes those behind it along. */
function curvesIn(output: string): Curve[] {
  const lines = output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line);
  for (const line of lines) if ('skipped' in line) console.log(`skipped: ${line.skipped} (${line.reason})`);
  return lines.filter((line) => 'points' in line);
}

function floats(rows: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(rows.length * rows[0]!.length);
  rows.forEach((row, i) => all.set(unitRow(row), i * row.length));
  return all;
}

function kept(folder: string, name: string, values: Float32Array | Int32Array): string {
  const path = join(folder, name);
  writeFileSync(path, new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  return path;
}
