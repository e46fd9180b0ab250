// Codes on real vectors: the share of the ten nearest among the best m by code alone (a walk as broad as the index meets every
// row), and the recall of narrow walks. Needs the data folder beside the project; skipped by name without it.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { readRows } from '../../../../load/npy.js';
import { linkAll } from '../graph-kit.js';
import { createKernel } from '../kernel-kit.js';
import { fill, recallOf } from './naive-codes.js';

const DATA = '../shared/data';
const ROWS = 2500;
const QUERIES = 60;
/** A file takes seconds to read. */
const read = new Map<string, Float32Array[]>();

interface Case {
  readonly file: string;
  readonly axes4: number;
  readonly axes2: number;
  /** By code alone, with this many scored again. */
  readonly among30: number;
  readonly among60: number;
}

const CASES: readonly Case[] = [
  { file: 'minilm-windows-60k/vectors.npy', axes4: 64, axes2: 128, among30: 0.985, among60: 0.995 },
  { file: 'minilm-windows-60k/vectors.npy', axes4: 192, axes2: 0, among30: 0.985, among60: 0.995 },
  { file: 'minilm-windows-60k/vectors.npy', axes4: 128, axes2: 0, among30: 0.95, among60: 0.985 },
  { file: 'cranfield-minilm-384d/doc_vectors.npy', axes4: 64, axes2: 128, among30: 0.985, among60: 0.995 },
  { file: 'glove-10k-50d/vectors.npy', axes4: 64, axes2: 0, among30: 0.985, among60: 0.995 },
];

for (const { file, axes4, axes2, among30, among60 } of CASES) {
  const name = `${file}: ${axes4} axes at 4 bits and ${axes2} at 2`;
  const path = `${DATA}/${file}`;
  test(name, { skip: !existsSync(path) && `${path} is not there` }, () => {
    const all = read.get(path) ?? readRows(path, ROWS);
    read.set(path, all);
    const [rows, queries] = [all.slice(0, -QUERIES), all.slice(-QUERIES)];
    const kernel = createKernel();
    const index = kernel.createIndex(rows[0]!.length, 1);
    rows.forEach((row, ordinal) => index.put(ordinal, row));
    linkAll(index);
    const coded = fill(kernel.createCodes(index, { axes4, axes2 }));
    const recalls = [30, 60].map((rerank) => recallOf(index, coded, queries, rows.length, rerank));
    assert(recalls[0]! >= among30 && recalls[1]! >= among60, `recall@10 ${recalls.join(' and ')}, ${coded.varianceShare} of the variance`);
    const walked = recallOf(index, coded, queries, 96, 60);
    assert(walked >= Math.min(among60, 0.99) - 0.01, `recall@10 ${walked} of a walk`);
  });
}
