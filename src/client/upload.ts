// Uploads of the client in Node. In the package `sheaf-client`, clients/typescript/src/upload-by-fetch.ts
// takes the place of this file.
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request as overHttp } from 'node:http';
import { request as overHttps } from 'node:https';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** A file, and the request that sends it as a form. */
export interface Upload {
  url: string;
  method: 'POST' | 'PUT';
  headers: Readonly<Record<string, string>>;
  file: Blob;
  signal: AbortSignal | undefined;
}

const BOUNDARY = 'sheaf-archive-5b0f4f8d1c2e';
const HEAD = Buffer.from(
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="archive.zip"\r\nContent-Type: application/zip\r\n\r\n`,
);
const TAIL = Buffer.from(`\r\n--${BOUNDARY}--\r\n`);

/**
 * Uploads a file and returns the whole answer. Uses node:http, because fetch gives up if an answer takes five minutes
 * to begin, which a restore may exceed. The file is read as the server takes it; a server that rejects the request may
 * not read all of it.
 */
export async function upload({ url, method, headers, file, signal }: Upload): Promise<Response> {
  const length = HEAD.length + file.size + TAIL.length;
  const request = (url.startsWith('https:') ? overHttps : overHttp)(url, {
    method,
    headers: { ...headers, 'content-type': `multipart/form-data; boundary=${BOUNDARY}`, 'content-length': length },
    ...(signal && { signal }),
  });
  const answered = once(request, 'response') as Promise<[IncomingMessage]>;
  const sent = sendForm(request, file);
  const [response] = await Promise.race([answered, sent.then(() => answered)]);
  const body = await readAll(response);
  request.destroy();
  await sent.catch(() => undefined);
  return new Response(body, {
    status: response.statusCode ?? 0,
    headers: Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)]),
  });
}

async function sendForm(request: ClientRequest, file: Blob): Promise<void> {
  await pipeline(Readable.from(form(file)), request);
}

async function* form(file: Blob): AsyncGenerator<Uint8Array> {
  yield HEAD;
  yield* file.stream() as unknown as AsyncIterable<Uint8Array>;
  yield TAIL;
}

async function readAll(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of response.setEncoding('utf8')) text += piece as string;
  return text;
}
