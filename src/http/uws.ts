// Loads uWebSockets.js, the HTTP library, in the build for this Node. The only file that imports it. Two packages
// provide it, because neither has binaries for every supported Node. Runs on front threads and on the main thread.
import type * as uWS from 'uWebSockets.js';
import { HEAD_BYTES_MAX } from '../api/limits.js';
import { OperatorError } from '../base/operator-error.js';

/** What the server uses of uWebSockets.js. */
export type Uws = Pick<typeof uWS, 'App' | 'SSLApp' | 'us_listen_socket_close' | 'us_socket_local_port'>;
export type App = uWS.TemplatedApp;
export type ListenSocket = uWS.us_listen_socket;
export type Socket = uWS.us_socket;

/** The platform on which uWebSockets.js is to run. */
export interface Host {
  /** `process.versions.node`. */
  readonly node: string;
  /** `process.versions.modules`, which determines the compatible binaries. */
  readonly abi: string;
  readonly platform: string;
  readonly arch: string;
  /** Undefined with another C library. */
  readonly glibc: string | undefined;
}

/** uWebSockets.js has no build for this platform. */
export class UwsError extends OperatorError {
  override readonly name = 'UwsError';
}

/** Its binaries need glibc 2.27. */
const REPACK = 'uWebSockets.js';
/** Its binaries need glibc 2.38, including those for older Nodes. */
const FORK = '@btc-vision/uwebsockets.js';
const PACKAGE_BY_ABI: Readonly<Record<string, string>> = { 115: REPACK, 127: REPACK, 137: FORK, 141: FORK };

/** Loads the package for this Node only. Throws UwsError. The parameters exist for tests. */
export async function loadUws(
  host: Host = thisHost(),
  load: (name: string) => Promise<unknown> = (name) => import(name),
): Promise<Uws> {
  const name = PACKAGE_BY_ABI[host.abi];
  if (name === undefined)
    throw new UwsError(
      `this is Node ${host.node}, but Sheaf runs on Node 20 (from 20.16), 22 (from 22.3) and 24: install one of these and start it again.`,
    );
  allowLongHeads();
  try {
    return (await load(name)) as Uws;
  } catch (cause) {
    throw new UwsError(whatIsMissing(name, host, cause as NodeJS.ErrnoException), { cause });
  }
}

function whatIsMissing(name: string, host: Host, cause: NodeJS.ErrnoException): string {
  if (cause.code === 'ERR_MODULE_NOT_FOUND')
    return `Node ${host.node} needs the package ${name}, which is not installed: install Sheaf's packages again, with the optional ones (npm's --include=optional).`;
  // Both packages prepend a sentence of their own to Node's message.
  const [reason = ''] = cause.message
    .slice(cause.message.lastIndexOf('\n\n') + 1)
    .trim()
    .split('\n');
  const wanted = /`GLIBC_([\d.]+)' not found/.exec(reason)?.[1];
  if (name === FORK && wanted !== undefined)
    return `Node ${host.node} needs glibc ${wanted} or later here (Debian 13, Ubuntu 24.04), and this system has ${host.glibc ?? 'another C library'}: run Sheaf on Node 20 or 22, which work here.`;
  return `the HTTP library has no binary that loads under Node ${host.node} on ${host.platform} ${host.arch} (package ${name}): ${reason}`;
}

function thisHost(): Host {
  const { platform, arch, versions } = process;
  return {
    node: versions.node,
    abi: versions.modules,
    platform,
    arch,
    // Read on demand, because a report takes milliseconds.
    get glibc() {
      const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
      return header.glibcVersionRuntime;
    },
  };
}

// The interface of uWebSockets.js that the rest of this folder uses: requests and responses. Types only, so that the
// library is used in server.ts and uws.ts alone and could be replaced there. Runs on front threads and on the main
// thread.

/** Valid only until the route callback returns; copy what is needed. */
export interface WireRequest {
  /** The method in lower case. */
  getMethod(): string;
  /** The raw path, percent-encoded, without the query. */
  getUrl(): string;
  getQuery(): string | undefined;
  forEach(use: (lowerCaseName: string, value: string) => void): void;
}

/** Throws if it is used after `onAborted` has fired or the whole reply has been passed on. */
export interface WireResponse {
  onAborted(gone: () => void): unknown;
  /** The chunk is detached when the callback returns. A request without a body gets one empty last chunk. */
  onData(take: (chunk: ArrayBuffer, isLast: boolean) => void): unknown;
  /**
   * Removes the socket from the poll, for writing too. The library saves the poll flags in one of two slots that all
   * sockets share: one for sockets with pending writes, one for those without. `resume` restores what the slot for the
   * socket's current state holds, so a socket that is paused in one state and resumed in the other depends on the
   * pauses of others.
   */
  pause(): void;
  resume(): void;
  cork(write: () => void): unknown;
  writeStatus(line: string | Uint8Array): unknown;
  writeHeader(name: string, value: string): unknown;
  end(body?: Uint8Array, closeConnection?: boolean): unknown;
  /**
   * Writes a chunk of a reply of unknown length. False if some of it, or of an earlier chunk, still waits for the
   * socket.
   */
  write(chunk: Uint8Array): boolean;
  endWithoutBody(): unknown;
  /**
   * Writes what the socket takes at once. Returns whether that was all of `chunk`, and whether the reply is complete.
   */
  tryEnd(chunk: Uint8Array, totalBytes: number): [boolean, boolean];
  onWritable(more: (offset: number) => boolean): unknown;
  /** Closes the connection; `onAborted` runs before it returns. */
  close(): unknown;
}

/**
 * uWebSockets.js reads this variable when it is loaded. It answers longer heads itself, without our envelope. The main
 * thread must call this before it starts front threads: what another thread sets, the library does not see.
 */
export function allowLongHeads(): void {
  // eslint-disable-next-line no-restricted-properties -- there is no other way to tell it
  process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= String(4 * HEAD_BYTES_MAX);
}
