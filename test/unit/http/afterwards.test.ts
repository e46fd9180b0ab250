// What happens to a connection after a reply, case by case.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { afterwardsOf, type Announced } from '../../../src/http/connection-policy.js';

const KIB_64 = 64 * 1024;

test('the connection is kept, asked to close or closed by what is left of the body', () => {
  const cases: [Announced | 'unclear', [boolean, number] | undefined, boolean, ReturnType<typeof afterwardsOf>][] = [
    // no body, or all of it here
    [0, undefined, false, 'keep'],
    [10, [true, 10], false, 'keep'],
    ['chunked', [true, 10], false, 'keep'],
    [0, undefined, true, 'close'],
    ['chunked', [true, 10], true, 'close'],
    // some of it still to come
    [KIB_64, undefined, false, 'keep'],
    [KIB_64 + 1, undefined, false, 'ask_to_close'],
    [KIB_64 + 1, [false, 1], false, 'keep'],
    [10, [false, 1], true, 'ask_to_close'],
    // nobody knows how much
    ['chunked', undefined, false, 'ask_to_close'],
    ['chunked', [false, 1], false, 'close'],
    ['unclear', undefined, false, 'close'],
  ];
  for (const [announced, progress, isStopping, expected] of cases) {
    const seen = progress && { hasEnded: progress[0], receivedBytes: progress[1] };
    assert.equal(
      afterwardsOf(announced, seen, isStopping),
      expected,
      JSON.stringify([announced, progress, isStopping]),
    );
  }
});
