// A cluster on one machine: three NATS servers and three nodes, with one disk and the cores of this machine for all. How
// long writes take beside the log's own, what goes on while a process is killed, and what a search costs.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { jetstream } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { SheafClient } from '../src/client/client.js';
import { createPrng } from '../src/base/prng.js';
import { type NodeAddress, NodeLinks } from '../src/cluster/node-links.js';
import { type ClosedLoopResult, closedLoopInThread, jsonPost, latenciesOf } from './kit/closed-loop.js';
import { type LoadOptions, printTable, whole } from './kit/command.js';
import { createVectorCollection, fillCollection, untilIdle, untilServerIdle } from './kit/fill.js';
import { type Nats, findNats, startNats } from './kit/nats.js';
import { plainClosedLoop } from './kit/plain-closed-loop.js';
import { type LoadServer, dieTogether, startServer, withFolder } from './kit/server.js';
import { cpuMs } from './kit/server-usage.js';

const TENANT = 'load';
const NAME = 'docs';
const DIM = 384;

async function startNode(nats: Nats, folder: string, name: string, settings = {}): Promise<LoadServer> {
  const own = join(folder, name);
  mkdirSync(own, { recursive: true });
  return startServer(own, { SHEAF_STORAGE__PARTITIONS: '2', ...nats.env, ...settings });
}

/** Runs `work` with three NATS servers in a folder of their own; false where there is no NATS server. */
async function withNats(work: (nats: Nats, folder: string) => Promise<void>): Promise<void> {
  if (findNats() === undefined) {
    console.log('nats-server is absent: node scripts/nats-server.mjs builds it');
    return;
  }
  await withFolder(async (folder) => {
    const nats = await startNats(join(folder, 'nats'), { logMb: 1024 });
    try {
      await work(nats, folder);
    } finally {
      await Promise.all(nats.servers.map((server) => server.kill()));
    }
  });
}

type Processes = readonly { readonly pid?: number | undefined }[];

/** The CPU time of processes in ms. */
const spentOf = (processes: Processes): number =>
  processes.reduce((sum, { pid }) => sum + (cpuMs(pid as number)?.all ?? NaN), 0);

/** The CPU time of processes since they had spent `beforeMs`, in µs of each request. */
const microsEach = (processes: Processes, beforeMs: number, { requests }: Pick<ClosedLoopResult, 'requests'>): number =>
  ((spentOf(processes) - beforeMs) * 1000) / requests;

const IDLE_CHECK_MS = 500;
/** A measurement begins after so many times its length. */
const WARM_UP = 3;

/** Repeats `once` for so long, with so many at a time. */
async function repeated(inFlight: number, seconds: number, once: () => Promise<void>): Promise<Measured> {
  const latenciesMs: number[] = [];
  const startedAtMs = performance.now();
  const work = async (): Promise<void> => {
    while (performance.now() - startedAtMs < seconds * 1000) {
      const atMs = performance.now();
      await once();
      latenciesMs.push(performance.now() - atMs);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, work));
  const tookMs = performance.now() - startedAtMs;
  const requests = latenciesMs.length;
  const { p50Ms, p99Ms } = latenciesOf(latenciesMs);
  return { p50Ms, p99Ms, requests, requestsPerSecond: (requests * 1000) / tookMs };
}

type Measured = Pick<ClosedLoopResult, 'p50Ms' | 'p99Ms' | 'requests' | 'requestsPerSecond'>;

/** Requests of one load, of which each puts another document. */
const PUTS = 30_000;

/**
 * Puts of one vector of 384 dimensions to a node of a cluster and to one machine, and messages of the same size to the
 * stream by itself, in turns, with 1, 32 and 256 under way; and the CPU time that a write takes of the servers.
 */
export async function puts({ tiny, number }: LoadOptions): Promise<void> {
  const seconds = number('seconds', tiny ? 1 : 5);
  const nodes = number('nodes', 1);
  await withNats(async (nats, folder) => {
    const cluster: LoadServer[] = [];
    for (let i = 0; i < nodes; i++) cluster.push(await startNode(nats, folder, `d${i}`));
    const alone = await startServer(join(folder, 'nats'), { SHEAF_STORAGE__PARTITIONS: '2' });
    const first = cluster[0] as LoadServer;
    for (const { url } of [first, alone]) await createVectorCollection(new SheafClient({ url }), TENANT, NAME);
    const connection = await connect({ servers: JSON.parse(nats.env.SHEAF_CLUSTER__NATS as string) as string[] });
    const client = jetstream(connection);
    const payload = new Uint8Array(DIM * 4 + 300);
    const publish = async (): Promise<void> =>
      void (await client.publish('sheaf.main.log.bench', payload, { timeout: 20_000 }));
    const prng = createPrng(1);
    const vectorOf = (): number[] => Array.from({ length: DIM }, () => Math.round(prng.normal() * 1e4) / 1e4);
    let documents = 0;
    const putTo = ({ url }: LoadServer, connections: number, forSeconds: number): Promise<ClosedLoopResult> => {
      const path = `/v1/collections/${TENANT}/${NAME}/documents`;
      const requests = Array.from({ length: tiny ? 1000 : PUTS }, () =>
        jsonPost(path, { docid: `d${documents++}`, vector: vectorOf() }),
      );
      return plainClosedLoop({ url, connections, seconds: forSeconds, requests });
    };
    // Threads compile what they run often.
    for (const server of [first, alone]) await putTo(server, 32, WARM_UP * seconds);
    const rows = [
      [
        'in flight',
        'way',
        'p50 ms',
        'p99 ms',
        'writes/s',
        'p50 of the log',
        'rate of the log',
        'µs, NATS',
        'µs, Sheaf',
      ],
    ];
    for (const inFlight of [1, 32, 256]) {
      const ways: [string, () => Promise<Measured>, readonly LoadServer[]][] = [
        ['the log by itself', () => repeated(inFlight, seconds, publish), []],
        [`put, ${nodes} nodes`, () => putTo(first, inFlight, seconds), cluster],
        ['put, one machine', () => putTo(alone, inFlight, seconds), [alone]],
      ];
      let log: Measured | undefined;
      for (const [name, run, servers] of ways) {
        // Graphs are built behind the puts.
        await untilIdle(() => spentOf([...cluster, alone]), IDLE_CHECK_MS);
        const before = [spentOf(nats.servers), spentOf(servers)] as const;
        const found = await run();
        log ??= found;
        rows.push([
          String(inFlight),
          name,
          found.p50Ms.toFixed(2),
          found.p99Ms.toFixed(2),
          whole(found.requestsPerSecond),
          (found.p50Ms / log.p50Ms).toFixed(2),
          (found.requestsPerSecond / log.requestsPerSecond).toFixed(2),
          whole(microsEach(nats.servers, before[0], found)),
          whole(microsEach(servers, before[1], found)),
        ]);
      }
    }
    printTable(`Acknowledged puts of a vector of ${DIM} dimensions; 3 NATS servers with one disk`, rows);
    await connection.close();
    for (const server of [...cluster, alone]) await server.kill();
  });
}

/** Puts and searches at a fixed pace while a node, the leader of the log, and all servers of the log are killed. */
export async function deaths({ tiny, number }: LoadOptions): Promise<void> {
  const seconds = number('seconds', tiny ? 3 : 15);
  await withNats(async (nats, folder) => {
    const servers = [await startNode(nats, folder, 'd0'), await startNode(nats, folder, 'd1')];
    const [first, second] = servers as [LoadServer, LoadServer];
    await createVectorCollection(new SheafClient({ url: first.url }), TENANT, NAME);
    const prng = createPrng(2);
    const vectorOf = (): number[] => Array.from({ length: DIM }, () => prng.normal());
    const rows = [
      ['killed', 'acknowledged', 'lost', 'longest pause of writes', 'searches', 'failed', 'longest pause of searches'],
    ];
    let written = 0;
    const acknowledged: string[] = [];
    const during = async (name: string, kill: () => Promise<void>): Promise<void> => {
      const startedAtMs = performance.now();
      const isOver = (): boolean => performance.now() - startedAtMs > seconds * 1000;
      const [ackedAt, searchedAt]: number[][] = [[], []];
      let failed = 0;
      const before = acknowledged.length;
      const write = async (): Promise<void> => {
        while (!isOver()) {
          const docid = `d${written++}`;
          const response = await fetch(`${first.url}/v1/collections/${TENANT}/${NAME}/documents`, {
            method: 'POST',
            headers: { 'content-type': 'application/json', 'idempotency-key': docid },
            body: JSON.stringify({ docid, vector: vectorOf() }),
          }).catch(() => undefined);
          if (response?.status === 201) {
            acknowledged.push(docid);
            ackedAt?.push(performance.now());
          } else await sleep(20);
        }
      };
      const search = async (): Promise<void> => {
        for (let turn = 0; !isOver(); turn++) {
          // A client of two nodes asks the other one when one does not answer.
          const nodes = turn % 2 === 0 ? [first, second] : [second, first];
          let isAnswered = false;
          for (const { url } of nodes) {
            const response = await fetch(`${url}/v1/collections/${TENANT}/${NAME}/search`, {
              method: 'POST',
              headers: { 'content-type': 'application/json' },
              body: JSON.stringify({ v: vectorOf(), k: 10 }),
            }).catch(() => undefined);
            if (response?.status === 200) {
              isAnswered = true;
              break;
            }
          }
          if (isAnswered) searchedAt?.push(performance.now());
          else failed++;
          await sleep(5);
        }
      };
      const work = [write(), write(), write(), write(), search(), search()];
      await sleep(seconds * 200);
      await kill();
      await Promise.all(work);
      const lost = await missing(first.url, acknowledged);
      rows.push([
        name,
        whole(acknowledged.length - before),
        String(lost),
        pause(ackedAt as number[]),
        whole((searchedAt as number[]).length),
        String(failed),
        pause(searchedAt as number[]),
      ]);
    };
    await during('nothing', async () => undefined);
    await during('a data node', () => second.kill());
    servers[1] = await startNode(nats, folder, 'd1');
    const leader = await nats.leader();
    await during('the leader of the log', () => leader.kill());
    await leader.start();
    await during('all servers of the log, for 1 s', async () => {
      await Promise.all(nats.servers.map((server) => server.kill()));
      await sleep(1000);
      await Promise.all(nats.servers.map((server) => server.start()));
    });
    printTable(`Puts by 4 and searches by 2 clients for ${seconds} s, 2 nodes, 3 NATS servers`, rows);
    for (const server of servers) await server.kill();
  });
}

/** The number of documents that are not there. */
async function missing(url: string, docids: readonly string[]): Promise<number> {
  let lost = 0;
  for (const docid of docids) {
    const { status } = await fetch(`${url}/v1/collections/${TENANT}/${NAME}/documents/${docid}`);
    if (status !== 200) lost++;
  }
  return lost;
}

function pause(atMs: readonly number[]): string {
  let longest = 0;
  for (let i = 1; i < atMs.length; i++) longest = Math.max(longest, (atMs[i] as number) - (atMs[i - 1] as number));
  return `${(longest / 1000).toFixed(2)} s`;
}

/** CPU time of a search by vector on one machine and on a node of a cluster, in turns, without writes. */
export async function searches({ tiny, number }: LoadOptions): Promise<void> {
  const seconds = number('seconds', tiny ? 1 : 8);
  const rows = number('rows', tiny ? 500 : 20_000);
  await withNats(async (nats, folder) => {
    const alone = await startServer(join(folder, 'nats'), { SHEAF_STORAGE__PARTITIONS: '2' });
    const node = await startNode(nats, folder, 'd0');
    const ways = [
      ['one machine', alone],
      ['node of a cluster', node],
    ] as const;
    for (const [, { url }] of ways) {
      await createVectorCollection(new SheafClient({ url }), TENANT, NAME);
      await fillCollection({ url, tenant: TENANT, name: NAME, rows });
    }
    const prng = createPrng(3);
    const requests = Array.from({ length: 64 }, () =>
      jsonPost(`/v1/collections/${TENANT}/${NAME}/search`, {
        v: Array.from({ length: DIM }, () => prng.normal()),
        k: 10,
      }),
    );
    const table = [['server', 'round', 'searches/s', 'p99 ms', 'CPU a search, µs']];
    for (const round of [1, 2, 3])
      for (const [name, { url, pid }] of ways) {
        const before = cpuMs(pid)?.all ?? NaN;
        const result = await closedLoopInThread({ url, connections: 4, seconds, requests });
        const spent = (cpuMs(pid)?.all ?? NaN) - before;
        table.push([
          name,
          String(round),
          whole(result.requestsPerSecond),
          result.p99Ms.toFixed(2),
          whole((spent * 1000) / result.requests),
        ]);
      }
    printTable(`Searches by vector over ${whole(rows)} × ${DIM}, 4 connections`, table);
    for (const [, server] of ways) await server.kill();
  });
}

interface Detail {
  readonly memory: { readonly vectors: number; readonly graph: number; readonly quantized_vectors: number };
}

/** The size of a question with a vector of 384 dimensions. */
const QUESTION_BYTES = 1900;

/** What a question and its answer cost two processes that do nothing else. */
async function linkAlone(inFlight: number, seconds: number): Promise<string[]> {
  const answerer = fork(fileURLToPath(new URL('./kit/link-answerer.js', import.meta.url)));
  dieTogether(answerer);
  const [address] = (await once(answerer, 'message')) as [NodeAddress];
  const links = new NodeLinks({ node: 'asker', addressOf: () => address, log: { warn: () => undefined } });
  const question = new Uint8Array(QUESTION_BYTES);
  const ask = async (): Promise<void> => void (await links.ask('search', 'answerer', question, ASK_MS));
  await repeated(inFlight, seconds / 2, ask);
  const processes = [process, answerer];
  const before = processes.map((each) => spentOf([each]));
  const found = await repeated(inFlight, seconds, ask);
  const [asker, other] = processes.map((each, i) => microsEach([each], before[i] as number, found)) as [number, number];
  links.close();
  answerer.kill();
  return [String(inFlight), whole(asker), whole(other), whole(asker + other)];
}

const ASK_MS = 10_000;

/**
 * Three nodes that hold each collection once: what each has in its memory, what the collections cost them that they do not
 * hold, and what a search costs that another node runs.
 */
export async function shares({ tiny, number }: LoadOptions): Promise<void> {
  const rows = number('rows', tiny ? 500 : 10_000);
  const seconds = number('seconds', tiny ? 1 : 6);
  const names = Array.from({ length: number('collections', 6) }, (_, i) => `c${i}`);
  await withNats(async (nats, folder) => {
    const nodes: LoadServer[] = [];
    for (const name of ['d0', 'd1', 'd2'])
      nodes.push(await startNode(nats, folder, name, { SHEAF_CLUSTER__SEARCH_COPIES: '1' }));
    const [first] = nodes as [LoadServer];
    // Nodes that have just started look around before they take their places.
    await sleep(4000);
    const table = [['collection', 'node', 'holds it', 'memory, MB', 'CPU of the fill, s']];
    const holders = new Map<string, LoadServer>();
    for (const name of names) {
      const before = nodes.map((node) => spentOf([node]));
      await createVectorCollection(new SheafClient({ url: first.url }), TENANT, name);
      await fillCollection({ url: first.url, tenant: TENANT, name, rows });
      for (const [i, node] of nodes.entries()) {
        const bytes = await memoryOf(node, name);
        if (bytes > 0) holders.set(name, node);
        const spent = (spentOf([node]) - (before[i] as number)) / 1000;
        const label = `d${i}${node === first ? ', which is asked' : ''}`;
        table.push([name, label, bytes > 0 ? 'yes' : 'no', (bytes / 1e6).toFixed(1), spent.toFixed(1)]);
      }
    }
    printTable(`${whole(names.length)} collections of ${whole(rows)} × ${DIM}, each held by one of 3 nodes`, table);
    const prng = createPrng(5);
    const costs = [
      [
        'in flight',
        'round',
        'asked',
        'searches/s',
        'p50 ms',
        'p99 ms',
        'CPU a search, µs: asked node',
        'holder',
        'more than the holder alone',
      ],
    ];
    // Building a graph takes time from searches.
    for (const { url } of nodes) await untilServerIdle(url, IDLE_CHECK_MS);
    const [name, holder] = [...holders][0] as [string, LoadServer];
    const other = nodes.find((node) => node !== holder) as LoadServer;
    const requests = Array.from({ length: 64 }, () =>
      jsonPost(`/v1/collections/${TENANT}/${name}/search`, {
        v: Array.from({ length: DIM }, () => prng.normal()),
        k: 10,
      }),
    );
    const searched = (node: LoadServer, connections: number, forSeconds: number): Promise<ClosedLoopResult> =>
      plainClosedLoop({ url: node.url, connections, seconds: forSeconds, requests });
    // Threads compile what they run often.
    for (const node of [holder, other]) await searched(node, 4, WARM_UP * seconds);
    for (const inFlight of [4, 32])
      for (const round of [1, 2, 3]) {
        let alone = NaN;
        for (const node of [holder, other]) {
          const before = [spentOf([node]), spentOf([holder])] as const;
          const found = await searched(node, inFlight, seconds);
          const [own, held] = [microsEach([node], before[0], found), microsEach([holder], before[1], found)];
          if (node === holder) alone = held;
          costs.push([
            String(inFlight),
            String(round),
            node === holder ? 'the holder' : 'another node',
            whole(found.requestsPerSecond),
            found.p50Ms.toFixed(2),
            found.p99Ms.toFixed(2),
            whole(own),
            node === holder ? '' : whole(held),
            node === holder ? '' : whole(own + held - alone),
          ]);
        }
      }
    printTable('Searches by vector of a collection', costs);
    for (const node of nodes) await node.kill();
    const links = [['in flight', 'CPU a question, µs: who asks', 'who answers', 'together']];
    for (const inFlight of [1, 4, 32]) links.push(await linkAlone(inFlight, seconds));
    printTable('A link between two processes that do nothing else, with questions and answers of that size', links);
  });
}

/**
 * One collection whose shards are spread over 1, 2 and 3 nodes: what each node has in its memory, what a search costs the
 * node that is asked and the others, and how many of the ten nearest it finds.
 */
export async function spread({ tiny, number }: LoadOptions): Promise<void> {
  const rows = number('rows', tiny ? 600 : 30_000);
  const seconds = number('seconds', tiny ? 1 : 6);
  const table = [
    [
      'nodes',
      'memory of each, MB',
      'searches/s',
      'p50 ms',
      'p99 ms',
      'CPU a search, µs: asked node',
      'others',
      'recall@10',
    ],
  ];
  const prng = createPrng(6);
  const queries = Array.from({ length: 64 }, () => Array.from({ length: DIM }, () => prng.normal()));
  const path = `/v1/collections/${TENANT}/${NAME}/search`;
  for (const count of [1, 2, 3])
    await withNats(async (nats, folder) => {
      const nodes: LoadServer[] = [];
      for (let i = 0; i < count; i++) nodes.push(await startNode(nats, folder, `d${i}`, SPREAD));
      const [asked, ...others] = nodes as [LoadServer, ...LoadServer[]];
      // Nodes that have just started look around before they take their places.
      await sleep(4000);
      await createVectorCollection(new SheafClient({ url: asked.url }), TENANT, NAME);
      await fillCollection({ url: asked.url, tenant: TENANT, name: NAME, rows });
      const idsOf = async (v: number[], exact: boolean): Promise<string[]> => {
        const response = await fetch(`${asked.url}${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ v, k: 10, exact }),
        });
        return ((await response.json()) as { matches: { id: string }[] }).matches.map(({ id }) => id);
      };
      let found = 0;
      for (const v of queries) {
        const nearest = new Set(await idsOf(v, true));
        found += (await idsOf(v, false)).filter((id) => nearest.has(id)).length;
      }
      const requests = queries.map((v) => jsonPost(path, { v, k: 10 }));
      const searched = (forSeconds: number): ReturnType<typeof closedLoopInThread> =>
        closedLoopInThread({ url: asked.url, connections: 4, seconds: forSeconds, requests });
      // Threads compile what they run often.
      await searched(WARM_UP * seconds);
      const before = [spentOf([asked]), spentOf(others)] as const;
      const result = await searched(seconds);
      const memory = await Promise.all(nodes.map((node) => memoryOf(node, NAME)));
      table.push([
        String(count),
        memory.map((bytes) => (bytes / 1e6).toFixed(1)).join(', '),
        whole(result.requestsPerSecond),
        result.p50Ms.toFixed(2),
        result.p99Ms.toFixed(2),
        whole(microsEach([asked], before[0], result)),
        whole(microsEach(others, before[1], result)),
        (found / (10 * queries.length)).toFixed(3),
      ]);
      for (const node of nodes) await node.kill();
    });
  printTable(`A collection of ${whole(rows)} × ${DIM} in 6 shards, each held by one node, 4 connections`, table);
}

const SPREAD = {
  SHEAF_STORAGE__PARTITIONS: '6',
  SHEAF_COLLECTIONS__PARTITIONS: '6',
  SHEAF_CLUSTER__SEARCH_COPIES: '1',
  SHEAF_CLUSTER__PLACEMENT: 'shards',
};

/** Bytes that the vectors of a collection and their graph take in the memory of a node. */
async function memoryOf({ url }: LoadServer, name: string): Promise<number> {
  const response = await fetch(`${url}/v1/collections/${TENANT}/${name}/detail`);
  const { vectors, graph, quantized_vectors: quantized } = ((await response.json()) as Detail).memory;
  return vectors + graph + quantized;
}

/**
 * A new node copies the data of another one, which answers searches meanwhile. The giver's own copy of its files is part
 * of the time; the opening of the shards comes after it.
 */
export async function copies({ tiny, number }: LoadOptions): Promise<void> {
  const rows = number('rows', tiny ? 500 : 100_000);
  const seconds = number('seconds', tiny ? 1 : 10);
  const rounds = number('rounds', tiny ? 1 : 3);
  await withNats(async (nats, folder) => {
    const own = join(folder, 'd0');
    mkdirSync(own);
    const alone = await startServer(own, { SHEAF_STORAGE__PARTITIONS: '2' });
    await createVectorCollection(new SheafClient({ url: alone.url }), TENANT, NAME);
    await fillCollection({ url: alone.url, tenant: TENANT, name: NAME, rows });
    await untilServerIdle(alone.url, IDLE_CHECK_MS);
    await alone.stop();
    const giver = await startNode(nats, folder, 'd0');
    const prng = createPrng(4);
    const requests = Array.from({ length: 64 }, () =>
      jsonPost(`/v1/collections/${TENANT}/${NAME}/search`, {
        v: Array.from({ length: DIM }, () => prng.normal()),
        k: 10,
      }),
    );
    const search = (): Promise<{ p50Ms: number; p99Ms: number }> =>
      closedLoopInThread({ url: giver.url, connections: 1, seconds, requests });
    const found: string[][] = [
      [
        'new node',
        'copied MB',
        's',
        'MB/s',
        'ready after s',
        'chunks',
        'p50 ms',
        'p99 ms',
        'p50 meanwhile',
        'p99 meanwhile',
      ],
    ];
    // Threads compile what they run often.
    await search();
    for (let i = 1; i <= rounds; i++) {
      const name = `d${i}`;
      const calm = await search();
      const copied = copyTime(join(own, 'data'), join(folder, name, 'data'));
      const [busy, taker] = await Promise.all([search(), startNode(nats, folder, name)]);
      const { ms, bytes } = await copied;
      const { count } = await new SheafClient({ url: taker.url }).count(TENANT, NAME);
      await taker.kill();
      found.push([
        name,
        whole(bytes / 1e6),
        (ms / 1000).toFixed(2),
        whole(bytes / 1000 / ms),
        (taker.readyMs / 1000).toFixed(2),
        whole(count),
        ...[calm.p50Ms, calm.p99Ms, busy.p50Ms, busy.p99Ms].map((one) => one.toFixed(2)),
      ]);
    }
    printTable(`New nodes copy ${whole(rows)} × ${DIM}, beside searches by one client`, found);
    await giver.kill();
  });
}

/** Watches the data of two nodes while one of them gives the other a copy. */
async function copyTime(given: string, taken: string): Promise<{ ms: number; bytes: number }> {
  const copies = join(given, 'copies');
  while (!existsSync(copies) || readdirSync(copies).length === 0) await sleep(10);
  const startedAtMs = performance.now();
  while (!existsSync(join(taken, 'catalog')) || existsSync(join(taken, 'copy'))) await sleep(10);
  const ms = performance.now() - startedAtMs;
  const bytes = readdirSync(taken, { recursive: true, encoding: 'utf8' })
    .filter((path) => /^(catalog|shard-\d+)\/data\.mdb$/.test(path))
    .reduce((sum, path) => sum + statSync(join(taken, path)).size, 0);
  return { ms, bytes };
}
