// The tool read_chunk: a chunk with its neighbours, in the order of the document.
// Called by tools.ts; front thread.
import type { StoredDocument } from '../../contract/api/documents.js';
import { AppError } from '../../contract/errors.js';
import { parseChunkId } from '../../contract/ids.js';
import type { RouteCalls } from './route-calls.js';
import type { ReadArguments, ToolAnswer } from './tool-arguments.js';

const NEIGHBOURS_DEFAULT = 1;

/** A type, not an interface: it is the parameters of a route. */
type Place = { tenant: string; collection: string };

/** Throws 404 `collection_not_found`, `document_not_found` or `chunk_not_found`. */
export async function readChunk(
  calls: RouteCalls,
  { chunk_id: rid, collection, tenant, before = NEIGHBOURS_DEFAULT, after = NEIGHBOURS_DEFAULT }: ReadArguments,
): Promise<ToolAnswer> {
  const place = { tenant: calls.tenantOf(tenant), collection };
  const docid = parseChunkId(rid)?.docid;
  if (docid === undefined)
    throw new AppError('chunk_not_found', 'That is no chunk id: one is like guide.md::chunk_3, as search gives it.');
  const { chunk_ids: ids, metadata } = await documentOf(calls, place, docid);
  const at = ids.indexOf(rid);
  if (at < 0) throw new AppError('chunk_not_found');
  const wanted = ids.slice(Math.max(0, at - before), at + after + 1);
  const chunks = await Promise.all(
    wanted.map(async (id) => ({ chunk_id: id, text: await contentOf(calls, place, id) })),
  );
  const head = `${docid}, chunk ${at + 1} of ${ids.length}, metadata ${JSON.stringify(metadata)}`;
  const texts = chunks.map(
    ({ chunk_id: id, text }) => `[${id}]${id === rid ? ' (asked for)' : ''}\n${text ?? '(a vector without text)'}`,
  );
  return {
    text: [head, ...texts].join('\n\n'),
    structured: { docid, position: at, chunk_count: ids.length, metadata, chunks },
  };
}

async function documentOf(calls: RouteCalls, place: Place, docid: string): Promise<StoredDocument> {
  try {
    return await calls.json<StoredDocument>('getDocument', { params: { ...place, docid } });
  } catch (error) {
    if (error instanceof AppError && error.code === 'document_not_found')
      await calls.checkExists(place.tenant, place.collection);
    throw error;
  }
}

async function contentOf(calls: RouteCalls, place: Place, rid: string): Promise<string | null> {
  try {
    return await calls.text('getChunkContent', { params: { ...place, rid } });
  } catch (error) {
    if (error instanceof AppError && error.code === 'chunk_content_not_found') return null;
    throw error;
  }
}
