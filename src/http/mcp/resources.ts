// What agents can read by address, and the prompts that they can be given: `sheaf://TENANT/COLLECTION` is a collection,
// `sheaf://TENANT/COLLECTION/DOCID` the text of a document. Runs on the main thread.
import type { CollectionDetail, CollectionList } from '../../api/collections.js';
import type { DocumentList, StoredDocument } from '../../api/documents.js';
import { AppError } from '../../api/errors.js';
import type { RouteCalls } from './route-calls.js';

const SCHEME = 'sheaf://';
const COLLECTIONS_MAX = 1000;
/** Documents that the text of a collection names. */
const NAMED_MAX = 100;
/** Chunks of a document that are read. */
const CHUNKS_MAX = 200;

export const RESOURCE_TEMPLATES = [
  {
    uriTemplate: `${SCHEME}{tenant}/{collection}/{docid}`,
    name: 'document',
    title: 'Document',
    description: 'The text of a document, chunk by chunk.',
    mimeType: 'text/plain',
  },
] as const;

interface Resource {
  readonly uri: string;
  readonly name: string;
  readonly title: string;
  readonly mimeType: string;
}

export interface ResourceText {
  readonly uri: string;
  readonly mimeType: string;
  readonly text: string;
}

/** The collections of the key's tenant; none for a key with several tenants or without the right to list them. */
export async function listResources(calls: RouteCalls): Promise<Resource[]> {
  if (!calls.mayCall(['listCollections'])) return [];
  const tenant = calls.onlyTenant();
  if (tenant === undefined) return [];
  const { collections } = await calls.json<CollectionList>('listCollections', {
    params: { tenant },
    query: { limit: String(COLLECTIONS_MAX) },
  });
  return collections.map(({ name, display_name: title = name }) => ({
    uri: `${SCHEME}${[tenant, name].map(encodeURIComponent).join('/')}`,
    name,
    title,
    mimeType: 'application/json',
  }));
}

/** Throws AppError as the routes do, and 404 `not_found` for an address that is none of these. */
export async function readResource(calls: RouteCalls, uri: string): Promise<ResourceText> {
  const [tenant, collection, docid, ...rest] = partsOf(uri);
  if (!tenant || !collection || rest.length > 0)
    throw new AppError('not_found', `There is no resource ${JSON.stringify(uri)}.`);
  if (docid !== undefined) return { uri, mimeType: 'text/plain', text: await textOf(calls, tenant, collection, docid) };
  const detail = await calls.json<CollectionDetail>('getCollection', { params: { tenant, name: collection } });
  const { documents } = await calls.json<DocumentList>('listDocuments', {
    params: { tenant, collection },
    query: { limit: String(NAMED_MAX) },
  });
  const { embedder_type, embed_model, language, doc_count, chunk_count } = detail;
  const about = { name: collection, embedder_type, embed_model, language, doc_count, chunk_count };
  const text = JSON.stringify({ ...about, documents: documents.map((each) => each.docid) }, null, 2);
  return { uri, mimeType: 'application/json', text };
}

function partsOf(uri: string): string[] {
  if (!uri.startsWith(SCHEME)) return [];
  try {
    return uri.slice(SCHEME.length).split('/').map(decodeURIComponent);
  } catch {
    return [];
  }
}

/** The texts of the chunks of a document. Throws AppError as the routes do. */
async function textOf(calls: RouteCalls, tenant: string, collection: string, docid: string): Promise<string> {
  const place = { tenant, collection };
  const { chunk_ids: ids } = await calls.json<StoredDocument>('getDocument', { params: { ...place, docid } });
  const texts: string[] = [];
  for (const rid of ids.slice(0, CHUNKS_MAX))
    texts.push(await calls.text('getChunkContent', { params: { ...place, rid } }).catch(withoutText));
  if (ids.length > CHUNKS_MAX) texts.push(`… and ${ids.length - CHUNKS_MAX} more chunks: read_chunk reads them.`);
  return texts.join('\n\n');
}

function withoutText(error: unknown): string {
  if (error instanceof AppError && error.code === 'chunk_content_not_found') return '(a vector without text)';
  throw error;
}

interface PromptArgument {
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
}

export interface Prompt {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly arguments: readonly PromptArgument[];
  text(given: Readonly<Record<string, string>>): string;
}

const COLLECTION = { name: 'collection', description: 'The collection to search.', required: true };

export const PROMPTS: readonly Prompt[] = [
  {
    name: 'answer',
    title: 'Answer from a collection',
    description: 'Answers a question by what a collection has, with its sources.',
    arguments: [{ name: 'question', description: 'The question.', required: true }, COLLECTION],
    text: ({ question, collection }) =>
      `Answer this question by what the collection ${collection} has, and by nothing else: ${question}

Call search, with other words as well if the first hits do not answer it, and read_chunk where the text around a hit matters. Cite the docid of what each statement rests on. If the collection does not answer the question, say so.`,
  },
  {
    name: 'compare',
    title: 'Compare what documents say',
    description: 'Finds what the documents of a collection say of a subject, and where they differ.',
    arguments: [{ name: 'subject', description: 'The subject.', required: true }, COLLECTION],
    text: ({ subject, collection }) =>
      `What do the documents of the collection ${collection} say of ${subject}, and where do they contradict each other?

Call search with group_by docid, so that each document is heard. Make a table with a row for each document: its docid, what it says, and since when it does if its metadata tell.`,
  },
];
