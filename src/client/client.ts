// A typed client of the server's interface, one method an endpoint. Used by the command line and the load programs.
// Every method rejects with SheafError (the server refused or failed), SheafUnreachable (no answer), or an AbortError once its
// signal is aborted.
import type { CollectionDetail, CollectionList, CreateBody, CreatedCollection, DeletedCollection } from '../contract/api/collections.js';
import type { ChunkList, DeletedDocument, DocumentList, IngestBody, Ingested, StoredChunk, StoredDocument } from '../contract/api/documents.js';
import type { Health, Readiness } from '../contract/api/health.js';
import type { SearchAnswer, SearchBody } from '../contract/api/search.js';
import { SheafError } from './errors.js';
import { createTransport, type CallOptions, type Exchange, type Transport, type TransportOptions } from './transport.js';

/** A file to ingest. */
export interface IngestFile extends Pick<IngestBody, 'docid' | 'metadata'> {
  /** File name; its extension tells the type. */
  name: string;
  content: Blob;
}

export class SheafClient {
  readonly #transport: Transport;

  /** Throws TypeError when `options.url` is no http address. Opens no connection. */
  constructor(options: TransportOptions) {
    this.#transport = createTransport(options);
  }

  health(call?: CallOptions): Promise<Health> {
    return this.#json({ method: 'GET', path: ['health'], retriesMax: 0, ...call });
  }

  /** Rejects with status 503 until storage and embeddings are usable. */
  ready(call?: CallOptions): Promise<Readiness> {
    return this.#json({ method: 'GET', path: ['health', 'ready'], retriesMax: 0, ...call });
  }

  createCollection(tenant: string, name: string, options?: CreateBody, call?: CallOptions): Promise<CreatedCollection> {
    return this.#json({ method: 'POST', path: collectionPath(tenant, name), body: options, ...call });
  }

  listCollections(tenant: string, call?: CallOptions): Promise<CollectionList> {
    return this.#json({ method: 'GET', path: ['v1', 'collections', tenant], ...call });
  }

  collectionDetail(tenant: string, name: string, call?: CallOptions): Promise<CollectionDetail> {
    return this.#json({ method: 'GET', path: collectionPath(tenant, name, 'detail'), ...call });
  }

  deleteCollection(tenant: string, name: string, call?: CallOptions): Promise<DeletedCollection> {
    return this.#json({ method: 'DELETE', path: collectionPath(tenant, name), ...call });
  }

  ingestText(tenant: string, collection: string, body: IngestBody & { text: string }, call?: CallOptions): Promise<Ingested> {
    return this.#json({ method: 'POST', path: collectionPath(tenant, collection, 'documents'), body, ...call });
  }

  ingestVector(tenant: string, collection: string, body: IngestBody & { vector: number[] }, call?: CallOptions): Promise<Ingested> {
    return this.#json({ method: 'POST', path: collectionPath(tenant, collection, 'documents'), body, ...call });
  }

  /** Sends a file as multipart form data; the content is streamed, not held, where its Blob comes from a file. */
  ingestFile(tenant: string, collection: string, file: IngestFile, call?: CallOptions): Promise<Ingested> {
    const body = new FormData();
    if (file.docid != null) body.set('docid', file.docid);
    if (file.metadata != null) body.set('metadata', JSON.stringify(file.metadata));
    body.set('file', file.content, file.name);
    return this.#json({ method: 'POST', path: collectionPath(tenant, collection, 'documents'), body, ...call });
  }

  listDocuments(tenant: string, collection: string, call?: CallOptions): Promise<DocumentList> {
    return this.#json({ method: 'GET', path: collectionPath(tenant, collection, 'documents'), ...call });
  }

  getDocument(tenant: string, collection: string, docid: string, call?: CallOptions): Promise<StoredDocument> {
    return this.#json({ method: 'GET', path: collectionPath(tenant, collection, 'documents', docid), ...call });
  }

  deleteDocument(tenant: string, collection: string, docid: string, call?: CallOptions): Promise<DeletedDocument> {
    return this.#json({ method: 'DELETE', path: collectionPath(tenant, collection, 'documents', docid), ...call });
  }

  /** Chunks in document order. */
  listChunks(tenant: string, collection: string, docid: string, call?: CallOptions): Promise<ChunkList> {
    return this.#json({ method: 'GET', path: collectionPath(tenant, collection, 'documents', docid, 'chunks'), ...call });
  }

  getChunk(tenant: string, collection: string, rid: string, call?: CallOptions): Promise<StoredChunk> {
    return this.#json({ method: 'GET', path: collectionPath(tenant, collection, 'chunks', rid), ...call });
  }

  /** The text of a chunk; 404 `chunk_content_not_found` for one that came as a vector. */
  chunkContent(tenant: string, collection: string, rid: string, call?: CallOptions): Promise<string> {
    return this.#transport({ method: 'GET', path: collectionPath(tenant, collection, 'chunks', rid, 'content'), ...call });
  }

  search(tenant: string, collection: string, body: SearchBody, call?: CallOptions): Promise<SearchAnswer> {
    return this.#json({ method: 'POST', path: collectionPath(tenant, collection, 'search'), body, ...call });
  }

  async #json<T>(exchange: Exchange): Promise<T> {
    const text = await this.#transport(exchange);
    try {
      return JSON.parse(text) as T;
    } catch {
      throw new SheafError(200, 'http_error', 'The answer is not JSON; another program than Sheaf listens there.');
    }
  }
}

const collectionPath = (tenant: string, collection: string, ...rest: string[]): string[] => ['v1', 'collections', tenant, collection, ...rest];
