// Graph searches by quantized vectors on real vectors: recall@10 of searches with defaults, and of searches with a
// small ef. The test needs the data folder beside the project, and is skipped without it.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { readRows } from '../../../../load/kit/vector-sets.js';
import { PRECISIONS } from '../../../../src/api/choices.js';
import { createKernel } from '../../../kit/engine/arena.js';
import { recallOf } from '../../../kit/engine/naive-quantization.js';

const DATA = '../shared/data';
const ROWS = 4500;
const QUERIES = 60;
/** Vectors by file, cached because reading a file takes seconds. */
const read = new Map<string, Float32Array[]>();

for (const file of [
  'minilm-windows-60k/vectors.npy',
  'cranfield-minilm-384d/doc_vectors.npy',
  'glove-10k-50d/vectors.npy',
]) {
  const path = `${DATA}/${file}`;
  for (const precision of PRECISIONS) {
    test(`${file} of ${precision}`, { skip: !existsSync(path) && `${path} is not there` }, () => {
      const all = read.get(path) ?? readRows(path, ROWS);
      read.set(path, all);
      const [rows, queries] = [all.slice(0, -QUERIES), all.slice(-QUERIES)];
      const index = createKernel().createIndex(rows[0]!.length, { precision, graphMin: 1, quantizedMin: 1000 });
      rows.forEach((row, ordinal) => index.put(ordinal, row));
      while (index.hasWork) index.indexSome(16);
      const [byDefault, narrow] = [recallOf(index, queries), recallOf(index, queries, 48)];
      assert(byDefault >= 0.97 && narrow >= 0.95, `recall@10 ${byDefault}, of narrow graph searches ${narrow}`);
    });
  }
}
