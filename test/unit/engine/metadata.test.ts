// Chunk metadata overrides document metadata.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergedMetaJson } from '../../../src/storage/records.js';

test('metadata is joined as text where no key occurs twice', () => {
  assert.equal(mergedMetaJson('{"docid":"A","n":1e0}', '{"offset":5}'), '{"docid":"A","n":1e0,"offset":5}');
  assert.equal(mergedMetaJson('{}', '{"offset":5}'), '{"offset":5}');
  assert.equal(mergedMetaJson('{"docid":"A"}', '{}'), '{"docid":"A"}');
});

test("the chunk's value counts where a key occurs in both", () => {
  assert.deepEqual(JSON.parse(mergedMetaJson('{"offset":"mine","x":1}', '{"offset":5}')), { offset: 5, x: 1 });
});

test('a value that looks like the key changes nothing', () => {
  assert.deepEqual(JSON.parse(mergedMetaJson('{"x":"offset"}', '{"offset":5}')), { x: 'offset', offset: 5 });
});
