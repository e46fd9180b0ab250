// Searches at a fixed rate while nothing is written and while writers insert vectors at full speed: what the writes cost the searches.
// node dist/load/search-beside-writes.js [--tiny] [--vectors 20000] [--rate 100] [--seconds 10]
import { setTimeout as sleep } from 'node:timers/promises';
import { SheafClient } from '../src/client/client.js';
import { readArguments } from './kit/arguments.js';
import { openLoop, type OpenLoopResult } from './kit/open-loop.js';
import { printTable, whole } from './kit/report.js';
import { withServer } from './kit/server.js';
import { createVectorCollection, ingestVectors, vectorItems, vectorQueries } from './kit/vector-batches.js';

const TENANT = 'load';
const NAME = 'vectors';
const BATCH = 200;
const { tiny, number } = readArguments('vectors', 'rate', 'seconds');
const count = number('vectors', tiny ? 500 : 20_000);
const rate = number('rate', tiny ? 20 : 100);
const measureSeconds = number('seconds', tiny ? 1 : 10);
/** What was stored last is linked into the graph by then. */
const SETTLE_MS = tiny ? 100 : 10_000;

/** Keeps replacing documents, each by an insert and a removal, until it is told to stop. */
class Writing {
  written = 0;
  private isOn = true;
  private readonly done: Promise<void>;

  constructor(private readonly url: string, private readonly items: readonly string[]) {
    this.done = this.work();
  }

  async stop(): Promise<void> {
    this.isOn = false;
    await this.done;
  }

  private async work(): Promise<void> {
    while (this.isOn) {
      const from = this.written % this.items.length;
      const some = this.items.slice(from, from + 4 * BATCH);
      await ingestVectors(this.url, TENANT, NAME, some, BATCH);
      this.written += some.length;
    }
  }
}

type Search = (n: number) => Promise<void>;

async function beside(url: string, items: readonly string[], search: Search): Promise<{ result: OpenLoopResult; perSecond: number }> {
  const writing = new Writing(url, items);
  await sleep(SETTLE_MS / 5);
  const [before, startedAtMs] = [writing.written, performance.now()];
  const result = await openLoop(rate, measureSeconds, search);
  const perSecond = ((writing.written - before) * 1000) / (performance.now() - startedAtMs);
  await writing.stop();
  return { result, perSecond };
}

function searcher(url: string): Search {
  const queries = vectorQueries().map((v) => JSON.stringify({ v, k: 10 }));
  return async (n) => {
    const response = await fetch(`${url}/v1/collections/${TENANT}/${NAME}/search`, { method: 'POST', body: queries[n % queries.length] as string, headers: { 'content-type': 'application/json' } });
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`a search was answered ${response.status}`);
  };
}

await withServer(undefined, async (url) => {
  const { source, items } = vectorItems(count);
  await createVectorCollection(new SheafClient({ url }), TENANT, NAME);
  await ingestVectors(url, TENANT, NAME, items, BATCH);
  await sleep(SETTLE_MS);
  const search = searcher(url);
  await openLoop(rate, Math.min(measureSeconds, 3), search);
  const idle = await openLoop(rate, measureSeconds, search);
  const { result, perSecond } = await beside(url, items, search);
  const row = (name: string, { p50Ms, p99Ms, maxMs }: OpenLoopResult, writes: string): string[] => [name, p50Ms.toFixed(2), p99Ms.toFixed(2), (p99Ms / idle.p99Ms).toFixed(2), maxMs.toFixed(1), writes];
  printTable(`${whole(rate)} searches/s by vector over ${whole(items.length)} × 384 (${source}), ${measureSeconds} s each`, [
    ['beside', 'p50 ms', 'p99 ms', 'p99 of idle', 'max ms', 'vectors written/s'],
    row('nothing', idle, ''),
    row('batches of replacements without a pause', result, whole(perSecond)),
  ]);
});
