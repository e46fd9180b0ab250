// The MCP tools that agents see, in the order in which they are listed: name, description, arguments, and the routes
// that each calls. Argument schemas and checks are generated from the types. Runs on the main thread.
import typia, { type tags } from 'typia';
import type { TenantList } from '../../api/tenants.js';
import type { CollectionList } from '../../api/collections.js';
import type { Ingested, StoredDocument } from '../../api/documents.js';
import { AppError } from '../../api/errors.js';
import { parseChunkId } from '../../api/ids.js';
import type { Schemas } from '../../api/route.js';
import { K_DEFAULT } from '../../api/limits.js';
import type { CollectionsSearchAnswer, SearchAnswer, SearchHit } from '../../api/search.js';
import { assert } from '../../base/assert.js';
import { fitting } from '../json-body.js';
import { shortened } from '../openapi/schemas.js';
import type { RouteCalls } from './route-calls.js';

// Arguments and answers of the tools. Agents read the schemas generated from these types, including their comments.

interface Place {
  /** Name of the collection. */
  collection: string;
  /** Required only if the key has access to several tenants. */
  tenant?: string;
}

interface SearchArguments extends Place {
  /** The question or keywords to search for. */
  query: string & tags.MinLength<1>;
  /** Maximum number of hits. Default: 5. */
  k?: number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<50>;
  /**
   * `vector` ranks by meaning, `hybrid` by meaning and keywords, `boost` by meaning with a bonus for keywords. Default:
   * the mode of the collection.
   */
  mode?: 'vector' | 'boost' | 'hybrid';
  /**
   * Returns only chunks whose metadata match. Maps a field to a value, to a list of accepted values, or to operators
   * such as {"$gte": 2020}.
   */
  filters?: Record<string, unknown>;
  /** Further collections to search. Their hits come in one list with those of `collection`. */
  also?: (string & tags.MinLength<1>)[] & tags.MaxItems<15>;
  /** Number of hits to skip, to see those after an earlier answer. */
  offset?: number & tags.Type<'uint32'> & tags.Maximum<1000>;
  /** `docid` or a metadata field: one hit of each document, or of each value of the field. */
  group_by?: string & tags.MinLength<1>;
  /** Number of neighbouring chunks to join to each hit, before and after it. */
  context?: number & tags.Type<'uint32'> & tags.Maximum<3>;
  /** Also finds words with a typing error. For modes boost and hybrid. */
  fuzzy?: boolean;
  /** Returns only hits that are at least this relevant, from 0 to 1. */
  min_relevance?: number & tags.Minimum<0> & tags.Maximum<1>;
}

interface ReadArguments extends Place {
  /** A chunk id from a search result, such as guide.md::chunk_3. */
  chunk_id: string & tags.MinLength<1>;
  /** Number of chunks to return before it. Default: 1. */
  before?: number & tags.Type<'uint32'> & tags.Maximum<10>;
  /** Number of chunks to return after it. Default: 1. */
  after?: number & tags.Type<'uint32'> & tags.Maximum<10>;
}

interface ListArguments {
  /** Required only if the key has access to several tenants. */
  tenant?: string;
}

interface IngestArguments extends Place {
  /** The text of the document. */
  text: string & tags.MinLength<1>;
  /** Document id. Default: the server generates one. */
  docid?: string;
  /** Fields by which searches can filter. */
  metadata?: Record<string, unknown>;
}

interface ToolAnswer {
  /** The answer as text for the model. */
  readonly text: string;
  /** The same answer as data. */
  readonly structured: Record<string, unknown>;
}

// The tool `read_chunk`: a chunk and its neighbours in document order.

const NEIGHBOURS_DEFAULT = 1;

/** A type alias, not an interface, because it is passed as the parameters of a route. */
type ChunkPlace = { tenant: string; collection: string };

/** Throws 404 `collection_not_found`, `document_not_found` or `chunk_not_found`. */
async function readChunk(
  calls: RouteCalls,
  { chunk_id: rid, collection, tenant, before = NEIGHBOURS_DEFAULT, after = NEIGHBOURS_DEFAULT }: ReadArguments,
): Promise<ToolAnswer> {
  const place = { tenant: calls.tenantOf(tenant), collection };
  const docid = parseChunkId(rid)?.docid;
  if (docid === undefined)
    throw new AppError(
      'chunk_not_found',
      'This is not a chunk id. Use one from a search result, such as guide.md::chunk_3.',
    );
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

async function documentOf(calls: RouteCalls, place: ChunkPlace, docid: string): Promise<StoredDocument> {
  try {
    return await calls.json<StoredDocument>('getDocument', { params: { ...place, docid } });
  } catch (error) {
    if (error instanceof AppError && error.code === 'document_not_found')
      await calls.checkExists(place.tenant, place.collection);
    throw error;
  }
}

async function contentOf(calls: RouteCalls, place: ChunkPlace, rid: string): Promise<string | null> {
  try {
    return await calls.text('getChunkContent', { params: { ...place, rid } });
  } catch (error) {
    if (error instanceof AppError && error.code === 'chunk_content_not_found') return null;
    throw error;
  }
}

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: { type: 'object'; [field: string]: unknown };
  /** Whether the tool changes data. */
  readonly writes: boolean;
  /** Operations that the tool calls. A key that may not call all of them does not see the tool. */
  readonly operations: readonly string[];
  call(calls: RouteCalls, input: Record<string, unknown>): Promise<ToolAnswer>;
}

const SCHEMAS = typia.json.schemas<[SearchArguments, ReadArguments, ListArguments, IngestArguments], '3.1'>().components
  .schemas as Schemas;
const checkSearch = typia.createValidateEquals<SearchArguments>();
const checkRead = typia.createValidateEquals<ReadArguments>();
const checkList = typia.createValidateEquals<ListArguments>();
const checkIngest = typia.createValidateEquals<IngestArguments>();

const COLLECTIONS_MAX = 1000;

export const TOOLS: readonly Tool[] = [
  {
    name: 'search',
    title: 'Search a collection',
    description:
      'Finds the chunks of a collection that match a question best, by meaning and by keywords. Returns each with its chunk id, score, text and metadata, best first.',
    inputSchema: schemaOf('SearchArguments'),
    writes: false,
    operations: ['search'],
    call: async (calls, input) => searched(calls, fitting(checkSearch(input), 'body')),
  },
  {
    name: 'read_chunk',
    title: 'Read a chunk and its neighbours',
    description:
      'Reads the text of a chunk from a search result, and of the chunks before and after it in its document.',
    inputSchema: schemaOf('ReadArguments'),
    writes: false,
    operations: ['getDocument', 'getChunkContent'],
    call: async (calls, input) => readChunk(calls, fitting(checkRead(input), 'body')),
  },
  {
    name: 'list_collections',
    title: 'List collections',
    description: 'Lists the collections that can be searched.',
    inputSchema: schemaOf('ListArguments'),
    writes: false,
    operations: ['listCollections'],
    call: async (calls, input) => listed(calls, fitting(checkList(input), 'body')),
  },
  {
    name: 'list_tenants',
    title: 'List tenants',
    description: 'Lists the tenants that there are, for the admin key, which names one of them in other tools.',
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    writes: false,
    operations: ['listTenants'],
    call: async (calls) => tenantsListed(calls),
  },
  {
    name: 'ingest',
    title: 'Store a document',
    description:
      'Stores a text as a document of a collection, where searches find it at once. An existing document with the same docid is replaced as a whole; a missing collection is created.',
    inputSchema: schemaOf('IngestArguments'),
    writes: true,
    operations: ['ingestDocument'],
    call: async (calls, input) => ingested(calls, fitting(checkIngest(input), 'body')),
  },
];

/** The schema of a tool's arguments with all references inlined, because agents get it without its components. */
function schemaOf(name: string): Tool['inputSchema'] {
  const schema = SCHEMAS[name];
  assert(schema !== undefined, `there is no schema ${name}`);
  return { ...shortened(schema, SCHEMAS), type: 'object', additionalProperties: false };
}

async function searched(
  calls: RouteCalls,
  { query, tenant: named, collection, k = K_DEFAULT, also = [], ...fields }: SearchArguments,
): Promise<ToolAnswer> {
  const tenant = calls.tenantOf(named);
  const body = { ...fields, q: query, k };
  const { matches } =
    also.length === 0
      ? await calls.json<SearchAnswer>('search', { params: { tenant, name: collection }, body })
      : await calls.json<CollectionsSearchAnswer>('searchCollections', {
          params: { tenant },
          body: { ...body, collections: [collection, ...also] },
        });
  if (matches.length === 0) await calls.checkExists(tenant, collection);
  const text = matches.length === 0 ? 'No hits.' : matches.map(hitText).join('\n\n');
  return {
    text,
    structured: {
      matches: matches.map(({ id, collection: place, score, text: found, context, meta }) => ({
        chunk_id: id,
        ...(also.length > 0 && { collection: place }),
        score,
        text: context?.text ?? found,
        metadata: meta,
      })),
    },
  };
}

const hitText = ({ id, score, text, context, meta }: SearchHit, i: number): string =>
  `${i + 1}. [${id}] score ${score.toFixed(3)}, metadata ${JSON.stringify(meta)}\n${context?.text ?? text ?? '(a vector without text)'}`;

async function listed(calls: RouteCalls, { tenant }: ListArguments): Promise<ToolAnswer> {
  const params = { tenant: calls.tenantOf(tenant) };
  const { collections, next_cursor: more } = await calls.json<CollectionList>('listCollections', {
    params,
    query: { limit: String(COLLECTIONS_MAX) },
  });
  const lines = collections.map(({ name, display_name: label }) =>
    label === undefined || label === name ? name : `${name}: ${label}`,
  );
  const text =
    lines.length === 0
      ? 'There are no collections.'
      : [...lines, ...(more === undefined ? [] : ['… and more'])].join('\n');
  return {
    text,
    structured: {
      tenant: params.tenant,
      collections: collections.map(({ name, display_name }) => ({ name, display_name })),
    },
  };
}

async function tenantsListed(calls: RouteCalls): Promise<ToolAnswer> {
  const { tenants: names } = await calls.json<TenantList>('listTenants', { params: {} });
  return { text: names.length === 0 ? 'There are no tenants.' : names.join('\n'), structured: { tenants: names } };
}

async function ingested(calls: RouteCalls, { tenant, collection, ...body }: IngestArguments): Promise<ToolAnswer> {
  const params = { tenant: calls.tenantOf(tenant), collection };
  const { docid, chunks } = await calls.json<Ingested>('ingestDocument', { params, body });
  return {
    text: `Stored ${docid} in ${collection}: ${chunks} chunk${chunks === 1 ? '' : 's'}.`,
    structured: { collection, docid, chunks },
  };
}
