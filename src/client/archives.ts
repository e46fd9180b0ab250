// Archives, as `client.archives`. A download is a stream, and an upload reads its file as the server takes it. Neither
// has a time limit.
import type { ExportedDocument, RestoredCollection, RestoredDataset } from '../api/archives.js';
import { type Answered, type CallOptions, type Transport, collectionPath } from './transport.js';

export interface ArchiveOptions extends CallOptions {
  /** Uses the admin's routes, which accept archives of any size. */
  asAdmin?: boolean;
}

export interface RestoreOptions extends ArchiveOptions {
  /** Replaces an existing collection. Without it, the collection must not exist. */
  replace?: boolean;
  /**
   * The collection to restore from an archive of everything, as `tenant/name`, or a name of the same tenant. Default:
   * the collection with the tenant and name that it is restored as.
   */
  from?: string;
  /** Only verifies the archive. */
  dryRun?: boolean;
}

export interface ExportOptions extends CallOptions {
  /** Only documents behind this id, to go on with an export that was interrupted. */
  after?: string;
  limit?: number;
  /** Metadata filters. They are compared with the metadata of documents, not of single chunks. */
  filters?: Record<string, unknown>;
  /** Lines have the chunks with their vectors instead of the text. */
  vectors?: boolean;
}

export interface Download {
  /**
   * The archive. A stream that ends with an error is incomplete; the error is SheafUnreachable if the connection broke.
   */
  bytes: ReadableStream<Uint8Array>;
  /** Collections that are not in the archive, as `tenant/name`. */
  leftOut: string[];
}

export class ArchiveCalls {
  constructor(private readonly transport: Transport) {}

  /** Downloads an archive of a collection. */
  dumpCollection(tenant: string, name: string, { asAdmin, ...call }: ArchiveOptions = {}): Promise<Download> {
    return this.download(archivePath(tenant, name, asAdmin), call);
  }

  /** Restores a collection from the bytes of an archive, for example from `fs.openAsBlob`. */
  restoreCollection(
    tenant: string,
    name: string,
    archive: Blob,
    { asAdmin, replace, from, dryRun, ...call }: RestoreOptions = {},
  ): Promise<Answered<RestoredCollection>> {
    return this.transport.upload({
      method: replace ? 'PUT' : 'POST',
      path: archivePath(tenant, name, asAdmin),
      query: { from, dry_run: dryRun },
      file: archive,
      ...call,
    });
  }

  /** Downloads the documents of a collection as NDJSON, in the order of their ids. */
  async exportDocuments(
    tenant: string,
    name: string,
    { after, limit, filters, vectors, ...call }: ExportOptions = {},
  ): Promise<ReadableStream<Uint8Array>> {
    const { bytes } = await this.download(collectionPath(tenant, name, 'documents:export'), {
      query: { after, limit, filters: filters && JSON.stringify(filters), vectors },
      ...call,
    });
    return bytes;
  }

  /** The same, line by line. A line has the fields of an ingest, unless `vectors` is set. */
  async *eachExported(tenant: string, name: string, options?: ExportOptions): AsyncGenerator<ExportedDocument, void> {
    const lines = (await this.exportDocuments(tenant, name, options)).pipeThrough(new TextDecoderStream() as never);
    let rest = '';
    for await (const piece of lines as unknown as AsyncIterable<string>) {
      const parts = (rest + piece).split('\n');
      rest = parts.pop() ?? '';
      for (const part of parts) yield JSON.parse(part) as ExportedDocument;
    }
  }

  /** Downloads an archive of everything. Requires the admin key. */
  dump(call?: CallOptions): Promise<Download> {
    return this.download(DATASET, call);
  }

  /** Replaces everything by an archive. Requires the admin key. */
  restore(
    archive: Blob,
    { dryRun, ...call }: Pick<RestoreOptions, 'dryRun' | keyof CallOptions> = {},
  ): Promise<Answered<RestoredDataset>> {
    return this.transport.upload({ method: 'PUT', path: DATASET, query: { dry_run: dryRun }, file: archive, ...call });
  }

  private async download(
    path: string[],
    call: CallOptions & { query?: Record<string, string | number | boolean | undefined> } = {},
  ): Promise<Download> {
    const { headers, body } = await this.transport.open({ method: 'GET', path, ...call });
    const leftOut = headers.get('x-service-skipped-collections')?.split(', ') ?? [];
    return { bytes: body ? watched(body, this.transport, call.signal) : new ReadableStream(), leftOut };
  }
}

/** The same bytes; a broken connection becomes SheafUnreachable instead of an error of the platform. */
function watched(
  body: ReadableStream<Uint8Array>,
  transport: Transport,
  signal: AbortSignal | undefined,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await transport.reached(signal, reader.read());
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

const DATASET = ['v1', 'admin', 'archive'];

const archivePath = (tenant: string, name: string, asAdmin = false): string[] =>
  asAdmin ? ['v1', 'admin', 'collections', tenant, name, 'archive'] : collectionPath(tenant, name, 'archive');
