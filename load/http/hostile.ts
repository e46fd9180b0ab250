// How long other requests wait while a body is sent that is designed to be as costly as possible. A thread requests
// /health/live without a pause while each of the bodies below is sent, and the longest wait counts.
//
// Other work on the machine affects this too, so the table also has: the longest wait in an equally long quiet time
// just before; the longest wait minus the time in which the main thread and the probe waited for a CPU core; and the
// most CPU time of the main thread within one wait, which is what the server is responsible for. Each body is sent
// several times, because a harmful one causes a wait each time.
import { request as httpRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import { type LoadOptions, printTable } from '../kit/command.js';
import { withServer } from '../kit/server.js';
import type { ProbeStart, Waits } from './latency-probe-thread.js';

const QUIET_MS_MIN = 200;
const QUIET_MS_MAX = 5000;
const HEAD = ['body', 'MB', 'answer', 'took ms', 'nothing sent', 'longest wait', 'not in line', "the front's work"];

export async function hostile({ tiny, url: given, number, text }: LoadOptions): Promise<void> {
  const bodies = hostileBodies(tiny ? 0.01 : 1).filter(({ name }) => name.includes(text('only') ?? ''));
  const rounds = number('rounds', tiny ? 1 : 5);
  const rows = await withServer(given, (url, pid) => measure({ url, pid }, bodies, rounds));
  printTable('hostile bodies: milliseconds that others wait, best to worst round', [HEAD, ...rows]);
}

async function measure(start: ProbeStart, bodies: readonly Hostile[], rounds: number): Promise<string[][]> {
  const worker = new Worker(new URL('./latency-probe-thread.js', import.meta.url), { workerData: start });
  await send(start.url, { name: '', path: DOCS, body: '{}' });
  const rows: string[][] = [];
  for (const hostile of bodies) rows.push(await rowOf(start.url, hostile, rounds, worker));
  await worker.terminate();
  return rows;
}

async function rowOf(url: string, hostile: Hostile, rounds: number, worker: Worker): Promise<string[]> {
  const [before, beside, sent]: [Waits[], Waits[], Sent[]] = [[], [], []];
  // The first round determines how long one takes.
  let { tookMs } = await send(url, hostile);
  for (let round = 0; round < rounds; round++) {
    await waitsSince(worker);
    await sleep(Math.min(QUIET_MS_MAX, Math.max(QUIET_MS_MIN, tookMs)));
    before.push(await waitsSince(worker));
    const result = await send(url, hostile);
    beside.push(await waitsSince(worker));
    sent.push(result);
    ({ tookMs } = result);
  }
  return [
    hostile.name,
    (Buffer.byteLength(hostile.body) / 1e6).toFixed(2),
    sent[0]?.status ?? '',
    Math.min(...sent.map((result) => result.tookMs)).toFixed(0),
    span(before.map(({ longest }) => longest)),
    span(beside.map(({ longest }) => longest)),
    span(beside.map(({ held }) => held)),
    span(beside.map(({ worked }) => worked)),
  ];
}

async function waitsSince(worker: Worker): Promise<Waits> {
  const answer = new Promise<Waits>((resolve) => worker.once('message', resolve));
  worker.postMessage('waits');
  return answer;
}

/** The best and worst value of the rounds. */
function span(values: readonly (number | undefined)[]): string {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? '' : `${Math.min(...known).toFixed(1)} to ${Math.max(...known).toFixed(1)}`;
}

interface Hostile {
  readonly name: string;
  readonly path: string;
  readonly body: string | Buffer;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const DOCS = '/v1/collections/hostile/docs';
const SEARCH = `${DOCS}/search`;
const MCP_HEADERS = { accept: 'application/json, text/event-stream' };
const NDJSON = 'application/x-ndjson';

/** Hostile bodies. `scale` 1 gives sizes that were seen to block a server for seconds. */
function hostileBodies(scale: number): Hostile[] {
  const many = (count: number): number => Math.max(1, Math.round(count * scale));
  const names = (count: number): string =>
    `{${Array.from({ length: many(count) }, (_, at) => `"x${at.toString(36)}":0`).join(',')}}`;
  const list = (count: number, item: string): string => `[${Array(many(count)).fill(item).join(',')}]`;
  const nested = (levels: number): string => `${'['.repeat(many(levels))}${']'.repeat(many(levels))}`;
  const text = (megabytes: number, piece = 'word '): string => piece.repeat(many((megabytes * 1e6) / piece.length));
  const form = (head: string, content: string): string =>
    `--edge\r\nContent-Disposition: form-data; ${head}\r\n\r\n${content}\r\n--edge--\r\n`;
  const multipart = 'multipart/form-data; boundary=edge';
  const call = (name: string, input: string): string =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":${input}}}`;
  return [
    { name: 'search: unknown names', path: SEARCH, body: names(2.6e6) },
    { name: 'search: unknown names, 256 KB', path: SEARCH, body: names(18_000 / scale) },
    { name: 'search: one name, again and again', path: SEARCH, body: `{${text(12, '"q":0,')}"k":1}` },
    { name: 'search: filters of many names', path: SEARCH, body: `{"q":"a","filters":${names(1e6)}}` },
    { name: 'search: filters of many values', path: SEARCH, body: `{"q":"a","filters":{"a":${list(1e6, '"b"')}}}` },
    {
      name: 'search: filters of 10,000 values',
      path: SEARCH,
      body: `{"q":"a","filters":{"a":${list(9_990 / scale, '7')}}}`,
    },
    { name: 'search: nested lists', path: SEARCH, body: `{"q":"a","filters":{"a":${nested(15e6)}}}` },
    {
      name: 'search: nested lists, 256 KB',
      path: SEARCH,
      body: `{"q":"a","filters":{"a":${nested(120_000 / scale)}}}`,
    },
    { name: 'search: v of strings', path: SEARCH, body: `{"v":${list(1e6, '"1"')}}` },
    { name: 'search: v of strings, 2 MB', path: SEARCH, body: `{"v":${list(5e5 / scale, '"1"')}}` },
    {
      name: 'search: v of 65,536 numbers',
      path: SEARCH,
      body: `{"v":${list(65_536 / scale, '-0.0123456789012345678')}}`,
    },
    {
      name: 'search: v of numbers of 1,000 digits',
      path: SEARCH,
      body: `{"v":${list(2000 / scale, `0.${'1'.repeat(998)}`)}}`,
    },
    { name: 'search: v of one number of 2 MB', path: SEARCH, body: `{"v":[0.${'1'.repeat(2e6)}]}` },
    { name: 'search: q of many megabytes', path: SEARCH, body: `{"q":"${text(30)}"}` },
    { name: 'search: q of 64 KB, hybrid', path: SEARCH, body: `{"q":"${text(0.065 / scale)}","mode":"hybrid"}` },
    { name: 'search: q of escapes, 250 KB', path: SEARCH, body: `{"q":"${text(0.25 / scale, '\\u0041')}"}` },
    { name: 'search: no JSON, 2 MB of quotes', path: SEARCH, body: text(2 / scale, '{"') },
    { name: 'create: unknown names', path: DOCS, body: names(1e6) },
    { name: 'create: unknown names, 256 KB', path: DOCS, body: names(18_000 / scale) },
    { name: 'create: a deep embedder_config', path: DOCS, body: `{"embedder_config":${nested(120_000 / scale)}}` },
    { name: 'reindex: unknown names', path: `/v1/admin/collections/hostile/docs/reindex`, body: names(1e6) },
    { name: 'tenant: unknown names', path: '/v1/admin/tenants', body: names(1e6) },
    { name: 'mcp: unknown names', path: '/mcp', body: names(1e6), headers: MCP_HEADERS },
    { name: 'mcp: search with unknown names', path: '/mcp', body: call('search', names(1e6)), headers: MCP_HEADERS },
    {
      name: 'mcp: search with names, 1 MB',
      path: '/mcp',
      body: call('search', names(70_000 / scale)),
      headers: MCP_HEADERS,
    },
    {
      name: 'mcp: search with 2,000 names',
      path: '/mcp',
      body: call('search', names(2000 / scale)),
      headers: MCP_HEADERS,
    },
    { name: 'mcp: a batch of messages', path: '/mcp', body: list(1e6, '{}'), headers: MCP_HEADERS },
    {
      name: 'mcp: ingest of 1 MB',
      path: '/mcp',
      body: call('ingest', `{"collection":"docs","tenant":"hostile","text":"${text(1 / scale)}"}`),
      headers: MCP_HEADERS,
    },
    { name: 'ingest: unknown names', path: `${DOCS}/documents`, body: names(2.6e6) },
    {
      name: 'ingest: nested metadata',
      path: `${DOCS}/documents`,
      body: `{"text":"a","metadata":{"a":${nested(15e6)}}}`,
    },
    { name: 'ingest: vector of strings', path: `${DOCS}/documents`, body: `{"vector":${list(5e6, '"1"')}}` },
    {
      name: 'ingest: a text',
      path: `${DOCS}/documents`,
      body: `{"docid":"long","text":${JSON.stringify(text(20, 'A sentence of a long text. '))}}`,
    },
    { name: 'batch: empty items', path: `${DOCS}/documents:batch`, body: `{"documents":${list(1e7, '1')}}` },
    {
      name: 'batch: 10,000 bad items',
      path: `${DOCS}/documents:batch`,
      body: `{"documents":${list(10_000, '{"x":1}')}}`,
    },
    { name: 'batch: unknown names', path: `${DOCS}/documents:batch`, body: names(2.6e6) },
    { name: 'ndjson: bad lines', path: `${DOCS}/documents:batch`, body: text(2, '{}\n'), type: NDJSON },
    { name: 'ndjson: blank lines', path: `${DOCS}/documents:batch`, body: text(30, '\n'), type: NDJSON },
    { name: 'ndjson: one long line', path: `${DOCS}/documents:batch`, body: text(31, 'x'), type: NDJSON },
    {
      name: 'form: metadata of names',
      path: `${DOCS}/documents`,
      body: form('name="metadata"', names(60_000)),
      type: multipart,
    },
    {
      name: 'form: almost the boundary',
      path: `${DOCS}/documents`,
      body: form('name="file"; filename="a.txt"', text(20, '\r\n--edg')),
      type: multipart,
    },
    {
      name: 'search: a gzip bomb',
      path: SEARCH,
      body: gzipSync(Buffer.alloc(many(200e6), 0x20)),
      headers: { 'content-encoding': 'gzip' },
    },
  ];
}

interface Sent {
  status: string;
  tookMs: number;
}

/** Sends a body as fast as the server takes it. */
function send(url: string, { path, body, type = 'application/json', headers }: Hostile): Promise<Sent> {
  const startedAtMs = performance.now();
  return new Promise((resolve) => {
    const done = (status: string): void => resolve({ status, tookMs: performance.now() - startedAtMs });
    const sent = httpRequest(`${url}${path}`, {
      method: 'POST',
      agent: false,
      headers: { 'content-type': type, 'content-length': Buffer.byteLength(body), ...headers },
    });
    sent.on('response', (response) => {
      response.resume();
      response.on('close', () => done(String(response.statusCode)));
    });
    // The server may close the connection while it rejects a body.
    sent.on('error', (error: NodeJS.ErrnoException) => done(error.code ?? error.message));
    sent.end(body);
  });
}
