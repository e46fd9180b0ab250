// Archives out and in: megabytes a second, peak memory beside what the collection itself takes, and searches beside
// them. node dist/load/archive.js [--rows N] [--tiny]. Memory is that of all processes of the server: anonymous pages,
// and pages shared by its threads; not those of files, which the operating system drops when it wants them.
import { openAsBlob, readdirSync, readFileSync, statSync, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { SheafClient } from '../src/client/client.js';
import { createPrng } from '../src/base/prng.js';
import { printTable, readArguments, whole } from './kit/command.js';
import { privateBytes } from './kit/server-usage.js';
import { startServer, withFolder } from './kit/server.js';

const DIM = 384;
const SAMPLE_MS = 50;
const { tiny, number } = readArguments('rows');
const rows = number('rows', tiny ? 500 : 100_000);

interface Measured {
  seconds: number;
  /** Above what it was before. */
  growthBytes: number;
  latenciesMs: number[];
}

const vector = (random: ReturnType<typeof createPrng>): number[] =>
  Array.from({ length: DIM }, () => Math.round(random.normal() * 1e4) / 1e4);

async function fill(client: SheafClient): Promise<void> {
  const random = createPrng(1);
  await client.createCollection('load', 'docs', { embedder_type: 'identity', embedder_config: { dim: DIM } });
  const documents = async function* (): AsyncGenerator<{ docid: string; vector: number[]; metadata: object }> {
    for (let n = 0; n < rows; n++)
      yield {
        docid: `D${n}`,
        vector: vector(random),
        metadata: { n, about: 'what a document may say of itself, in some words' },
      };
  };
  for await (const result of client.ingestStream('load', 'docs', documents() as never))
    if (!result.ok) throw new Error(result.error);
}

/** Of this process's descendants, in bytes. */
function memoryOf(root: number): number {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      parents.set(Number(name), Number(readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1]?.split(' ')[1]));
    } catch {
      // It has ended.
    }
  }
  const isBelow = (pid: number | undefined): boolean =>
    pid !== undefined && pid > 1 && (pid === root || isBelow(parents.get(pid)));
  return [...parents.keys()]
    .filter((pid) => pid !== root && isBelow(pid))
    .reduce((sum, pid) => sum + privateBytes(pid), 0);
}

/** Runs `work` with searches beside it, one after the other. */
async function measured(client: SheafClient, work: () => Promise<unknown>): Promise<Measured> {
  const random = createPrng(2);
  const before = memoryOf(process.pid);
  let [peak, isOver] = [before, false];
  const latenciesMs: number[] = [];
  const sampler = setInterval(() => (peak = Math.max(peak, memoryOf(process.pid))), SAMPLE_MS);
  const searching = (async () => {
    while (!isOver) {
      const startedAtMs = performance.now();
      await client.search('load', 'docs', { v: vector(random), k: 10 });
      latenciesMs.push(performance.now() - startedAtMs);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  })();
  const startedAtMs = performance.now();
  await work();
  const seconds = (performance.now() - startedAtMs) / 1000;
  isOver = true;
  clearInterval(sampler);
  await searching;
  return { seconds, growthBytes: peak - before, latenciesMs };
}

const p99 = (values: number[]): string =>
  `${([...values].sort((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? 0).toFixed(1)} ms`;

await withFolder(async (folder) => {
  const server = await startServer(folder);
  const client = new SheafClient({ url: server.url });
  await fill(client);
  const file = join(folder, 'archive.zip');
  const idle = await measured(client, () => new Promise((resolve) => setTimeout(resolve, tiny ? 300 : 5000)));
  const out = await measured(client, async () =>
    pipeline(
      Readable.fromWeb((await client.archives.dumpCollection('load', 'docs')).bytes as never),
      createWriteStream(file),
    ),
  );
  const bytes = statSync(file).size;
  const verified = await measured(client, async () =>
    client.archives.restoreCollection('load', 'copy', await openAsBlob(file), { dryRun: true }),
  );
  const held = memoryOf(process.pid);
  const into = await measured(client, async () =>
    client.archives.restoreCollection('load', 'copy', await openAsBlob(file)),
  );
  const { memory } = await client.collectionDetail('load', 'copy');
  const own = Object.values(memory ?? {}).reduce((sum: number, part) => sum + Number(part), 0);
  const line = (name: string, { seconds, growthBytes, latenciesMs }: Measured, ownBytes = 0): string[] => [
    name,
    `${seconds.toFixed(1)} s`,
    `${(bytes / 1e6 / seconds).toFixed(0)} MB/s`,
    `${whole(Math.max(0, growthBytes - ownBytes) / 2 ** 20)} MiB`,
    p99(latenciesMs),
  ];
  printTable(`An archive of ${whole(rows)} chunks of ${DIM} dimensions, ${whole(bytes / 1e6)} MB`, [
    ['', 'time', 'rate', 'memory', 'p99 of searches beside it'],
    ['idle', '', '', '', p99(idle.latenciesMs)],
    line('out', out),
    line('verified (dry run)', verified),
    line(
      `in (beside ${whole(own / 2 ** 20)} MiB of the collection itself; before: ${whole(held / 2 ** 20)} MiB)`,
      into,
      own,
    ),
  ]);
  await server.stop();
});
