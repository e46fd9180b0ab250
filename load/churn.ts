// Recall of a graph over rounds in which a tenth of its vectors is deleted and comes again in other places: beside that
// of the graph as it was built. Deterministic: nothing here is timed. node dist/load/churn.js [--rows 60000] [--rounds
// 10] [--tiny]
import { createPrng } from '../src/base/prng.js';
import { printTable, readArguments, whole } from './kit/command.js';
import { K, buildIndex, settle, truthOf } from './kit/vector-engine.js';
import { clustered, windows } from './kit/vector-sets.js';

const SHARE = 0.1;
const EFS = [undefined, 32, 64, 128, 256];
const { tiny, number } = readArguments('rows', 'rounds');
const rows = number('rows', tiny ? 2000 : 60_000);
const rounds = number('rounds', tiny ? 2 : 10);
const set = (tiny ? undefined : windows(rows)) ?? clustered(rows, tiny ? 32 : 384, 1);
const prng = createPrng(1);
const { index } = buildIndex(set, true);
const truth = truthOf(set, index);
/** Which vector stands in a row. */
const held = Uint32Array.from(set.rows.keys());

/** Deletes a tenth, lets the graph mend itself, and adds the same vectors again, each in the place of another one. */
function churn(): void {
  const places = held.map((_, row) => row).filter(() => prng.next() < SHARE);
  for (const place of places) index.remove(place);
  settle(index);
  const vectors = places.map((place) => held[place] as number);
  places.forEach((place, i) => {
    held[place] = vectors[(i + 1) % vectors.length] as number;
    index.put(place, set.rows[held[place] as number] as Float32Array);
  });
  settle(index);
}

function recalls(): string[] {
  return EFS.map((ef) => {
    const found = set.queries.map((query, i) => {
      const near = new Set(Array.from(truth[i] as ArrayLike<number>));
      return Array.from(index.search(query, K, ef === undefined ? {} : { ef }).ordinals).filter((row) =>
        near.has(held[row] as number),
      ).length;
    });
    return (found.reduce((sum, count) => sum + count, 0) / (K * set.queries.length)).toFixed(4);
  });
}

const table = [
  ['round', ...EFS.map((ef) => `ef ${ef ?? 'default'}`)],
  ['as built', ...recalls()],
];
for (let round = 1; round <= rounds; round++) {
  churn();
  table.push([String(round), ...recalls()]);
}
printTable(
  `Recall@${K} over rounds of deleting and adding ${100 * SHARE} %, ${set.name}, ${whole(set.rows.length)} rows`,
  table,
);
