// The bytes of a request body, with a stand-in for the HTTP library: when the socket is paused, and when it is resumed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError } from '../../../src/api/errors.js';
import { BodySource } from '../../../src/http/body-source.js';
import { ReceiveBlocks } from '../../../src/http/admission.js';
import type { WireResponse } from '../../../src/http/uws.js';

const PIECE = 600_000;

/** A body without a limit that gets a piece with each `push`; `isHeld` says whether its socket is paused. */
function open(): { source: BodySource; push: (isLast: boolean) => void; isHeld: () => boolean } {
  let take = (_: ArrayBuffer, __: boolean): void => {};
  let isHeld = false;
  const wire: Pick<WireResponse, 'onData' | 'pause' | 'resume'> = {
    onData: (given) => (take = given),
    pause: () => void (isHeld = true),
    resume: () => void (isHeld = false),
  };
  const limit = { bytesMax: Infinity, clientError: () => new AppError('request_too_large') };
  const source = new BodySource(wire as WireResponse, limit, {
    hold: () => true,
    giveBack: () => {},
    blocks: new ReceiveBlocks(),
  });
  return { source, push: (isLast) => take(new ArrayBuffer(PIECE), isLast), isHeld: () => isHeld };
}

test('a socket is held back while a megabyte waits for its reader', async () => {
  const { source, push, isHeld } = open();
  push(false);
  await nextTurn();
  assert.equal(isHeld(), false);
  push(false);
  await nextTurn();
  assert.equal(isHeld(), true);
  await source.next();
  assert.equal(isHeld(), false);
});

test('once all of the body is here the socket is let go, though nobody reads: else a client that has gone is not noticed', async () => {
  const { source, push, isHeld } = open();
  for (const isLast of [false, false, true]) push(isLast);
  await nextTurn();
  assert.deepEqual([isHeld(), source.isPaused], [false, false]);
  for (let n = 0; n < 3; n++) assert.equal((await source.next())?.length, PIECE);
  assert.equal(await source.next(), undefined);
});

test('a socket that was let go for good is not touched', async () => {
  const { source, push, isHeld } = open();
  for (const isLast of [false, false, true]) push(isLast);
  source.abandon();
  await nextTurn();
  assert.equal(isHeld(), true);
});
