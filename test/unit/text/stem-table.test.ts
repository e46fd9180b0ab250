// The table of stems, compared with a map, with real hashes and with hashes that collide: what it finds is right; an
// entry that another one has replaced is not found.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { StemTable } from '../../../src/text/term-writer.js';

function stemIn(table: StemTable, entry: number): string {
  const to = Buffer.alloc(table.stemBytes(entry));
  assert.equal(table.copyStem(entry, to, 0), to.length);
  return to.toString();
}

for (const [hashes, foundMin] of [
  [2 ** 32, 5000],
  [16, 16 * 4],
] as const) {
  test(`random words with ${hashes} hashes`, () => {
    const [prng, table] = [createPrng(1), new StemTable()];
    const hashOf = new Map<string, number>();
    let found = 0;
    for (let i = 0; i < 20_000; i++) {
      const word = `wörd${prng.int(4000)}`;
      const hash = hashOf.get(word) ?? prng.int(hashes);
      hashOf.set(word, hash);
      const bytes = Buffer.from(`<${word}>`);
      const entry = table.find(hash, bytes, 1, bytes.length - 1);
      if (entry >= 0) found++;
      const present = entry >= 0 ? entry : table.add(hash, bytes.subarray(1, -1), `st${word}`);
      assert.equal(stemIn(table, present), `st${word}`);
    }
    assert.ok(found >= foundMin, `${found} were found`);
  });
}
