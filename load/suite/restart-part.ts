// How soon a server of the suite's own is there again, after SIGTERM and after kill -9, and how long its first searches take. Called by
// run-workload.ts.
import { HttpSender } from '../kit/http-sender.js';
import type { Say } from './load-part.js';
import { told, type Part } from './parts.js';
import type { Figure } from './report.js';
import type { Target } from './target.js';
import type { Asked } from './traffic.js';

interface Restarted {
  name: string;
  stopSeconds: number;
  readySeconds: number;
  /** Of the first search, from when the server is ready, and of the tenth. */
  firstMs: number;
  tenthMs: number;
}

export async function restartPart(target: Target, asked: readonly Asked[], say: Say): Promise<Part> {
  const all: Restarted[] = [];
  for (const [signal, name] of [['SIGTERM', 'SIGTERM'], ['SIGKILL', 'kill -9']] as const) {
    say(`restart after ${name}`);
    const times = await target.restart(signal);
    all.push({ name, ...times, ...(await firstSearches(target, asked)) });
  }
  const lower = (name: string, value: number, unit: string): Figure => ({ name, value, unit, better: 'lower' });
  return {
    figures: all.flatMap(({ name, readySeconds, firstMs }) => [lower(`ready after ${name}`, readySeconds, 's'), lower(`first search after ${name}`, firstMs, 'ms')]),
    tables: [{ title: 'Restart', columns: ['after', 'ended in s', 'ready in s', 'first search ms', 'tenth search ms'], rows: all.map(({ name, stopSeconds, readySeconds, firstMs, tenthMs }) => [name, ...[stopSeconds, readySeconds, firstMs, tenthMs].map(told)]) }],
    charts: [{ title: 'Ready again', kind: 'bar', x: 'after', y: 's', series: [{ name: 'ready', points: all.map(({ name, readySeconds }) => ({ x: name, y: readySeconds })) }] }],
  };
}

async function firstSearches(target: Target, asked: readonly Asked[]): Promise<{ firstMs: number; tenthMs: number }> {
  const sender = new HttpSender(target.url);
  const times: number[] = [];
  for (const request of asked.slice(0, 10)) {
    const startedAtMs = performance.now();
    const status = await sender.send(request);
    if (status !== 200) throw new Error(`a search after a restart was answered ${status}`);
    times.push(performance.now() - startedAtMs);
  }
  sender.close();
  return { firstMs: times[0]!, tenthMs: times[9]! };
}
