// A small run of the comparison of databases: each of its loads against the real Sheaf and a stand-in.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runPeers } from '../../../load/suite/peers/compare.js';
import { candidates } from '../../../load/suite/peers/participants.js';
import { standIn } from '../../kit/stand-in-database.js';

test('a comparison in small: Sheaf and a stand-in', { timeout: 300_000 }, async (t) => {
  const reports = await runPeers(
    ['--tiny', '--vectors', '200', '--texts', '20', '--judged', '5', '--only', 'sheaf,standin'],
    [...candidates(), standIn(t)],
  );
  const names = reports.map(({ name }) => name).filter((name) => name !== 'peers-texts');
  assert.deepEqual(names, ['peers-fill', 'peers-vectors', 'peers-filter-10', 'peers-filter-1', 'peers-beside-writes']);
  const [fill, vectors] = reports;
  assert.deepEqual(
    fill!.tables[0]!.rows.filter((row) => row[2] === 'vectors').map((row) => row[0]),
    ['Sheaf', 'StandIn'],
  );
  const figure = (name: string): number => vectors!.figures.find((one) => one.name === name)!.value;
  assert.equal(figure('StandIn recall@10'), 1);
  assert.ok(figure('Sheaf recall@10') > 0.9);
  assert.equal(figure('Sheaf against StandIn'), figure('Sheaf requests') / figure('StandIn requests'));
  for (const { tables } of reports)
    for (const { columns, rows } of tables) for (const row of rows) assert.equal(row.length, columns.length);
});
