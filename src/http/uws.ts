// uWebSockets.js, the HTTP library, in the build that this Node takes: the one file that imports it. Two packages carry
// it, since neither has binaries for every Node that Sheaf runs on. Front thread.
import type * as uWS from 'uWebSockets.js';
import { HEAD_BYTES_MAX } from '../api/limits.js';
import { OperatorError } from '../base/operator-error.js';

/** What the server takes from the library. */
export type Uws = Pick<typeof uWS, 'App' | 'SSLApp' | 'us_listen_socket_close' | 'us_socket_local_port'>;
export type App = uWS.TemplatedApp;
export type ListenSocket = uWS.us_listen_socket;
export type Socket = uWS.us_socket;

/** Where the library is to run. */
export interface Host {
  /** As `process.versions.node`. */
  readonly node: string;
  /** As `process.versions.modules`: which binaries this Node takes. */
  readonly abi: string;
  readonly platform: string;
  readonly arch: string;
  /** Undefined where the C library is another. */
  readonly glibc: string | undefined;
}

/** The library has no build for this machine. */
export class UwsError extends OperatorError {
  override readonly name = 'UwsError';
}

/** Its binaries want glibc 2.27. */
const REPACK = 'uWebSockets.js';
/** Its binaries want glibc 2.38, those for older Nodes too. */
const FORK = '@btc-vision/uwebsockets.js';
const PACKAGE_BY_ABI: Readonly<Record<string, string>> = { 115: REPACK, 127: REPACK, 137: FORK, 141: FORK };

/** Loads the package for this Node, and not the other. Throws UwsError. The arguments are for tests. */
export async function loadUws(
  host: Host = thisHost(),
  load: (name: string) => Promise<unknown> = (name) => import(name),
): Promise<Uws> {
  const name = PACKAGE_BY_ABI[host.abi];
  if (name === undefined)
    throw new UwsError(
      `this is Node ${host.node}, but Sheaf runs on Node 20 (from 20.16), 22 (from 22.3) and 24: install one of these and start it again.`,
    );
  // The library reads it when it is loaded. What is longer gets its own refusal, without an envelope.
  // eslint-disable-next-line no-restricted-properties -- there is no other way to tell it
  process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= String(4 * HEAD_BYTES_MAX);
  try {
    return (await load(name)) as Uws;
  } catch (cause) {
    throw new UwsError(whatIsMissing(name, host, cause as NodeJS.ErrnoException), { cause });
  }
}

function whatIsMissing(name: string, host: Host, cause: NodeJS.ErrnoException): string {
  if (cause.code === 'ERR_MODULE_NOT_FOUND')
    return `Node ${host.node} needs the package ${name}, which is not installed: install Sheaf's packages again, with the optional ones (npm's --include=optional).`;
  // Both packages put a sentence of their own before what Node said.
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
    // Only when it is asked for: a report takes milliseconds.
    get glibc() {
      const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
      return header.glibcVersionRuntime;
    },
  };
}

// The part of uWebSockets.js that the rest of this folder sees: what a request and a response of it can do. Types only,
// so that the library is touched in server.ts and uws.ts alone and could be replaced there. Front thread.

/** Valid only until the route callback returns: copy what is needed. */
export interface WireRequest {
  /** Lower case. */
  getMethod(): string;
  /** The raw path, still percent-encoded, without the query. */
  getUrl(): string;
  getQuery(): string | undefined;
  forEach(visit: (lowerCaseName: string, value: string) => void): void;
}

/** Throws when touched after `onAborted` has fired or the reply has been handed over in full. */
export interface WireResponse {
  onAborted(gone: () => void): unknown;
  /** The chunk is emptied when the callback returns. A request without a body gets one empty last chunk. */
  onData(take: (chunk: ArrayBuffer, isLast: boolean) => void): unknown;
  /**
   * Takes the socket out of the poll, for writing too, and keeps what it was polled for in one of two places that all
   * sockets share: one for sockets with bytes still to be written, one for those without. `resume` takes what the place
   * for the socket's state now holds, so a socket that is paused in one state and resumed in the other relies on pauses
   * of others.
   */
  pause(): void;
  resume(): void;
  cork(write: () => void): unknown;
  writeStatus(line: string | Uint8Array): unknown;
  writeHeader(name: string, value: string): unknown;
  end(body?: Uint8Array, closeConnection?: boolean): unknown;
  /** One chunk of a reply of unknown length. False when some of it, or of one before, still waits for the socket. */
  write(chunk: Uint8Array): boolean;
  endWithoutBody(): unknown;
  /**
   * Hands over what the socket takes at once. Answers whether that was all of `chunk`, and whether the reply is
   * complete.
   */
  tryEnd(chunk: Uint8Array, totalBytes: number): [boolean, boolean];
  onWritable(more: (offset: number) => boolean): unknown;
  /** Drops the connection; `onAborted` runs before it returns. */
  close(): unknown;
}
