// Sends a file as a form, over node:http: fetch gives up when an answer takes five minutes to begin, and a restore may
// take longer. The file is read as the server takes it. Called by transport.ts.
import { once } from 'node:events';
import { request as overHttp, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as overHttps } from 'node:https';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

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

/** The answer, whole. A server that refuses need not take the whole file. */
export async function upload({ url, method, headers, file, signal }: Upload): Promise<Response> {
  const length = HEAD.length + file.size + TAIL.length;
  const request = (url.startsWith('https:') ? overHttps : overHttp)(url, {
    method,
    headers: { ...headers, 'content-type': `multipart/form-data; boundary=${BOUNDARY}`, 'content-length': length },
    ...(signal && { signal }),
  });
  const answered = once(request, 'response') as Promise<[IncomingMessage]>;
  const sent = send(request, file);
  const [response] = await Promise.race([answered, sent.then(() => answered)]);
  const body = await readAll(response);
  request.destroy();
  await sent.catch(() => undefined);
  return new Response(body, {
    status: response.statusCode ?? 0,
    headers: Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)]),
  });
}

async function send(request: ClientRequest, file: Blob): Promise<void> {
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
