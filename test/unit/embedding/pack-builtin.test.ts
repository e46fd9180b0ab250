// Packing: the file contains the tables as given, and the committed file is what packing the published tables gives.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { openEmbedderTable } from '../../../src/embedding/builtin/table.js';
import { packTables, TINY, writeTinyTables } from '../../kit/embedding/builtin.js';

const PUBLISHED = '../shared/data/builtin-embedder';

test('what is packed is what is opened', () => {
  assert.deepEqual(openEmbedderTable(packTables(writeTinyTables())), TINY);
});

test('a table whose parts differ in length is refused', () => {
  const folder = writeTinyTables(TINY.vocabulary.slice(1));
  assert.throws(() => packTables(folder), /5 rows, but 5,5,4 scales, idfs and vocabulary entries/);
});

test('the file in the tree is the published tables, packed', {
  skip: !existsSync(PUBLISHED) && `${PUBLISHED} is absent`,
}, () => {
  const committed = readFileSync('src/embedding/builtin/embedder.bin');
  assert.ok(packTables(PUBLISHED).equals(committed));
});
