// Writes a finished reply to the socket, with back-pressure for those that do not fit into it. Called by exchange.ts on
// the front thread, once for each request.
import { STATUS_CODES } from 'node:http';
import type { Afterwards } from './afterwards.js';
import type { Answer } from './envelope.js';
import type { WireResponse } from './wire.js';

export interface Manner {
  readonly requestId: string;
  /** A reply to HEAD: all headers, and the length of the body instead of the body. */
  readonly isHead: boolean;
  readonly afterwards: Afterwards;
  /** Beside those of the answer. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The buffer in which the library gathers what is written while it reads requests. */
const LIBRARY_BUFFER_BYTES = 16 * 1024;
/** Larger replies are handed over as the socket takes them; the library can close after smaller ones by itself. */
const WHOLE_BYTES_MAX = 64 * 1024;

/**
 * Calls `written` once everything has been handed to the socket. When the client goes away before, it is never called.
 */
export function writeReply(response: WireResponse, answer: Answer, manner: Manner, written: () => void): void {
  const isLarge = answer.body.length > WHOLE_BYTES_MAX && !manner.isHead;
  const libraryCloses = manner.afterwards === 'close' && !manner.isHead && !isLarge;
  response.cork(() => {
    writeHead(response, answer, manner, libraryCloses);
    if (isLarge) handOver(response, answer.body, written);
    else if (manner.isHead) response.endWithoutBody();
    else response.end(answer.body, libraryCloses);
  });
  if (!isLarge) written();
}

/**
 * Writes a reply and drops the connection before the library looks at what came behind the request. A reply waits in
 * the library's buffer until all that came with the request has been read, and executed; one that does not fit there
 * goes to the socket at once. So all of it is written as one status line that is longer than that buffer.
 */
export function writeLastReply(response: WireResponse, answer: Answer, manner: Manner): void {
  const headers = {
    'X-Request-ID': manner.requestId,
    'Content-Type': answer.contentType,
    ...answer.headers,
    Connection: 'close',
    'Content-Length': LIBRARY_BUFFER_BYTES,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const body = Buffer.alloc(LIBRARY_BUFFER_BYTES, ' ');
  body.set(answer.body);
  response.writeStatus(
    Buffer.concat([
      Buffer.from(`${answer.status} ${STATUS_CODES[answer.status]}\r\n${lines.join('')}\r\n`),
      manner.isHead ? Buffer.alloc(0) : body,
    ]),
  );
  response.close();
}

export function writeHead(response: WireResponse, answer: Answer, manner: Manner, libraryCloses: boolean): void {
  response.writeStatus(`${answer.status} ${STATUS_CODES[answer.status]}`);
  response.writeHeader('X-Request-ID', manner.requestId);
  response.writeHeader('Content-Type', answer.contentType);
  for (const name in answer.headers) response.writeHeader(name, answer.headers[name] as string);
  for (const name in manner.headers) response.writeHeader(name, manner.headers[name] as string);
  if (manner.afterwards !== 'keep' && !libraryCloses) response.writeHeader('Connection', 'close');
  // Not as an argument of endWithoutBody: the library would take the reply for unfinished and drop the next request.
  if (manner.isHead && answer.rest === undefined) response.writeHeader('Content-Length', String(answer.body.length));
}

function handOver(response: WireResponse, body: Uint8Array, written: () => void): void {
  const [, isComplete] = response.tryEnd(body, body.length);
  if (isComplete) return written();
  response.onWritable((offset) => {
    const [hasTakenAll, isNowComplete] = response.tryEnd(body.subarray(offset), body.length);
    if (isNowComplete) written();
    return hasTakenAll;
  });
}
