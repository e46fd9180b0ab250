// What a server can be kept at in the background, once: an archive of a collection, and a reindex job that makes its
// graph anew. Used by the load programs that measure searches beside it.
import { setTimeout as sleep } from 'node:timers/promises';
import type { SheafClient } from '../../src/client/client.js';

const RECHECK_MS = 50;

/** The bytes are read, and dropped. */
export async function archiveOnce(client: SheafClient, tenant: string, name: string): Promise<void> {
  const { bytes } = await client.archives.dumpCollection(tenant, name);
  for await (const _ of bytes as unknown as AsyncIterable<Uint8Array>);
}

/** The vectors are copied, and a new graph is made of them. Throws where the job fails. */
export async function reindexOnce(client: SheafClient, tenant: string, name: string): Promise<void> {
  const { job_id: id } = await client.reindex.start(tenant, name, { compact: true });
  for (let status: string = ''; status !== 'succeeded'; await sleep(RECHECK_MS)) {
    ({ status } = await client.reindex.get(tenant, name, id));
    if (status === 'failed' || status === 'cancelled') throw new Error(`a reindex job has ${status}`);
  }
}
