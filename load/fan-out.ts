// One search at a time by one search worker and by as many as there are, side by side, on collections of growing size:
// where sharing a search begins to pay (src/service/search/fan-out.ts). In this process, without HTTP. Medians, for a machine
// with other work. node dist/load/fan-out.js [--tiny] [--vectors 40000] [--searches 100]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SheafClient } from '../src/client/client.js';
import { readConfig } from '../src/config/load.js';
import type { CollectionName, Tenant } from '../src/api/ids.js';
import { startServer } from '../src/cli/serve.js';
import { FanOut } from '../src/service/search/fan-out.js';
import type { SearchInput } from '../src/service/search/query.js';
import { type SearchContext, searchCollection } from '../src/service/search/search.js';
import { printTable, readArguments, whole } from './kit/command.js';
import { createVectorCollection, ingestVectors, vectorItems, vectorQueries } from './kit/fill.js';

const TENANT = 'load' as Tenant;
const BATCH = 200;
const { tiny, number } = readArguments('vectors', 'searches');
const largest = number('vectors', tiny ? 400 : 40_000);
const searches = number('searches', tiny ? 5 : 100);
const queries = vectorQueries();
const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Milliseconds, the median. */
async function measure(
  context: SearchContext,
  name: CollectionName,
  input: Omit<SearchInput, 'k'>,
  fanOut: FanOut,
): Promise<number> {
  (context as { fanOut: FanOut }).fanOut = fanOut;
  const tookMs: number[] = [];
  for (let i = 0; i < searches; i++) {
    const startedAtMs = performance.now();
    await searchCollection(context, TENANT, name, { ...input, v: queries[i % queries.length] as number[], k: 10 });
    tookMs.push(performance.now() - startedAtMs);
  }
  return tookMs.sort((a, b) => a - b)[searches >> 1] as number;
}

const dataDir = mkdtempSync(join(tmpdir(), 'sheaf-fan-out-'));
const server = await startServer(
  readConfig({ SHEAF_SERVER__PORT: '0', SHEAF_DATA_DIR: dataDir, SHEAF_QUERY_LOG__ENABLED: 'false' }),
  quiet,
);
try {
  const url = `http://127.0.0.1:${server.port}`;
  const rows: string[][] = [['vectors', 'search', 'one worker, ms', 'shared, ms', 'share of the time']];
  for (let count = largest / 8; count <= largest; count *= 2) {
    const name = `v${count}` as CollectionName;
    await createVectorCollection(new SheafClient({ url }), TENANT, name);
    await ingestVectors(url, TENANT, name, vectorItems(count).items, BATCH);
    for (const [what, input] of [
      ['exact', { exact: true }],
      ['as ever', {}],
    ] as const) {
      const [one, shared] = [
        await measure(server.services.search.search, name, input, new FanOut(Infinity)),
        await measure(server.services.search.search, name, input, new FanOut(-1)),
      ];
      rows.push([whole(count), what, one.toFixed(2), shared.toFixed(2), (shared / one).toFixed(2)]);
    }
  }
  printTable(
    `Searches one at a time, ${server.parts.shards.size} shards, ${server.parts.searches.threads} search workers`,
    rows,
  );
} finally {
  await server.stop();
  rmSync(dataDir, { recursive: true, force: true });
}
