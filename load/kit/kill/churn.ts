// The traffic of the kill test: writers that put, replace and delete documents, and readers that look for half documents meanwhile.
// All of it ends when the server stops answering.
import type { Prng } from '../../../src/base/prng.js';
import type { SheafClient } from '../../../src/client/client.js';
import { SheafUnreachable } from '../../../src/client/errors.js';
import type { Ledger } from './ledger.js';
import { partsOf, revisionOfPart } from './revision.js';

export const KILL_TARGET = { tenant: 'load', collection: 'kill' };
const DELETE_SHARE = 0.05;

export interface Churn {
  client: SheafClient;
  ledger: Ledger;
  prng: Prng;
  seed: number;
  documents: number;
  writers: number;
  readers: number;
  /** Every sign of a half document. */
  violations: string[];
}

/** Resolves once the server has gone and every request has ended. */
export async function churn(options: Churn): Promise<void> {
  const lanes = Array.from({ length: options.writers }, (_, lane) => untilGone(() => writeOne(options, lane)));
  const readers = Array.from({ length: options.readers }, () => untilGone(() => readOne(options)));
  await Promise.all([...lanes, ...readers]);
}

async function untilGone(step: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      await step();
    } catch (error) {
      if (error instanceof SheafUnreachable) return;
      throw error;
    }
  }
}

/** Lane i writes the documents whose number is i modulo the number of lanes, so that no two writes of one document cross. */
async function writeOne({ client, ledger, prng, seed, documents, writers }: Churn, lane: number): Promise<void> {
  const docid = `d${lane + writers * prng.int(Math.floor(documents / writers))}`;
  const { tenant, collection } = KILL_TARGET;
  if (ledger.isPresent(docid) && prng.next() < DELETE_SHARE) {
    ledger.sendDelete(docid);
    await client.deleteDocument(tenant, collection, docid);
  } else {
    const revision = ledger.sendPut(docid);
    await client.ingestText(tenant, collection, { docid, text: partsOf(seed, docid, revision).join(''), metadata: { revision } });
  }
  ledger.acknowledge(docid);
}

/** Every search and every listing must show one revision of a document, whole. */
async function readOne({ client, prng, seed, documents, violations }: Churn): Promise<void> {
  const { tenant, collection } = KILL_TARGET;
  const docid = `d${prng.int(documents)}`;
  const { matches } = await client.search(tenant, collection, { q: `${docid} p${prng.int(8)}`, k: 50 });
  const seen = new Map<string, number>();
  for (const { id, text = '', meta } of matches) {
    const owner = id.slice(0, id.lastIndexOf('::'));
    const revision = revisionOfPart(text);
    if (meta['revision'] !== revision) violations.push(`a hit of ${id} has the text of revision ${revision} and the metadata of ${String(meta['revision'])}`);
    if (seen.has(owner) && seen.get(owner) !== revision) violations.push(`one search shows ${owner} in revisions ${seen.get(owner)} and ${revision}`);
    seen.set(owner, revision);
  }
  const { chunks } = await client.listChunks(tenant, collection, docid);
  const revision = chunks[0]?.meta['revision'];
  if (chunks.some(({ meta }) => meta['revision'] !== revision)) violations.push(`a listing of ${docid} mixes revisions`);
  if (chunks.length > 0 && chunks.length !== partsOf(seed, docid, Number(revision)).length) violations.push(`a listing of ${docid} has ${chunks.length} chunks`);
}
