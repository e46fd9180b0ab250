// Changes of stored documents over HTTP, each durable when it is acknowledged: deletion by filter.
import { SheafClient } from '../src/client/client.js';
import { type LoadOptions, printTable, seconds, whole } from './kit/command.js';
import { createVectorCollection, ingestVectors, untilServerIdle, vectorItems } from './kit/fill.js';
import { cpuSeconds } from './kit/server-usage.js';
import { withServer } from './kit/server.js';

const TENANT = 'load';
const NAME = 'changes';

/** Documents with a 384-dimensional vector each: deleted by a filter. */
export async function changes({ tiny, url: given, number }: LoadOptions): Promise<void> {
  const { source, items } = vectorItems(number('vectors', tiny ? 200 : 50_000));
  await withServer(given, async (url) => {
    const client = new SheafClient({ url, timeoutMs: 600_000 });
    await createVectorCollection(client, TENANT, NAME);
    await ingestVectors(url, TENANT, NAME, items, 500);
    await untilServerIdle(url, 500, { withinMs: 120_000 });
    const rows: string[][] = [['change', 'documents', 'time', 'documents/s', 'CPU a document']];
    const measure = async (name: string, change: () => Promise<number>): Promise<void> => {
      const [startedAtMs, cpuBefore] = [performance.now(), await cpuSeconds(url)];
      const documents = await change();
      const [tookMs, cpu] = [performance.now() - startedAtMs, (await cpuSeconds(url)) - cpuBefore];
      const each = `${whole((1e6 * cpu) / documents)} µs`;
      rows.push([name, whole(documents), seconds(tookMs), whole((documents * 1000) / tookMs), each]);
    };
    const some = { docid: { $exists: true } };
    for (const dry_run of [true, false])
      await measure(
        `delete by filter${dry_run ? ', dry run' : ''}`,
        async () => (await client.deleteDocuments(TENANT, NAME, { filters: some, dry_run })).documents,
      );
    printTable(`Changes of documents (${source})`, rows);
  });
}
