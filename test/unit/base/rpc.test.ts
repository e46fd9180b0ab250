// Calls and streams between two peers over a real message channel: answers, errors, cancellation, early closing on both
// sides, and the end of a peer while calls wait.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { AppError, ERROR_CODEC } from '../../../src/api/errors.js';
import { type LentStream, Moved, type RpcHandler, RpcPeer, WorkerError } from '../../../src/base/rpc.js';
import { CancelSource, type CancelSignal } from '../../../src/base/signals.js';
import { until } from '../../kit/until.js';

interface Pair {
  readonly near: RpcPeer;
  readonly far: RpcPeer;
  /** Internal errors of the handlers of `far`. */
  readonly faults: unknown[];
}

function pairOf(t: TestContext, handlers: (far: () => RpcPeer) => Record<string, RpcHandler>): Pair {
  const { port1, port2 } = new MessageChannel();
  const faults: unknown[] = [];
  const far: RpcPeer = new RpcPeer(
    port2,
    handlers(() => far),
    ERROR_CODEC,
    (error) => faults.push(error),
  );
  const near = new RpcPeer(port1, {}, ERROR_CODEC, () => assert.fail('no handler of this side is called'));
  t.after(() => (near.end(), far.end()));
  return { near, far, faults };
}

/** Endless numbers that tell how many have been made, and whether their reader has closed them. */
function numbers(pause?: Promise<void>): { made: number; isClosed: boolean; pieces: AsyncGenerator<number> } {
  const seen = { made: 0, isClosed: false, pieces: make() };
  async function* make(): AsyncGenerator<number> {
    try {
      for (;;) {
        yield ++seen.made;
        await pause;
      }
    } finally {
      seen.isClosed = true;
    }
  }
  return seen;
}

test('answers come to their calls in whatever order, and buffers move', async (t) => {
  const moved = new Uint8Array([1, 2, 3]);
  const { near } = pairOf(t, () => ({
    late: async (ms: number) => (await new Promise((resolve) => setTimeout(resolve, ms)), ms),
    bytes: () => new Moved(moved, [moved.buffer]),
  }));
  const given = new Uint8Array(8);
  const sent = near.call('late', 5, undefined, [given.buffer]);
  assert.equal(given.length, 0);
  assert.deepEqual(await Promise.all([sent, near.call('late', 1), near.call('late', 0)]), [5, 1, 0]);
  assert.deepEqual([...(await near.call<Uint8Array>('bytes', 0)), moved.length], [1, 2, 3, 0]);
});

test("errors for clients cross; others are told where they happened, and so is an answer that can't cross", async (t) => {
  const { near, faults } = pairOf(t, () => ({
    refuse: () => Promise.reject(new AppError('collection_not_found')),
    fail: () => {
      throw new TypeError('secret');
    },
    odd: () => () => undefined,
  }));
  await assert.rejects(near.call('refuse', 0), { code: 'collection_not_found' });
  assert.equal(faults.length, 0);
  await assert.rejects(near.call('fail', 0), (error) => error instanceof WorkerError && !/secret/.test(error.message));
  await assert.rejects(near.call('odd', 0), WorkerError);
  await assert.rejects(near.call('unknown', 0), WorkerError);
  assert.equal(faults.length, 3);
  await assert.rejects(
    near.call('fail', () => undefined),
    { name: 'DataCloneError' },
  );
});

test('a cancelled call rejects at once, and its handler learns it', async (t) => {
  let seen: CancelSignal | undefined;
  const { near, faults } = pairOf(t, () => ({
    wait: (_input: never, signal: CancelSignal) =>
      new Promise((_resolve, reject) => {
        seen = signal;
        signal.addEventListener('abort', () => reject(new Error('cancelled')));
      }),
    echo: (value: number) => value,
  }));
  const source = new CancelSource();
  const waiting = near.call('wait', 0, source);
  await until(() => seen !== undefined, 'the call does not arrive');
  source.cancel();
  await assert.rejects(waiting, (error) => error instanceof AppError);
  await until(() => seen?.aborted === true, 'the handler is not told');
  await assert.rejects(near.call('echo', 1, source), (error) => error instanceof AppError);
  assert.equal(await near.call('echo', 2), 2);
  assert.deepEqual(faults, []);
});

test('a stream is pulled: one piece is made ahead of the reader, and bytes that are reused are copied', async (t) => {
  const lent = numbers();
  const bytes = new Uint8Array(1);
  async function* reused(): AsyncGenerator<Uint8Array> {
    for (bytes[0] = 1; (bytes[0] as number) < 4; (bytes[0] as number)++) yield bytes;
  }
  const { near } = pairOf(t, (far) => ({
    numbers: () => far().lend(lent.pieces),
    bytes: () => far().lend(reused()),
    echo: (value: number) => value,
  }));
  const reader = near.borrow<number>(await near.call<LentStream>('numbers', 0));
  for (let piece = 1; piece <= 5; piece++) {
    assert.equal((await reader.next()).value, piece);
    await near.call('echo', 0);
    assert.ok(lent.made <= piece + 1, `${lent.made} pieces are made for ${piece} that are read`);
  }
  await reader.return(undefined);
  assert.equal(lent.isClosed, true);
  const read: number[] = [];
  for await (const piece of near.borrow<Uint8Array>(await near.call<LentStream>('bytes', 0)))
    read.push(piece[0] as number);
  assert.deepEqual(read, [1, 2, 3]);
});

test('a stream that fails fails for its reader, after what came before', async (t) => {
  async function* failing(): AsyncGenerator<number> {
    yield 1;
    throw new AppError('collection_damaged');
  }
  const { near } = pairOf(t, (far) => ({ failing: () => far().lend(failing()) }));
  const reader = near.borrow<number>(await near.call<LentStream>('failing', 0));
  assert.equal((await reader.next()).value, 1);
  await assert.rejects(reader.next(), { code: 'collection_damaged' });
});

test('who stops reading does not wait for a piece that may never come', async (t) => {
  const lent = numbers(new Promise<void>(() => undefined));
  const { near } = pairOf(t, (far) => ({ numbers: () => far().lend(lent.pieces) }));
  const reader = near.borrow<number>(await near.call<LentStream>('numbers', 0));
  assert.equal((await reader.next()).value, 1);
  await reader.return(undefined);
});

test('a lender that can end its pieces is told to, and its end is waited for', async (t) => {
  let end: () => void = () => undefined;
  const lent = numbers(new Promise<void>((resolve) => (end = resolve)));
  const { near } = pairOf(t, (far) => ({ numbers: () => far().lend(lent.pieces, () => end()) }));
  const reader = near.borrow<number>(await near.call<LentStream>('numbers', 0));
  assert.equal((await reader.next()).value, 1);
  await reader.return(undefined);
  assert.equal(lent.isClosed, true);
});

test('the streams of an answer that nobody takes any more are closed', async (t) => {
  const lent = numbers();
  let answer: () => void = () => undefined;
  let hasArrived = false;
  const { near } = pairOf(t, (far) => ({
    numbers: async () => {
      hasArrived = true;
      await new Promise<void>((resolve) => (answer = resolve));
      const stream = far().lend(lent.pieces);
      return new Moved(stream, [], [stream]);
    },
  }));
  const source = new CancelSource();
  const call = near.call('numbers', 0, source);
  await until(() => hasArrived, 'the call does not arrive');
  source.cancel();
  await assert.rejects(call);
  answer();
  await until(() => lent.isClosed, 'the stream stays open');
});

test('the end of a peer rejects what waits, cancels what it serves, and closes what it lends and would lend', async (t) => {
  const [open, unread, late] = [numbers(), numbers(), numbers()];
  let seen: CancelSignal | undefined;
  let closed = 0;
  const { near, far } = pairOf(t, (peer) => ({
    open: () => peer().lend(open.pieces, () => closed++),
    unread: () => peer().lend(unread.pieces, () => closed++),
    wait: (_input: never, signal: CancelSignal) => new Promise(() => (seen = signal)),
  }));
  const reader = near.borrow<number>(await near.call<LentStream>('open', 0));
  await reader.next();
  await near.call('unread', 0);
  const waiting = near.call('wait', 0);
  waiting.catch(() => undefined);
  await until(() => seen !== undefined, 'the call does not arrive');
  far.end();
  assert.equal(seen?.aborted, true);
  far.lend(late.pieces, () => closed++);
  await until(() => open.isClosed && unread.isClosed && late.isClosed, 'a stream stays open');
  assert.equal(closed, 3);
  near.end();
  await assert.rejects(waiting, WorkerError);
  await assert.rejects(near.call('wait', 0), WorkerError);
  await assert.rejects(async () => {
    for await (const piece of reader) assert.ok(piece);
  }, WorkerError);
});
