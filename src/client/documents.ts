// The part of the client that is about documents and their chunks. SheafClient (client.ts) extends it.
// An endpoint a method, and iterators over the listings.
import type {
  BatchAnswer,
  BatchItemResult,
  BatchSummary,
  ChunkList,
  DeletedDocument,
  DocumentList,
  IngestBody,
  Ingested,
  StoredChunk,
  StoredDocument,
} from '../contract/api/documents.js';
import type { ChunkSummary, DocumentSummary } from '../contract/resources.js';
import { type Calls, collectionPath, type Answered, type PageOptions } from './calls.js';
import { ingestStream, type DocumentSource } from './ingest-stream.js';
import type { CallOptions } from './transport.js';

/** A file to ingest. */
export interface IngestFile extends Pick<IngestBody, 'docid' | 'metadata'> {
  /** File name; its extension tells the type. */
  name: string;
  content: Blob;
  /** Of CSV and TSV files. */
  csv?: CsvOptions;
}

/** Columns by name or by number from 1. */
export interface CsvOptions {
  hasHeader?: 'auto' | 'yes' | 'no';
  /** Columns that become metadata. */
  metaColumns?: readonly (string | number)[];
  /** Columns that become text; all but those of the metadata where it is absent. */
  includeColumns?: readonly (string | number)[];
}

export class DocumentCalls {
  constructor(protected readonly calls: Calls) {}

  ingestText(
    tenant: string,
    collection: string,
    body: IngestBody & { text: string },
    call?: CallOptions,
  ): Promise<Answered<Ingested>> {
    return this.calls.post(documentsPath(tenant, collection), body, call);
  }

  ingestVector(
    tenant: string,
    collection: string,
    body: IngestBody & { vector: number[] },
    call?: CallOptions,
  ): Promise<Answered<Ingested>> {
    return this.calls.post(documentsPath(tenant, collection), body, call);
  }

  /** Sends a file as multipart form data; the content is streamed, not held, where its Blob comes from a file. */
  ingestFile(tenant: string, collection: string, file: IngestFile, call?: CallOptions): Promise<Answered<Ingested>> {
    const body = new FormData();
    if (file.docid != null) body.set('docid', file.docid);
    if (file.metadata != null) body.set('metadata', JSON.stringify(file.metadata));
    body.set('file', file.content, file.name);
    const { hasHeader: csv_has_header, metaColumns, includeColumns } = file.csv ?? {};
    const query = {
      csv_has_header,
      csv_meta_cols: metaColumns?.join(','),
      csv_include_cols: includeColumns?.join(','),
    };
    return this.calls.json({ method: 'POST', path: documentsPath(tenant, collection), query, body, ...call });
  }

  /** A result for each document, in order; one that fails does not make the call fail. */
  ingestBatch(
    tenant: string,
    collection: string,
    documents: readonly IngestBody[],
    call?: CallOptions,
  ): Promise<Answered<BatchAnswer>> {
    return this.calls.post(collectionPath(tenant, collection, 'documents:batch'), { documents }, call);
  }

  /** Any number of documents, as their source gives them; results come back meanwhile. Sent once, without retries. */
  ingestStream(
    tenant: string,
    collection: string,
    documents: DocumentSource,
    call?: CallOptions,
  ): AsyncGenerator<BatchItemResult, BatchSummary> {
    return ingestStream(this.calls.transport, collectionPath(tenant, collection, 'documents:batch'), documents, call);
  }

  /** All documents by id, or a page of them. */
  listDocuments(tenant: string, collection: string, options?: PageOptions): Promise<Answered<DocumentList>> {
    return this.calls.page(documentsPath(tenant, collection), options);
  }

  /** All documents by id, page by page. */
  eachDocument(tenant: string, collection: string, options?: PageOptions): AsyncGenerator<DocumentSummary, void> {
    return this.calls.each(
      (page) => this.listDocuments(tenant, collection, page),
      ({ documents }) => documents,
      options,
    );
  }

  getDocument(
    tenant: string,
    collection: string,
    docid: string,
    call?: CallOptions,
  ): Promise<Answered<StoredDocument>> {
    return this.calls.get(documentsPath(tenant, collection, docid), call);
  }

  deleteDocument(
    tenant: string,
    collection: string,
    docid: string,
    call?: CallOptions,
  ): Promise<Answered<DeletedDocument>> {
    return this.calls.delete(documentsPath(tenant, collection, docid), call);
  }

  /** Chunks in document order. */
  listChunks(tenant: string, collection: string, docid: string, options?: PageOptions): Promise<Answered<ChunkList>> {
    return this.calls.page(documentsPath(tenant, collection, docid, 'chunks'), options);
  }

  eachChunk(
    tenant: string,
    collection: string,
    docid: string,
    options?: PageOptions,
  ): AsyncGenerator<ChunkSummary, void> {
    return this.calls.each(
      (page) => this.listChunks(tenant, collection, docid, page),
      ({ chunks }) => chunks,
      options,
    );
  }

  getChunk(tenant: string, collection: string, rid: string, call?: CallOptions): Promise<Answered<StoredChunk>> {
    return this.calls.get(collectionPath(tenant, collection, 'chunks', rid), call);
  }

  /** The text of a chunk; 404 `chunk_content_not_found` for one that came as a vector. */
  chunkContent(tenant: string, collection: string, rid: string, call?: CallOptions): Promise<string> {
    return this.calls.text({
      method: 'GET',
      path: collectionPath(tenant, collection, 'chunks', rid, 'content'),
      ...call,
    });
  }
}

const documentsPath = (tenant: string, collection: string, ...rest: string[]): string[] =>
  collectionPath(tenant, collection, 'documents', ...rest);
