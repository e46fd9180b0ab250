// How long other requests wait while a body is sent that is made to cost as much as it can: the longest answer of
// /health/live, asked without a pause from a thread of its own, beside each of the bodies below, one after the other.
// What else the machine does is seen as well, so beside the longest wait stands: the longest of the same length of time
// right before, in which nothing is sent; the longest less the time that the front thread and the one that asks stood
// in line for a core; and the most that the front thread worked within one wait, which is what the server can help.
// Each body is sent several times: one that holds others up does so every time.
// node dist/load/hostile-bodies.js [--tiny] [--url URL] [--rounds 5] [--only PART_OF_NAME]
import { once } from 'node:events';
import { existsSync, openSync, readSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { type Socket, connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import { printTable, readArguments } from '../kit/command.js';
import { withServer } from '../kit/server.js';

// One connection that asks for an address again and again, with as little work of its own as can be: what it measures
// is the server's. Used by load programs that look for standstills.

const HEAD_END = '\r\n\r\n';

class RawProbe {
  private received = '';
  private answered: () => void = () => undefined;

  private constructor(
    private readonly socket: Socket,
    private readonly host: string,
  ) {
    socket.setNoDelay(true).setEncoding('latin1');
    socket.on('data', (text: string) => {
      this.received += text;
      if (this.isWhole()) this.answered();
    });
  }

  static async open(url: string): Promise<RawProbe> {
    const { hostname, port, host } = new URL(url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    return new RawProbe(socket, host);
  }

  /** Resolves when the answer is here in full. */
  ask(path: string): Promise<void> {
    this.received = '';
    this.socket.write(`GET ${path} HTTP/1.1\r\nHost: ${this.host}\r\n\r\n`);
    return new Promise((resolve) => (this.answered = resolve));
  }

  private isWhole(): boolean {
    const end = this.received.indexOf(HEAD_END);
    const length = Number(/content-length: (\d+)/i.exec(this.received)?.[1]);
    return end >= 0 && this.received.length >= end + HEAD_END.length + length;
  }
}

// What Linux's scheduler tells of one thread, read often: how long it has run, and how long it stood in line for a core.
// So a wait on a busy machine can be told from one that a program caused. Used by load programs that look for
// standstills.

const TEXT_BYTES_MAX = 64;

class ThreadClock {
  private readonly text = Buffer.alloc(TEXT_BYTES_MAX);
  /** Both as of the last `read`. */
  ranMs = 0;
  inLineMs = 0;

  private constructor(private readonly file: number) {}

  /** The thread on which Node runs the front of the server. Undefined where the system does not tell. */
  static ofFront(pid: number): ThreadClock | undefined {
    return ThreadClock.open(`/proc/${pid}/task/${pid}/schedstat`);
  }

  static ofThisThread(): ThreadClock | undefined {
    return ThreadClock.open('/proc/thread-self/schedstat');
  }

  /** What runs at this moment is counted up to the scheduler's last tick. */
  read(): void {
    const length = readSync(this.file, this.text, 0, TEXT_BYTES_MAX, 0);
    const [ran, inLine] = this.text.toString('latin1', 0, length).split(' ');
    this.ranMs = Number(ran) / 1e6;
    this.inLineMs = Number(inLine) / 1e6;
  }

  private static open(path: string): ThreadClock | undefined {
    return existsSync(path) ? new ThreadClock(openSync(path, 'r')) : undefined;
  }
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

/** `scale`: 1 for the sizes that were seen to stop a server for seconds. */
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

/** What becomes of a body that is written as fast as the server takes it. */
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
    // What is refused while it is sent may be cut off.
    sent.on('error', (error: NodeJS.ErrnoException) => done(error.code ?? error.message));
    sent.end(body);
  });
}

/** The longest waits of a span of time, in milliseconds; the last two only where the system tells. */
interface Waits {
  longest: number;
  /** Less the time in which the front thread, or the one that asks, stood in line for a core. */
  held?: number;
  /** The most that the front thread worked within one wait. */
  worked?: number;
}

interface ProbeStart {
  url: string;
  pid: number | undefined;
}

/** Asks without a pause; tells the longest waits since it was asked last. */
async function probe({ url, pid }: ProbeStart): Promise<void> {
  const client = await RawProbe.open(url);
  const meter = new WaitMeter(pid);
  parentPort?.on('message', () => parentPort?.postMessage(meter.take()));
  for (;;) {
    meter.begin();
    await client.ask('/health/live');
    meter.end();
  }
}

class WaitMeter {
  private readonly front: ThreadClock | undefined;
  private readonly own = ThreadClock.ofThisThread();
  private waits: Waits = { longest: 0 };
  private startedAtMs = 0;

  constructor(pid: number | undefined) {
    this.front = pid === undefined ? undefined : ThreadClock.ofFront(pid);
  }

  begin(): void {
    this.front?.read();
    this.own?.read();
    this.startedAtMs = performance.now();
  }

  end(): void {
    const { front, own, waits } = this;
    const waitedMs = performance.now() - this.startedAtMs;
    waits.longest = Math.max(waits.longest, waitedMs);
    if (!front || !own) return;
    const [ranMs, inLineMs] = [front.ranMs, front.inLineMs + own.inLineMs];
    front.read();
    own.read();
    const heldMs = waitedMs - (front.inLineMs + own.inLineMs - inLineMs);
    waits.held = Math.max(waits.held ?? 0, heldMs);
    waits.worked = Math.max(waits.worked ?? 0, Math.min(waitedMs, front.ranMs - ranMs));
  }

  take(): Waits {
    const { waits } = this;
    this.waits = { longest: 0 };
    return waits;
  }
}

async function waitsSince(worker: Worker): Promise<Waits> {
  const answer = new Promise<Waits>((resolve) => worker.once('message', resolve));
  worker.postMessage('waits');
  return answer;
}

/** Best and worst of the rounds. */
function span(values: readonly (number | undefined)[]): string {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? '' : `${Math.min(...known).toFixed(1)} to ${Math.max(...known).toFixed(1)}`;
}

const QUIET_MS_MIN = 200;
const QUIET_MS_MAX = 5000;
const HEAD = ['body', 'MB', 'answer', 'took ms', 'nothing sent', 'longest wait', 'not in line', "the front's work"];

async function rowOf(url: string, hostile: Hostile, rounds: number, worker: Worker): Promise<string[]> {
  const [before, beside, sent]: [Waits[], Waits[], Sent[]] = [[], [], []];
  // The first tells how long one takes.
  let { tookMs } = await send(url, hostile);
  for (let round = 0; round < rounds; round++) {
    await waitsSince(worker);
    await sleep(Math.min(QUIET_MS_MAX, Math.max(QUIET_MS_MIN, tookMs)));
    before.push(await waitsSince(worker));
    const outcome = await send(url, hostile);
    beside.push(await waitsSince(worker));
    sent.push(outcome);
    ({ tookMs } = outcome);
  }
  return [
    hostile.name,
    (Buffer.byteLength(hostile.body) / 1e6).toFixed(2),
    sent[0]?.status ?? '',
    Math.min(...sent.map((outcome) => outcome.tookMs)).toFixed(0),
    span(before.map(({ longest }) => longest)),
    span(beside.map(({ longest }) => longest)),
    span(beside.map(({ held }) => held)),
    span(beside.map(({ worked }) => worked)),
  ];
}

async function measure(start: ProbeStart, bodies: readonly Hostile[], rounds: number): Promise<string[][]> {
  const worker = new Worker(fileURLToPath(import.meta.url), { workerData: start });
  await send(start.url, { name: '', path: DOCS, body: '{}' });
  const rows: string[][] = [];
  for (const hostile of bodies) rows.push(await rowOf(start.url, hostile, rounds, worker));
  await worker.terminate();
  return rows;
}

if (isMainThread) {
  const { tiny, url, number, text } = readArguments('rounds', 'only');
  const wanted = text('only') ?? '';
  const bodies = hostileBodies(tiny ? 0.01 : 1).filter(({ name }) => name.includes(wanted));
  const rounds = number('rounds', tiny ? 1 : 5);
  const rows = await withServer(url, (address, pid) => measure({ url: address, pid }, bodies, rounds));
  printTable('hostile bodies: milliseconds that others wait, best to worst round', [HEAD, ...rows]);
} else await probe(workerData as ProbeStart);
