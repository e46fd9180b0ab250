// How soon a server of the suite's own is there again, after SIGTERM and after kill -9, and how long the first requests
// of the traffic take then. Called by run-workload.ts.
import { HttpSender } from '../kit/http-sender.js';
import type { Say } from './load-part.js';
import { told, type Part } from './parts.js';
import type { Figure } from './report.js';
import type { Target } from './target.js';
import type { Asked } from './traffic.js';

const TENTH = 10;

interface Restarted {
  name: string;
  stopSeconds: number;
  readySeconds: number;
  /** Of the first request, from when the server is ready, and of the tenth. */
  firstMs: number;
  tenthMs: number;
}

export async function restartPart(target: Target, asked: readonly Asked[], say: Say): Promise<Part> {
  const all: Restarted[] = [];
  for (const [signal, name] of [
    ['SIGTERM', 'SIGTERM'],
    ['SIGKILL', 'kill -9'],
  ] as const) {
    say(`restart after ${name}`);
    const times = await target.restart(signal);
    all.push({ name, ...times, ...(await firstAnswers(target, asked)) });
  }
  const first = asked[0]?.name ?? 'request';
  const tenth = asked[(TENTH - 1) % asked.length]?.name ?? 'request';
  const lower = (name: string, value: number, unit: string): Figure => ({ name, value, unit, better: 'lower' });
  return {
    figures: all.flatMap(({ name, readySeconds, firstMs }) => [
      lower(`ready after ${name}`, readySeconds, 's'),
      lower(`first ${first} after ${name}`, firstMs, 'ms'),
    ]),
    tables: [
      {
        title: 'Restart',
        columns: ['after', 'ended in s', 'ready in s', `first ${first} ms`, `tenth ${tenth} ms`],
        rows: all.map(({ name, stopSeconds, readySeconds, firstMs, tenthMs }) => [
          name,
          ...[stopSeconds, readySeconds, firstMs, tenthMs].map(told),
        ]),
      },
    ],
    charts: [
      {
        title: 'Ready again',
        kind: 'bar',
        x: 'after',
        y: 's',
        series: [{ name: 'ready', points: all.map(({ name, readySeconds }) => ({ x: name, y: readySeconds })) }],
      },
    ],
  };
}

/** One after the other. As in the loops, an answer is one that is 2xx: without it there is nothing to tell. */
async function firstAnswers(target: Target, asked: readonly Asked[]): Promise<{ firstMs: number; tenthMs: number }> {
  const sender = new HttpSender(target.url);
  const times: number[] = [];
  for (let n = 0; n < TENTH && asked.length > 0; n++) {
    const request = asked[n % asked.length] as Asked;
    const startedAtMs = performance.now();
    const status = await sender.send(request);
    if (status < 200 || status > 299) throw new Error(`after a restart ${request.name} was answered ${status}`);
    times.push(performance.now() - startedAtMs);
  }
  sender.close();
  return { firstMs: times[0] ?? NaN, tenthMs: times[TENTH - 1] ?? NaN };
}
