// The first request of a load, by itself: it waits for what is made only when it is asked for, such as the index of a
// collection's words. Sent before the loads, which would share out its cost among however many requests they have.
// Called by run-workload.ts.
import { HttpSender } from '../kit/http-sender.js';
import { NOTHING, type Part } from './parts.js';
import { spending } from './spent.js';
import type { Target } from './target.js';
import type { Asked } from './traffic.js';

/** Nothing where there is no request, or it fails. */
export async function firstPart(target: Target, [first]: readonly Asked[]): Promise<Part> {
  if (!first) return NOTHING;
  const { result: status, seconds, spent } = await spending(target, 'search', () => sendOnce(target, first));
  if (status < 200 || status > 299) return NOTHING;
  const figures = [
    { name: 'first request', value: 1000 * seconds, unit: 'ms', better: 'lower' as const },
    ...(spent
      ? [{ name: 'server CPU of the first request', value: spent.serverCpuMs, unit: 'ms', better: 'lower' as const }]
      : []),
  ];
  return { ...NOTHING, figures };
}

async function sendOnce(target: Target, request: Asked): Promise<number> {
  const sender = new HttpSender(target.url);
  try {
    return await sender.send(request).catch(() => 0);
  } finally {
    sender.close();
  }
}
