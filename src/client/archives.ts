// Archives, as `client.archives`. A download is a stream, an upload is read from its file as the server takes it; either
// may take as long as it takes.
import type { RestoredCollection, RestoredDataset } from '../api/archives.js';
import { type Answered, type CallOptions, type Transport, collectionPath } from './transport.js';

export interface ArchiveOptions extends CallOptions {
  /** Asks by the admin's routes, which take archives of any size. */
  asAdmin?: boolean;
}

export interface RestoreOptions extends ArchiveOptions {
  /** In place of a collection that is there; without it there must be none. */
  replace?: boolean;
  /**
   * The collection in an archive of everything, as `tenant/name`, or a name of the same tenant; left out, the one of the
   * names that it is restored under.
   */
  from?: string;
  /** Only verifies the archive. */
  dryRun?: boolean;
}

export interface Download {
  /** One that ends with an error is not whole: SheafUnreachable where the connection broke. */
  bytes: ReadableStream<Uint8Array>;
  /** Collections that are not in it, as `tenant/name`. */
  leftOut: string[];
}

export class ArchiveCalls {
  constructor(private readonly transport: Transport) {}

  /** An archive of a collection. */
  dumpCollection(tenant: string, name: string, { asAdmin, ...call }: ArchiveOptions = {}): Promise<Download> {
    return this.download(archivePath(tenant, name, asAdmin), call);
  }

  /** `archive`: its bytes, such as `fs.openAsBlob` gives. */
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

  /** An archive of everything. Wants the admin key. */
  dump(call?: CallOptions): Promise<Download> {
    return this.download(DATASET, call);
  }

  /** Puts an archive in the place of everything. Wants the admin key. */
  restore(
    archive: Blob,
    { dryRun, ...call }: Pick<RestoreOptions, 'dryRun' | keyof CallOptions> = {},
  ): Promise<Answered<RestoredDataset>> {
    return this.transport.upload({ method: 'PUT', path: DATASET, query: { dry_run: dryRun }, file: archive, ...call });
  }

  private async download(path: string[], call: CallOptions = {}): Promise<Download> {
    const { headers, body } = await this.transport.open({ method: 'GET', path, ...call });
    const leftOut = headers.get('x-service-skipped-collections')?.split(', ') ?? [];
    return { bytes: body ? watched(body, this.transport, call.signal) : new ReadableStream(), leftOut };
  }
}

/** The same bytes; a connection that breaks is the client's error, and not one of the platform's. */
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
