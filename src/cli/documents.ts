// `sheaf docs`: documents of a collection and their chunks.
// Called by document-commands.ts.
import { SheafError } from '../client/errors.js';
import { encodePath } from '../client/url.js';
import { EXIT } from './command-line.js';
import { tellMissing } from './missing-collection.js';
import { count, line, oneLine, ownFields, type Output } from './output.js';
import type { Target } from './target.js';

/** A line each as they come: a collection may have millions. */
export async function listDocuments(
  target: Target,
  { limit, json }: { limit: number; json: boolean },
  output: Output,
): Promise<void> {
  const { client, tenant, collection } = target;
  const { stdout, stderr } = output;
  let listed = 0;
  for await (const document of client.eachDocument(tenant, collection)) {
    const { docid, version, chunk_count: chunks, ingested_at: at } = document;
    line(
      stdout,
      json ? JSON.stringify(document) : `${at}  v${version}  ${String(chunks).padStart(6)}  ${oneLine(docid)}`,
    );
    if (++listed >= limit || stdout.isClosed) break;
  }
  if (listed > 0) return;
  line(stderr, `${tenant}/${collection} has no documents.`);
  await tellMissing(target, output);
}

export async function showDocument(
  { client, tenant, collection }: Target,
  docid: string,
  { stdout }: Output,
): Promise<void> {
  const document = ownFields(await client.getDocument(tenant, collection, docid));
  line(stdout, JSON.stringify(document, null, 2));
}

/** Throws SheafNotFound where there is no document. */
export async function showChunks(target: Target, docid: string, json: boolean, { stdout }: Output): Promise<void> {
  const { client, tenant, collection } = target;
  await client.getDocument(tenant, collection, docid);
  for await (const chunk of client.eachChunk(tenant, collection, docid)) {
    const text = await contentOf(target, chunk.rid);
    line(
      stdout,
      json
        ? JSON.stringify({ ...chunk, text })
        : `${chunk.chunk_path}  ${text === undefined ? '(a vector without text)' : oneLine(text)}`,
    );
    if (stdout.isClosed) break;
  }
}

async function contentOf({ client, tenant, collection }: Target, rid: string): Promise<string | undefined> {
  try {
    return await client.chunkContent(tenant, collection, rid);
  } catch (error) {
    if (error instanceof SheafError && error.code === 'chunk_content_not_found') return undefined;
    throw error;
  }
}

/** Exit code: 1 where one was not there. */
export async function deleteDocuments(
  { client, tenant, collection }: Target,
  docids: readonly string[],
  { stdout, stderr }: Output,
): Promise<number> {
  // Before the first of them goes.
  encodePath(docids);
  let missing = 0;
  for (const docid of docids) {
    const { chunks_deleted: chunks } = await client.deleteDocument(tenant, collection, docid);
    if (chunks === 0) missing += 1;
    line(
      chunks === 0 ? stderr : stdout,
      chunks === 0
        ? `${oneLine(docid)} is not there.`
        : `${oneLine(docid)} is deleted, with ${count(chunks, 'chunk')}.`,
    );
  }
  return missing > 0 ? EXIT.failed : EXIT.done;
}
