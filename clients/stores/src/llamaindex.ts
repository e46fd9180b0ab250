// A vector store and an embedding for LlamaIndex. The server embeds and indexes the texts of the nodes, so queries go to
// it as texts where LlamaIndex passes them on.
import { BaseEmbedding } from '@llamaindex/core/embeddings';
import { type BaseNode, MetadataMode, TextNode } from '@llamaindex/core/schema';
import {
  BaseVectorStore,
  type MetadataFilter,
  type MetadataFilters,
  type VectorStoreQuery,
  VectorStoreQueryMode,
  type VectorStoreQueryResult,
  metadataDictToNode,
  nodeToMetadata,
} from '@llamaindex/core/vector-store';
import type { SearchHit, SearchRequest, SheafClient } from 'sheaf-client';
import { type CollectionOptions, type Filters, StoredCollection } from './documents.js';

export type { CollectionOptions, Filters } from './documents.js';

/** The vectors of an embedder of the server. */
export class SheafEmbedding extends BaseEmbedding {
  private readonly collection: StoredCollection;

  constructor(
    client: SheafClient,
    private readonly model = 'builtin',
  ) {
    super();
    this.collection = new StoredCollection({ client, collection: '' });
  }

  override getTextEmbedding = async (text: string): Promise<number[]> => {
    const [vector] = await this.getTextEmbeddings([text]);
    return vector as number[];
  };

  override getTextEmbeddings = async (texts: string[]): Promise<number[][]> => this.collection.embed(texts, this.model);
}

const MODES: Partial<Record<VectorStoreQueryMode, NonNullable<SearchRequest['mode']>>> = {
  [VectorStoreQueryMode.DEFAULT]: 'vector',
  [VectorStoreQueryMode.MMR]: 'vector',
  [VectorStoreQueryMode.HYBRID]: 'hybrid',
};

/**
 * A collection as a vector store. A node is a document with the id of the node; nodes longer than the chunks of the
 * collection are cut. The field `ref_doc_id` of the metadata names the document that a node comes from.
 */
export class SheafVectorStore extends BaseVectorStore<SheafClient> {
  storesText = true;
  override isEmbeddingQuery = false;
  private readonly collection: StoredCollection;

  constructor(private readonly options: CollectionOptions) {
    super({ embeddingModel: new SheafEmbedding(options.client) });
    this.collection = new StoredCollection(options);
  }

  override client(): SheafClient {
    return this.options.client;
  }

  /** Returns the ids of the nodes. Throws Error for a node that the server refuses. */
  override async add(nodes: BaseNode[]): Promise<string[]> {
    await this.collection.add(
      nodes.map((node) => ({
        docid: node.id_,
        text: node.getContent(MetadataMode.NONE),
        metadata: { ...nodeToMetadata(node, true, 'text'), ref_doc_id: node.sourceNode?.nodeId ?? 'None' },
      })),
    );
    return nodes.map(({ id_: id }) => id);
  }

  /** Deletes the nodes of a document. */
  override async delete(refDocId: string): Promise<void> {
    await this.collection.delete({ filters: { ref_doc_id: refDocId } });
  }

  /** Deletes all nodes. */
  async clear(): Promise<void> {
    await this.collection.delete({ filters: {}, all: true });
  }

  /** The nodes that match filters, in the order of their ids. */
  async getNodes(filters?: MetadataFilters): Promise<BaseNode[]> {
    return (await this.collection.chunks(filtersOf(filters) ?? { docid: { $exists: true } })).map(nodeOf);
  }

  override async query(query: VectorStoreQuery): Promise<VectorStoreQueryResult> {
    const hits = await this.collection.search(searchOf(query));
    return {
      nodes: hits.map(nodeOf),
      similarities: hits.map(({ score }) => score),
      ids: hits.map((hit) => docidOf(hit)),
    };
  }
}

function searchOf(query: VectorStoreQuery): SearchRequest {
  const { queryStr, queryEmbedding, similarityTopK: k, docIds, mode, mmrThreshold = 0.5 } = query;
  const own = MODES[mode];
  if (own === undefined) throw new Error(`Sheaf has no search for the mode ${mode}`);
  const wanted = [filtersOf(query.filters), docIds?.length && { ref_doc_id: { $in: docIds } }].filter(Boolean);
  return {
    ...(queryStr === undefined ? { v: queryEmbedding ?? [] } : { q: queryStr }),
    k,
    mode: own,
    ...(wanted.length > 0 && { filters: { $and: wanted } }),
    ...(mode === VectorStoreQueryMode.MMR && {
      diversity: { lambda: mmrThreshold, candidates: Math.max(20, 4 * k) },
    }),
  };
}

const OPERATORS: Readonly<Record<string, string>> = {
  '==': '$eq',
  '!=': '$ne',
  '>': '$gt',
  '>=': '$gte',
  '<': '$lt',
  '<=': '$lte',
  in: '$in',
  nin: '$nin',
  any: '$in',
  contains: '$eq',
};

/** Filters of LlamaIndex as the server takes them. Throws Error for operators that it does not have. */
export function filtersOf(filters: MetadataFilters | undefined): Filters | undefined {
  if (!filters || filters.filters.length === 0) return undefined;
  return { [filters.condition === 'or' ? '$or' : '$and']: filters.filters.map(conditionOf) };
}

function conditionOf({ key, operator, value }: MetadataFilter): Filters {
  if (operator === 'is_empty') return { $or: [{ [key]: { $exists: false } }, { [key]: null }] };
  if (operator === 'all') return { $and: [value].flat().map((each) => ({ [key]: { $eq: each } })) };
  const own = OPERATORS[operator];
  if (own === undefined) throw new Error(`Sheaf has no filter for the operator ${operator}`);
  return { [key]: { [own]: value } };
}

const docidOf = ({ meta }: SearchHit): string => (meta as { docid: string }).docid;

/** Without what the server adds to the metadata of the node. */
const withoutOwn = ({ docid: _docid, ingested_at: _at, offset: _offset, ...own }: Filters): Filters => own;

function nodeOf(hit: SearchHit): BaseNode {
  const { text = '', meta } = hit;
  if (!('_node_content' in meta)) return new TextNode({ id_: docidOf(hit), text, metadata: meta });
  const node = metadataDictToNode(withoutOwn(meta)) as TextNode;
  node.text = text;
  return node;
}
