// Tokens of consistency: of this stream, of those before it, of one that the node does not know, and texts that are none.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LogProgress } from '../../../src/base/log-progress.js';

const [FIRST, SECOND, THIRD] = ['aaaaaaaa-1', 'bbbbbbbb-2', 'cccccccc-3'];

test('tokens lead over rebuilds of the stream', () => {
  const progress = LogProgress.of(THIRD, 2, [SECOND, FIRST]);
  progress.note(7, 5);
  assert.equal(progress.token, 'cccccccc:7');
  assert.equal(progress.sequenceOf(progress.token), 7);
  // All of the streams before is in the data.
  for (const token of ['aaaaaaaa:900', 'bbbbbbbb:900']) assert.equal(progress.sequenceOf(token), 0);
  assert.equal(progress.sequenceOf('dddddddd:1'), Infinity);
  for (const text of ['', '7', 'other:7', 'cccccccc:x', 'cccccccc:', 'strong'])
    assert.equal(progress.sequenceOf(text), undefined, text);
});
