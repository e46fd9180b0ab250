// A vector store and embeddings for LangChain. The server cuts, embeds and indexes the texts, so the store needs no
// embedding of its own.
import { Document, type DocumentInterface } from '@langchain/core/documents';
import { Embeddings } from '@langchain/core/embeddings';
import { type MaxMarginalRelevanceSearchOptions, VectorStore } from '@langchain/core/vectorstores';
import type { SearchHit, SearchRequest, SheafClient } from 'sheaf-client';
import { type CollectionOptions, type Filters, StoredCollection } from './documents.js';

export type { CollectionOptions, Filters } from './documents.js';

/** Fields of a hit that the server adds to the metadata of its document. */
const OWN_FIELDS = new Set(['docid', 'ingested_at']);

/** The vectors of an embedder of the server. */
export class SheafEmbeddings extends Embeddings {
  private readonly collection: StoredCollection;

  constructor(
    client: SheafClient,
    private readonly model = 'builtin',
  ) {
    super({});
    this.collection = new StoredCollection({ client, collection: '' });
  }

  async embedDocuments(texts: string[]): Promise<number[][]> {
    return this.collection.embed(texts, this.model);
  }

  async embedQuery(text: string): Promise<number[]> {
    const [vector] = await this.embedDocuments([text]);
    return vector as number[];
  }
}

export interface SheafVectorStoreOptions extends CollectionOptions {
  /** What every search takes besides, such as `{ mode: 'hybrid' }` or `rerank`. */
  readonly search?: Omit<SearchRequest, 'q' | 'v' | 'k' | 'filters'>;
}

/** Which documents `delete` deletes: by their ids, or by filters. */
export type DeleteOptions = { ids: string[] } | { filter: Filters };

/**
 * A collection as a vector store. The id of a document of LangChain is the document id, so adding one again replaces it. A
 * text that is longer than the chunks of the collection is cut, and its chunks are found by themselves, all with the id
 * of the document. Filters are those of the server.
 */
export class SheafVectorStore extends VectorStore {
  declare FilterType: Filters;
  private readonly collection: StoredCollection;
  private readonly options: SheafVectorStoreOptions;

  constructor(options: SheafVectorStoreOptions) {
    super(new SheafEmbeddings(options.client), {});
    this.options = options;
    this.collection = new StoredCollection(options);
  }

  /** Adds texts to a collection, which is created if it does not exist. */
  static async ofTexts(
    texts: string[],
    metadatas: Record<string, unknown>[],
    options: SheafVectorStoreOptions,
  ): Promise<SheafVectorStore> {
    const documents = texts.map((pageContent, i) => new Document({ pageContent, metadata: metadatas[i] ?? {} }));
    return SheafVectorStore.ofDocuments(documents, options);
  }

  /** The same for documents. */
  static async ofDocuments(
    documents: DocumentInterface[],
    options: SheafVectorStoreOptions,
  ): Promise<SheafVectorStore> {
    const store = new SheafVectorStore(options);
    await store.addDocuments(documents);
    return store;
  }

  _vectorstoreType(): string {
    return 'sheaf';
  }

  /** Returns the ids, in the order of the documents. Throws Error for a document that the server refuses. */
  override async addDocuments(documents: DocumentInterface[], options?: { ids?: string[] }): Promise<string[]> {
    const requests = documents.map(({ id, pageContent, metadata }, i) => ({
      docid: options?.ids?.[i] ?? id ?? crypto.randomUUID(),
      text: pageContent,
      metadata: withoutOwn(metadata),
    }));
    await this.collection.add(requests);
    return requests.map(({ docid }) => docid);
  }

  /** For collections of the user's vectors: the server stores the vectors as they are, with the text in the metadata. */
  override async addVectors(
    vectors: number[][],
    documents: DocumentInterface[],
    options?: { ids?: string[] },
  ): Promise<string[]> {
    const requests = documents.map(({ id, pageContent, metadata }, i) => ({
      docid: options?.ids?.[i] ?? id ?? crypto.randomUUID(),
      vector: vectors[i] as number[],
      metadata: { ...withoutOwn(metadata), text: pageContent },
    }));
    await this.collection.add(requests);
    return requests.map(({ docid }) => docid);
  }

  override async delete(which: DeleteOptions): Promise<void> {
    await this.collection.delete('ids' in which ? { docids: which.ids } : { filters: which.filter });
  }

  override async similaritySearch(query: string, k = 4, filter?: Filters): Promise<DocumentInterface[]> {
    return (await this.similaritySearchWithScore(query, k, filter)).map(([document]) => document);
  }

  override async similaritySearchWithScore(
    query: string,
    k = 4,
    filter?: Filters,
  ): Promise<[DocumentInterface, number][]> {
    return this.found({ q: query, k, ...(filter && { filters: filter }), ...this.options.search });
  }

  override async similaritySearchVectorWithScore(
    query: number[],
    k: number,
    filter?: Filters,
  ): Promise<[DocumentInterface, number][]> {
    return this.found({ v: query, k, ...(filter && { filters: filter }), ...this.options.search });
  }

  /** The server picks the hits among the `fetchK` best (20 by default). */
  override async maxMarginalRelevanceSearch(
    query: string,
    { k, fetchK = 20, lambda = 0.5, filter }: MaxMarginalRelevanceSearchOptions<Filters>,
  ): Promise<DocumentInterface[]> {
    const diversity = { lambda, candidates: Math.max(k, fetchK) };
    const search = { q: query, k, ...(filter && { filters: filter }), ...this.options.search, diversity };
    return (await this.found(search)).map(([document]) => document);
  }

  private async found(search: SearchRequest): Promise<[DocumentInterface, number][]> {
    const hits = await this.collection.search(search);
    return hits.map((hit) => [documentOf(hit), hit.score]);
  }
}

const withoutOwn = (metadata: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(metadata).filter(([name]) => !OWN_FIELDS.has(name)));

function documentOf({ text, meta }: SearchHit): DocumentInterface {
  const { docid, text: own } = meta as { docid: string; text?: unknown };
  return new Document({ id: docid, pageContent: text ?? (typeof own === 'string' ? own : ''), metadata: meta });
}
