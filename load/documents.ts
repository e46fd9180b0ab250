// Changes of stored documents over HTTP, each durable when it is acknowledged: changes of metadata one
// by one and by filter, and deletion by filter.
import { SheafClient } from '../src/client/client.js';
import { type CannonRequest, type ClosedLoopResult, closedLoop, jsonPost } from './kit/closed-loop.js';
import { type LoadOptions, printTable, seconds, whole } from './kit/command.js';
import { createVectorCollection, ingestVectors, untilServerIdle, vectorItems } from './kit/fill.js';
import { cpuSeconds } from './kit/server-usage.js';
import { withServer } from './kit/server.js';

const TENANT = 'load';
const NAME = 'changes';
const CONNECTIONS = 128;
/** Documents that are patched one by one, again and again. */
const PATCHED_MAX = 1000;

/** Documents with a 384-dimensional vector each: a share patched one by one, all patched by a filter, then deleted. */
export async function changes({ tiny, url: given, number }: LoadOptions): Promise<void> {
  const patchSeconds = number('seconds', tiny ? 1 : 8);
  const { source, items } = vectorItems(number('vectors', tiny ? 200 : 50_000));
  await withServer(given, async (url) => {
    const client = new SheafClient({ url, timeoutMs: 600_000 });
    await createVectorCollection(client, TENANT, NAME);
    await ingestVectors(url, TENANT, NAME, items, 500);
    await untilServerIdle(url, 500, { withinMs: 120_000 });
    const rows: string[][] = [['change', 'documents', 'time', 'documents/s', 'CPU a document']];
    const measure = async (name: string, change: () => Promise<number | ClosedLoopResult>): Promise<void> => {
      const [startedAtMs, cpuBefore] = [performance.now(), await cpuSeconds(url)];
      const changed = await change();
      const cpu = (await cpuSeconds(url)) - cpuBefore;
      const documents = typeof changed === 'number' ? changed : changed.requests;
      // A closed loop takes time to start that is none of the server's.
      const tookMs =
        typeof changed === 'number' ? performance.now() - startedAtMs : (1000 * documents) / changed.requestsPerSecond;
      const each = `${whole((1e6 * cpu) / documents)} µs`;
      rows.push([name, whole(documents), seconds(tookMs), whole((documents * 1000) / tookMs), each]);
    };
    const requests = items.slice(0, PATCHED_MAX).map(
      (_, i): CannonRequest => ({
        ...jsonPost(`/v1/collections/${TENANT}/${NAME}/documents/V${i}`, { metadata: { seen: i } }),
        method: 'PATCH',
      }),
    );
    await measure(`patch, ${CONNECTIONS} connections`, () =>
      closedLoop({ url, connections: CONNECTIONS, seconds: patchSeconds, requests }),
    );
    const some = { docid: { $exists: true } };
    await measure(
      'patch by filter',
      async () => (await client.patchDocuments(TENANT, NAME, { filters: some, metadata: { seen: true } })).documents,
    );
    for (const dry_run of [true, false])
      await measure(
        `delete by filter${dry_run ? ', dry run' : ''}`,
        async () => (await client.deleteDocuments(TENANT, NAME, { filters: some, dry_run })).documents,
      );
    printTable(`Changes of documents (${source})`, rows);
  });
}
