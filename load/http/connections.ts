// Kept connections: what an idle one costs the server in memory, and how long requests take where each of many
// connections sends one a second. The client runs in this process, on the same cores.
import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { latenciesOf } from '../kit/closed-loop.js';
import { type LoadOptions, printTable, whole } from '../kit/command.js';
import { privateBytes } from '../kit/server-usage.js';
import { type LoadServer, startServer, withFolder } from '../kit/server.js';

const REQUEST = 'GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n';
/** Connections that are opened at the same time, which is less than the length of the queue of new ones. */
const OPENED_AT_ONCE = 100;
const SETTLE_MS = 3000;
/** In the first seconds, client and server compile their code and their heaps grow, which nobody waits for later. */
const WARM_UP_SECONDS = 3;
/** Slots of a second in which requests are sent, so that they do not come all at once. */
const SLOTS = 100;

export async function connections({ tiny, number }: LoadOptions): Promise<void> {
  const count = number('connections', tiny ? 200 : 10_000);
  const seconds = number('seconds', tiny ? 2 : 20);
  const threads = number('fronts', 2);
  await withFolder(async (folder) => {
    const settings = { SHEAF_SERVER__THREADS: String(threads) };
    const server = await startServer(folder, settings);
    try {
      printTable(`${whole(count)} kept connections, ${threads} front threads, GET /health/live`, [
        ['what', 'value'],
        ...(await measured(server, count, seconds, tiny ? 0 : SETTLE_MS)),
      ]);
    } finally {
      await server.kill();
    }
  });
}

async function measured(server: LoadServer, count: number, seconds: number, settleMs: number): Promise<string[][]> {
  const latenciesMs: number[] = [];
  // The first requests let the server compile its code and touch its memory, which is not what a connection costs.
  const first = await opened(server.url, 20, latenciesMs);
  await everySecond(first, tiny(seconds));
  await sleep(settleMs);
  const before = privateBytes(server.pid);
  const all = [...first, ...(await opened(server.url, count - first.length, latenciesMs))];
  await sleep(settleMs);
  const idle = privateBytes(server.pid);
  latenciesMs.length = 0;
  await everySecond(all, WARM_UP_SECONDS);
  const coldMaxMs = latenciesOf(latenciesMs).maxMs;
  latenciesMs.length = 0;
  const late = await everySecond(all, seconds);
  const { p50Ms, p99Ms, maxMs } = latenciesOf(latenciesMs);
  const active = privateBytes(server.pid);
  for (const { socket } of all) socket.destroy();
  const kilobytes = (bytes: number): string => `${((bytes - before) / 1024 / (count - first.length)).toFixed(1)} KB`;
  return [
    ['memory of an idle connection', kilobytes(idle)],
    ['memory of a connection after the requests', kilobytes(active)],
    ['requests answered a second', whole(latenciesMs.length / seconds)],
    ['requests that were not sent because the one before had no answer', whole(late)],
    ['longest of the first seconds, which are not counted below', `${coldMaxMs.toFixed(0)} ms`],
    ['p50, p99, longest', `${p50Ms.toFixed(1)} ms, ${p99Ms.toFixed(1)} ms, ${maxMs.toFixed(0)} ms`],
  ];
}

const tiny = (seconds: number): number => Math.min(2, seconds);

interface Kept {
  readonly socket: Socket;
  /** When the request without an answer was sent, by `performance.now()`; undefined if there is none. */
  sentAtMs: number | undefined;
}

/** Opens connections whose answers are timed. An error of one of them is thrown in this process. */
async function opened(url: string, count: number, latenciesMs: number[]): Promise<Kept[]> {
  const { hostname, port } = new URL(url);
  const all: Kept[] = [];
  while (all.length < count) {
    const some = Array.from({ length: Math.min(OPENED_AT_ONCE, count - all.length) }, (): Kept => {
      const kept: Kept = { socket: connect(Number(port), hostname), sentAtMs: undefined };
      kept.socket.setNoDelay(true).on('data', (bytes) => {
        if (!bytes.toString('latin1', 0, 12).endsWith(' 200')) throw new Error(`the server answered ${String(bytes)}`);
        latenciesMs.push(performance.now() - (kept.sentAtMs as number));
        kept.sentAtMs = undefined;
      });
      return kept;
    });
    await Promise.all(some.map(({ socket }) => once(socket, 'connect')));
    all.push(...some);
  }
  return all;
}

/** Sends a request on every connection once a second, spread over the second. Returns how many could not be sent. */
async function everySecond(all: readonly Kept[], seconds: number): Promise<number> {
  const startedAtMs = performance.now();
  let late = 0;
  for (let slot = 0; slot < seconds * SLOTS; slot++) {
    const waitMs = startedAtMs + (slot * 1000) / SLOTS - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    for (let i = slot % SLOTS; i < all.length; i += SLOTS) {
      const kept = all[i] as Kept;
      if (kept.sentAtMs !== undefined) late++;
      else {
        kept.sentAtMs = performance.now();
        kept.socket.write(REQUEST);
      }
    }
  }
  while (all.some(({ sentAtMs }) => sentAtMs !== undefined)) await sleep(10);
  return late;
}
