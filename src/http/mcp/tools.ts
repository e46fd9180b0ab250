// The tools that agents see, in the order in which they are told: name, words for the model, arguments, and what each
// calls. Schemas and checks of the arguments come from the types. Used by protocol.ts; front thread.
import typia from 'typia';
import { assert } from '../../base/assert.js';
import type { CollectionList } from '../../contract/api/collections.js';
import type { Ingested } from '../../contract/api/documents.js';
import type { SearchAnswer, SearchHit } from '../../contract/api/search.js';
import { shortened, type Schemas } from '../openapi/schema.js';
import { fitting } from '../validation.js';
import { readChunk } from './read-chunk.js';
import type { RouteCalls } from './route-calls.js';
import type { IngestArguments, ListArguments, ReadArguments, SearchArguments, ToolAnswer } from './tool-arguments.js';

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: { type: 'object'; [field: string]: unknown };
  /** Whether it changes anything. */
  readonly writes: boolean;
  /** Operations of the route table that it calls: a key that may not call one does not see the tool. */
  readonly operations: readonly string[];
  call(calls: RouteCalls, input: Record<string, unknown>): Promise<ToolAnswer>;
}

const SCHEMAS = typia.json.schemas<[SearchArguments, ReadArguments, ListArguments, IngestArguments], '3.1'>().components
  .schemas as Schemas;
const checkSearch = typia.createValidateEquals<SearchArguments>();
const checkRead = typia.createValidateEquals<ReadArguments>();
const checkList = typia.createValidateEquals<ListArguments>();
const checkIngest = typia.createValidateEquals<IngestArguments>();

const K_DEFAULT = 5;
const COLLECTIONS_MAX = 1000;

export const TOOLS: readonly Tool[] = [
  {
    name: 'search',
    title: 'Search a collection',
    description:
      'Finds the chunks of a collection that fit a question best, by meaning and by words. Returns each with its chunk id, score, text and metadata, best first.',
    inputSchema: schemaOf('SearchArguments'),
    writes: false,
    operations: ['search'],
    call: async (calls, input) => searched(calls, fitting(checkSearch(input), 'body')),
  },
  {
    name: 'read_chunk',
    title: 'Read a chunk and its neighbours',
    description:
      'Reads the text of a chunk that a search has found, and of the chunks before and after it in its document.',
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
    name: 'ingest',
    title: 'Store a document',
    description:
      'Stores a text as a document of a collection, where searches find it at once. A docid that is there already is replaced as a whole; a collection that does not exist is made.',
    inputSchema: schemaOf('IngestArguments'),
    writes: true,
    operations: ['ingestDocument'],
    call: async (calls, input) => ingested(calls, fitting(checkIngest(input), 'body')),
  },
];

/** Agents get the schema by itself: a reference in it would lead nowhere. */
function schemaOf(name: string): Tool['inputSchema'] {
  const schema = SCHEMAS[name];
  assert(schema !== undefined, `there is no schema ${name}`);
  return { ...shortened(schema, SCHEMAS), type: 'object', additionalProperties: false };
}

async function searched(
  calls: RouteCalls,
  { query, tenant, collection, k = K_DEFAULT, mode, filters }: SearchArguments,
): Promise<ToolAnswer> {
  const params = { tenant: calls.tenantOf(tenant), name: collection };
  const { matches } = await calls.json<SearchAnswer>('search', { params, body: { q: query, k, mode, filters } });
  if (matches.length === 0) await calls.checkExists(params.tenant, collection);
  const text = matches.length === 0 ? 'No hits.' : matches.map(hitText).join('\n\n');
  return {
    text,
    structured: {
      matches: matches.map(({ id, score, text: found, meta }) => ({
        chunk_id: id,
        score,
        text: found,
        metadata: meta,
      })),
    },
  };
}

const hitText = ({ id, score, text = '(a vector without text)', meta }: SearchHit, i: number): string =>
  `${i + 1}. [${id}] score ${score.toFixed(3)}, metadata ${JSON.stringify(meta)}\n${text}`;

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

async function ingested(calls: RouteCalls, { tenant, collection, ...body }: IngestArguments): Promise<ToolAnswer> {
  const params = { tenant: calls.tenantOf(tenant), collection };
  const { docid, chunks } = await calls.json<Ingested>('ingestDocument', { params, body });
  return {
    text: `Stored ${docid} in ${collection}: ${chunks} chunk${chunks === 1 ? '' : 's'}.`,
    structured: { collection, docid, chunks },
  };
}
