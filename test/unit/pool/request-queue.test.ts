// Request queues: requests of one turn of the event loop travel in one message; a bounded queue gathers while a message
// is in flight.
import assert from 'node:assert/strict';
import { setMaxListeners } from 'node:events';
import { test } from 'node:test';
import { type PendingRequest, RequestQueue } from '../../../src/pool/request-queue.js';
import { QueueMetrics } from '../../../src/pool/pool-metrics.js';

function recorder(): {
  sent: number[][];
  release: (() => void)[];
  send: (batch: PendingRequest<number, number>[]) => Promise<void>;
} {
  const sent: number[][] = [];
  const release: (() => void)[] = [];
  const send = (batch: PendingRequest<number, number>[]): Promise<void> => {
    sent.push(batch.map(({ request }) => request));
    return new Promise((resolve) => {
      release.push(() => {
        for (const { request, resolve: answer } of batch) answer(request * 10);
        resolve();
      });
    });
  };
  return { sent, release, send };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('requests of one turn travel in one message, and each gets its answer', async () => {
  const { sent, release, send } = recorder();
  const queue = new RequestQueue({ requestsMax: 10, messagesInFlightMax: Infinity }, send);
  const answers = Promise.all([1, 2, 3].map((n) => queue.request(n)));
  await turn();
  assert.deepEqual(sent, [[1, 2, 3]]);
  release.forEach((free) => free());
  assert.deepEqual(await answers, [10, 20, 30]);
});

test('more requests than fit into a message go in several', async () => {
  const { sent, send } = recorder();
  const queue = new RequestQueue({ requestsMax: 2, messagesInFlightMax: Infinity }, send);
  for (const n of [1, 2, 3, 4, 5]) void queue.request(n);
  await turn();
  assert.deepEqual(sent, [[1, 2], [3, 4], [5]]);
});

test('a queue with one message at a time gathers what comes meanwhile', async () => {
  const { sent, release, send } = recorder();
  const queue = new RequestQueue({ requestsMax: 10, messagesInFlightMax: 1 }, send);
  void queue.request(1);
  await turn();
  for (const n of [2, 3]) void queue.request(n);
  await turn();
  void queue.request(4);
  await turn();
  assert.deepEqual(sent, [[1]]);
  release[0]?.();
  await turn();
  await turn();
  assert.deepEqual(sent, [[1], [2, 3, 4]]);
});

test('all pending requests can be rejected at once', async () => {
  const { send } = recorder();
  const queue = new RequestQueue({ requestsMax: 1, messagesInFlightMax: 1 }, send);
  const waiting = queue.request(1);
  queue.fail(new Error('gone'));
  await assert.rejects(waiting, /gone/);
});

test('behind a busy worker, a request after a thousand of another tenant is in the next message', async () => {
  const { sent, release, send } = recorder();
  const queue = new RequestQueue({ requestsMax: 16, messagesInFlightMax: 2 }, send);
  for (let n = 0; n < 1000; n++) void queue.request(n, 'noisy');
  await turn();
  assert.equal(sent.length, 2, 'the worker is held, and the rest waits here');
  void queue.request(-1, 'quiet');
  release[0]?.();
  await turn();
  await turn();
  assert.equal(sent.length, 3);
  assert.ok(sent[2]?.includes(-1), 'the late one is served in the next message');
});

test('a message ends with the request that brings it to its cost limit', async () => {
  const { sent, send } = recorder();
  const queue = new RequestQueue(
    { requestsMax: 10, messagesInFlightMax: Infinity, costOf: (n: number) => n, costMax: 5 },
    send,
  );
  for (const n of [1, 3, 2, 9, 1]) void queue.request(n);
  await turn();
  assert.deepEqual(sent, [[1, 3, 2], [9], [1]]);
});

test('requests beyond the limit are rejected at once, with a time to retry; one tenant alone cannot take all places', async () => {
  const { sent, release, send } = recorder();
  const queue = new RequestQueue({ requestsMax: 1, messagesInFlightMax: 1, waitingMax: 4 }, send);
  const answers = [queue.request(1, 'a')];
  await turn();
  answers.push(queue.request(2, 'a'), queue.request(3, 'a'));
  const rejection = { code: 'overloaded', options: { retryAfterS: 1 } };
  await assert.rejects(queue.request(4, 'a'), rejection);
  answers.push(queue.request(5, 'b'), queue.request(6, 'c'));
  await assert.rejects(queue.request(7, 'd'), rejection);
  for (let n = 0; n < 5; n++) {
    release[n]?.();
    await turn();
    await turn();
  }
  assert.deepEqual(await Promise.all(answers), [10, 20, 30, 50, 60]);
  assert.deepEqual(sent, [[1], [2], [5], [6], [3]]);
});

test('a pending request that is cancelled is removed at once, is never sent, and frees its place', async () => {
  const { sent, release, send } = recorder();
  const queue = new RequestQueue({ requestsMax: 1, messagesInFlightMax: 1, waitingMax: 4 }, send);
  const answers = [queue.request(1)];
  await turn();
  const gone = new AbortController();
  const given = [queue.request(2, '', gone.signal), queue.request(3, '', gone.signal)];
  await assert.rejects(queue.request(4), { code: 'overloaded' });
  gone.abort('gone');
  for (const ask of given) await assert.rejects(ask, { code: 'internal_error', message: /does not wait/ });
  answers.push(queue.request(5));
  await assert.rejects(queue.request(6, '', gone.signal), /does not wait/, 'aborted before it is asked');
  for (const n of [0, 1]) {
    release[n]?.();
    await turn();
    await turn();
  }
  assert.deepEqual(
    [sent, await Promise.all(answers)],
    [
      [[1], [5]],
      [10, 50],
    ],
  );
});

test('a request that has been sent gets its answer, even if it is cancelled', async () => {
  const { release, send } = recorder();
  const queue = new RequestQueue({ requestsMax: 1, messagesInFlightMax: 1 }, send);
  const controller = new AbortController();
  const answer = queue.request(1, '', controller.signal);
  await turn();
  controller.abort('gone');
  release[0]?.();
  assert.equal(await answer, 10);
});

test('a cancelled request costs its tenant nothing', async () => {
  const { sent, release, send } = recorder();
  const queue = new RequestQueue({ requestsMax: 1, messagesInFlightMax: 1, costOf: () => 10, quantum: 1 }, send);
  void queue.request(0, 'other');
  await turn();
  const gone = new AbortController();
  setMaxListeners(0, gone.signal);
  for (let n = 1; n <= 100; n++) queue.request(n, 'a', gone.signal).catch(() => {});
  void queue.request(101, 'a');
  for (const n of [201, 202]) void queue.request(n, 'b');
  gone.abort('gone');
  for (let n = 0; n < 3; n++) {
    release[n]?.();
    await turn();
    await turn();
  }
  assert.deepEqual(sent, [[0], [101], [201], [202]]);
});

test('the meter counts pending requests, waits and message sizes, however requests end', async () => {
  const { release, send } = recorder();
  const meter = new QueueMetrics('shard', 'reads');
  const queue = new RequestQueue({ requestsMax: 2, messagesInFlightMax: 1, metrics: meter }, send);
  const gone = new AbortController();
  const asks = [
    queue.request(1),
    queue.request(2, '', gone.signal),
    queue.request(3),
    queue.request(4, '', gone.signal),
    queue.request(5),
  ].map((ask) => ask.catch(() => 0));
  assert.equal(meter.waiting, 5);
  await turn();
  assert.deepEqual([meter.waiting, [...meter.messages.counts].slice(0, 2)], [3, [0, 1]]);
  gone.abort('gone');
  assert.equal(meter.waiting, 2);
  release[0]?.();
  await turn();
  await turn();
  assert.deepEqual(
    [meter.waiting, meter.messages.sum, meter.waits.counts.reduce((sum, count) => sum + count, 0)],
    [0, 4, 4],
  );
  const late = queue.request(6).catch(() => 0);
  assert.equal(meter.waiting, 1);
  queue.fail(new Error('gone'));
  assert.equal(meter.waiting, 0);
  release[1]?.();
  assert.deepEqual(await Promise.all([...asks, late]), [10, 20, 30, 0, 50, 0]);
});
