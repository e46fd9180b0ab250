// A fake model hub on the loopback interface: the paths, headers and redirects of the real one, a second port that
// serves the large files, and faults on demand.
import { createHash } from 'node:crypto';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';

export interface HubFile {
  bytes: Buffer;
  /** Whether the second port serves the file; the listing then has its SHA-256. */
  isBig: boolean;
}

/** What happens to one request for a file instead of a good answer. */
export type HubFault =
  | { kind: 'status'; status: number; headers?: Record<string, string> }
  /** The connection closes, or hangs, after this many bytes of the answer. */
  | { kind: 'cut' | 'hang'; afterBytes: number }
  /** The bytes differ from those of the listing; `isChunked` leaves out the length. */
  | { kind: 'other'; bytes: Buffer; isChunked?: boolean }
  | { kind: 'no range' };

export interface HubRequest {
  server: 'hub' | 'files';
  path: string;
  headers: IncomingHttpHeaders;
}

export class FakeHub {
  readonly requests: HubRequest[] = [];
  /** Faults by path of the file; each applies to one request to the port that serves its bytes. */
  readonly faults = new Map<string, HubFault[]>();
  /** Status codes for the next requests for the listing. */
  readonly listingFaults: { status: number; headers?: Record<string, string> }[] = [];
  /** Entries that replace those of `files` in the listing. */
  entries: Record<string, unknown>[] | undefined;
  commit = 'a'.repeat(40);
  url = '';
  #filesUrl = '';

  constructor(
    readonly model: string,
    readonly files: Map<string, HubFile>,
  ) {}

  async start(): Promise<this> {
    this.url = await listen(createServer((request, response) => this.#answer(request, response)));
    this.#filesUrl = await listen(createServer((request, response) => this.#answerFile(request, response)));
    return this;
  }

  /** The requests for file bytes since the last call. */
  takeRequests(): HubRequest[] {
    return this.requests.splice(0);
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url ?? '', this.url);
    this.requests.push({ server: 'hub', path: pathname, headers: request.headers });
    const resolved = `/${this.model}/resolve/${this.commit}/`;
    if (pathname.startsWith(resolved)) return this.#resolve(pathname.slice(resolved.length), request, response);
    const fault = this.listingFaults.shift();
    if (fault) return void response.writeHead(fault.status, fault.headers).end();
    const body = this.#listing(pathname, Number(searchParams.get('cursor') ?? 0));
    if (body === undefined)
      return void response
        .writeHead(401, { 'content-type': 'application/json' })
        .end('{"error":"Invalid username or password."}');
    response.writeHead(200, { 'content-type': 'application/json', ...body.headers }).end(JSON.stringify(body.json));
  }

  /** The listing comes in pages of five entries; the real hub's pages have a thousand. */
  #listing(pathname: string, cursor: number): { json: unknown; headers?: Record<string, string> } | undefined {
    const api = `/api/models/${this.model}`;
    if (pathname === `${api}/revision/main`)
      return { json: { _id: '1', id: this.model, sha: this.commit, lastModified: '2024-01-01T00:00:00Z' } };
    if (pathname !== `${api}/tree/${this.commit}`) return undefined;
    const entries = this.entries ?? [
      { type: 'directory', path: 'onnx', size: 0, oid: 'b'.repeat(40) },
      ...[...this.files].map(([path, file]) => entryOf(path, file)),
    ];
    const next = `<${this.url}${pathname}?recursive=true&cursor=${cursor + 5}>; rel="next"`;
    return { json: entries.slice(cursor, cursor + 5), headers: cursor + 5 < entries.length ? { link: next } : {} };
  }

  #resolve(path: string, request: IncomingMessage, response: ServerResponse): void {
    const file = this.files.get(path);
    if (!file) return void response.writeHead(404).end();
    if (!file.isBig) return this.#send(path, file, request, response);
    response.writeHead(302, { location: `${this.#filesUrl}/${path}?signature=x` }).end();
  }

  #answerFile(request: IncomingMessage, response: ServerResponse): void {
    const path = new URL(request.url ?? '', this.url).pathname.slice(1);
    this.requests.push({ server: 'files', path, headers: request.headers });
    this.#send(path, this.files.get(path) as HubFile, request, response);
  }

  #send(path: string, file: HubFile, request: IncomingMessage, response: ServerResponse): void {
    const fault = this.faults.get(path)?.shift();
    if (fault?.kind === 'status') return void response.writeHead(fault.status, fault.headers).end();
    const bytes = fault?.kind === 'other' ? fault.bytes : file.bytes;
    const start = fault?.kind === 'no range' ? 0 : Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
    if (start > 0 && start >= bytes.length)
      return void response.writeHead(416, { 'content-range': `bytes */${bytes.length}` }).end();
    const rest = bytes.subarray(start);
    const isChunked = fault?.kind === 'other' && fault.isChunked;
    response.writeHead(start > 0 ? 206 : 200, {
      etag: `"${createHash('sha256').update(bytes).digest('hex')}"`,
      ...(!isChunked && { 'content-length': String(rest.length) }),
      ...(start > 0 && { 'content-range': `bytes ${start}-${bytes.length - 1}/${bytes.length}` }),
    });
    if (fault?.kind !== 'cut' && fault?.kind !== 'hang') return void response.end(rest);
    response.write(
      rest.subarray(0, fault.afterBytes),
      () => fault.kind === 'cut' && setTimeout(() => response.destroy(), 50),
    );
  }
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Git holds large files as pointers, so their own digest is in another field. */
function entryOf(path: string, { bytes, isBig }: HubFile): Record<string, unknown> {
  if (!isBig)
    return {
      type: 'file',
      path,
      size: bytes.length,
      oid: createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex'),
    };
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return {
    type: 'file',
    path,
    size: bytes.length,
    oid: 'c'.repeat(40),
    lfs: { oid: sha256, size: bytes.length, pointerSize: 134 },
    xetHash: 'd'.repeat(64),
  };
}
