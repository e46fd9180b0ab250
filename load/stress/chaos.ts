// A cluster on one machine under random faults: processes are killed, stopped for a while and started again, one after
// the other and together, the network between them is cut, and the log goes back in time, while clients write and read by
// every node; disks are full, slow, or fail to sync, clocks jump, nodes come back without their data, and the collection is
// spread over more and fewer shards. A model of what was acknowledged is compared all the time, and at the end on all
// nodes. Documents that several clients write at once are read with `X-Consistency: strong`, and what the clients saw has
// to be linearizable. The nodes hold all in memory, or share it, so that searches go from one to the other.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Prng, createPrng } from '../../src/base/prng.js';
import { checkDirectory, findingLine } from '../../src/storage/check/check.js';
import { type Fault, Faults, compileShim, faultEnvironment } from '../fault/fault-layer.js';
import { whole } from '../kit/command.js';
import { type Nats, backInTime, startNats } from '../kit/nats.js';
import { type Cut, Network } from '../kit/network.js';
import { type LoadServer, freePort, startServer } from '../kit/server.js';
import { type Operation, isLinearizable } from './linearizability.js';

const NODES = 3;
const WRITERS = 6;
const DOCIDS = 60;
const DOCUMENTS = '/v1/collections/load/docs/documents';
const SEARCH = '/v1/collections/load/docs/search';
const REINDEX = '/v1/collections/load/docs/reindex';
/** So little that what nodes have applied is deleted again and again. */
const LOG_MB = 64;
const SHARDS = 2;
/** How often it is tried to spread the collection over another number of shards. */
const SPREAD_MS = 3000;
/** On how many nodes a collection is in memory; 0: on all. */
const SEARCH_COPIES = [0, 1, 2];
/** Whether these are collections or their shards. */
const PLACEMENTS = ['collections', 'shards'];
const FAULT_MS_MAX = 2500;
const STOP_MS_MAX = 4000;
/** Some cuts last longer than connections and leaders wait. */
const CUT_MS_MAX = 12_000;
const CUTS: readonly Cut[] = ['out', 'in', 'both'];
/** Clients that write and read one document at once, and what each of them does. */
const RIVALS = 4;
const RIVAL_OPERATIONS = 6;
/** The log goes back in time at most this often, because nodes take half a minute to rebuild it. */
const REWINDS_MAX = 2;
const CLOCK_JUMP_MS_MAX = 3_600_000;
const SYNC_DELAY_MS_MAX = 300;
/** The file of a node that says how far its clock is off. */
const CLOCK = 'clock';
const JUMPING_CLOCK = new URL('./jumping-clock.js', import.meta.url).href;
/** How long a cluster may take to take writes again when the last fault is over. */
const MENDED_MS = 120_000;

export interface ChaosReport {
  readonly faults: Readonly<Record<string, number>>;
  readonly acknowledged: number;
  /** Writes that may have been made or not, as far as their client knows. */
  readonly unknown: number;
  readonly reads: number;
  readonly searches: number;
  /** Documents that several clients wrote at once, and whose history was checked. */
  readonly histories: number;
  /** Jobs that were started, each of which spreads the collection over another number of shards. */
  readonly spreads: number;
  /** What must not happen. */
  readonly violations: string[];
}

/** What a client knows of a document. */
interface Known {
  /** The version that was acknowledged last; 0 for none. */
  version: number;
  /** Writes without an answer, which may have been made, or may still be. */
  open: number;
  /** The token of the last answer that told of it. */
  token: string;
  /** The text that was acknowledged last, and those of the writes without an answer. */
  text: string;
  openTexts: string[];
  isBusy: boolean;
}

interface NodeProcess {
  readonly name: string;
  readonly folder: string;
  /** The faults of its disk; undefined without a C compiler. */
  readonly disk: Faults | undefined;
  server: LoadServer | undefined;
  /** Changes when the process is killed, so that a request that was under way may fail. */
  isStopped: boolean;
}

interface ChaosOptions {
  readonly seed: number;
  readonly minutes: number;
  /** The folder of another build, which nodes begin with until one after the other is restarted with this one. */
  readonly former?: string | undefined;
  /** Is told what is done and what nodes have written, as lines. */
  readonly trace?: (line: string) => void;
}

/** Runs for `minutes` in new folders inside `folder`. */
export async function runChaos(folder: string, { seed, minutes, former, trace }: ChaosOptions): Promise<ChaosReport> {
  const prng = createPrng(seed);
  const network = new Network();
  const nats = await startNats(join(folder, 'nats'), { network, logMb: LOG_MB });
  const settings = new Map<string, Readonly<Record<string, string>>>();
  const copies = String(SEARCH_COPIES[prng.int(SEARCH_COPIES.length)]);
  const placement = PLACEMENTS[prng.int(PLACEMENTS.length)] as string;
  const shared = {
    SHEAF_CLUSTER__SEARCH_COPIES: copies,
    SHEAF_CLUSTER__PLACEMENT: placement,
    SHEAF_CLUSTER__LEAVE_S: '5',
    SHEAF_STORAGE__PARTITIONS: String(SHARDS),
    SHEAF_COLLECTIONS__PARTITIONS: String(SHARDS),
  };
  // Other nodes ask a node over a link that is cut with it.
  const asked = async (name: string): Promise<Readonly<Record<string, string>>> => {
    const port = await freePort();
    return {
      SHEAF_CLUSTER__LISTEN: `127.0.0.1:${port}`,
      SHEAF_CLUSTER__ADVERTISE: `127.0.0.1:${await network.link('others', name, port)}`,
    };
  };
  const shim = compileShim();
  const upgraded = new Set<string>();
  const linked = new Map<string, Readonly<Record<string, string>>>();
  const start = async (name: string): Promise<LoadServer> => {
    const own = join(folder, name);
    mkdirSync(join(own, 'data'), { recursive: true });
    const isFormer = former !== undefined && !upgraded.has(name);
    const env = settings.get(name) ?? { ...shared, ...(await nats.envOf(name)) };
    settings.set(name, env);
    // An earlier release may not know these settings.
    if (!isFormer && !linked.has(name)) linked.set(name, await asked(name));
    const all = {
      SHEAF_SERVER__THREADS: '0',
      NODE_OPTIONS: `--import ${JUMPING_CLOCK}`,
      CLOCK_OFFSET_FILE: join(own, CLOCK),
      ...(shim && faultEnvironment(shim, { root: join(own, 'data'), control: join(own, 'disk') })),
      ...env,
      ...linked.get(name),
    };
    return startServer(own, all, undefined, isFormer ? join(former, 'dist/src/main.js') : undefined);
  };
  const nodes: NodeProcess[] = [];
  for (let i = 0; i < NODES; i++) {
    const own = join(folder, `d${i}`);
    mkdirSync(own);
    const disk = shim === undefined ? undefined : new Faults(join(own, 'disk'));
    nodes.push({ name: `d${i}`, folder: own, disk, server: await start(`d${i}`), isStopped: false });
  }
  const cluster = new Chaos(prng, nats, network, nodes, { isUpgrade: former !== undefined, start, upgraded }, trace);
  const violations = await cluster.run(minutes * 60_000);
  if (violations.length > 0)
    for (const { name, server } of nodes) trace?.(`what ${name} wrote:\n${server?.written() ?? ''}`);
  for (const { name, server, disk, folder: own } of nodes) {
    await server?.kill();
    disk?.close();
    violations.push(...(await damageIn(join(own, 'data'))).map((found) => `${name}: ${found}`));
  }
  await Promise.all(nats.servers.map((server) => server.kill()));
  network.close();
  const { acknowledged, unknown, reads, searches, histories, spreads } = cluster;
  const faults = {
    ...Object.fromEntries(cluster.faults),
    [`memory shared (${copies} copies of ${placement})`]: Number(copies !== '0'),
  };
  return { faults, acknowledged, unknown, reads, searches, histories, spreads, violations };
}

/** What `sheaf check` finds. */
async function damageIn(path: string): Promise<string[]> {
  const found: string[] = [];
  try {
    for await (const finding of checkDirectory(path)) found.push(findingLine(finding));
  } catch (error) {
    found.push((error as Error).message);
  }
  return found;
}

interface Builds {
  /** Whether nodes begin with another build. */
  readonly isUpgrade: boolean;
  readonly start: (name: string) => Promise<LoadServer>;
  /** The nodes that are started with this build from now on. */
  readonly upgraded: Set<string>;
}

class Chaos {
  readonly faults = new Map<string, number>();
  acknowledged = 0;
  unknown = 0;
  reads = 0;
  searches = 0;
  histories = 0;
  spreads = 0;
  private rewinds = 0;
  private isRewinding = false;
  private readonly violations: string[] = [];
  /** Whether nodes lose their data, in place of the log, which then has what they lack. */
  private readonly losesNodes: boolean;
  private readonly known = new Map<string, Known>();
  private isOver = false;

  constructor(
    private readonly prng: Prng,
    private readonly nats: Nats,
    private readonly network: Network,
    private readonly nodes: readonly NodeProcess[],
    private readonly builds: Builds,
    private readonly trace: (line: string) => void = () => {},
  ) {
    this.losesNodes = prng.int(2) === 0;
  }

  async run(ms: number): Promise<string[]> {
    const work = Array.from({ length: WRITERS }, (_, writer) => this.write(createPrng(1000 + writer)));
    work.push(this.contend(createPrng(2000)));
    // Nodes of an earlier release may not know how.
    if (!this.builds.isUpgrade) work.push(this.spread(createPrng(3000)));
    const endMs = performance.now() + ms;
    while (performance.now() < endMs && this.violations.length === 0) {
      await sleep(this.prng.int(FAULT_MS_MAX));
      await this.fault();
    }
    for (const server of this.nats.servers) await server.start();
    if (this.violations.length === 0) await this.takesWrites();
    this.isOver = true;
    await Promise.all(work);
    if (this.violations.length === 0) await this.compareAll();
    return this.violations;
  }

  private async begin(node: NodeProcess): Promise<void> {
    try {
      node.server = await this.builds.start(node.name);
    } catch (error) {
      this.violations.push(`${node.name} does not start: ${(error as Error).message}`);
    }
  }

  private async restart(node: NodeProcess): Promise<void> {
    this.builds.upgraded.add(node.name);
    await node.server?.stop().catch((error: Error) => this.violations.push(`${node.name}: ${error.message}`));
    await this.begin(node);
  }

  /** Nodes of the former build may not give copies to those of this one, so an upgrade is brought to its end. */
  private async upgradeAll(): Promise<void> {
    if (!this.builds.isUpgrade) return;
    for (const node of this.nodes) if (!this.builds.upgraded.has(node.name)) await this.restart(node);
  }

  private async fault(): Promise<void> {
    const { prng, nats, nodes } = this;
    const node = nodes[prng.int(nodes.length)] as NodeProcess;
    const server = nats.servers[prng.int(nats.servers.length)] as Nats['servers'][number];
    const pauseMs = prng.int(STOP_MS_MAX);
    const cut = CUTS[prng.int(CUTS.length)] as Cut;
    const cutMs = prng.int(prng.int(4) === 0 ? CUT_MS_MAX : STOP_MS_MAX);
    const others = nats.servers.filter((each) => each !== server);
    const whileCut = async (begin: () => void): Promise<void> => {
      begin();
      await sleep(cutMs);
      this.network.heal();
    };
    const kinds: Readonly<Record<string, () => Promise<void>>> = {
      'a node is cut off': () => whileCut(() => this.network.cut(node.name, cut)),
      'a server of the log is cut off': () => whileCut(() => this.network.cut(server.name, cut)),
      'two servers of the log are cut from each other': () =>
        whileCut(() => this.network.cutBetween(server.name, (others[0] as { name: string }).name, cut)),
      ...(!this.losesNodes &&
        this.rewinds < REWINDS_MAX && { 'the log goes back in time': () => this.rewind(pauseMs) }),
      'a node is killed': async () => {
        await node.server?.kill();
        node.server = undefined;
        await sleep(pauseMs);
        this.builds.upgraded.add(node.name);
        await this.begin(node);
      },
      'a node is stopped for a while': async () => {
        process.kill(node.server?.pid as number, 'SIGSTOP');
        await sleep(pauseMs);
        process.kill(node.server?.pid as number, 'SIGCONT');
      },
      'a server of the log is killed': async () => {
        await server.kill();
        await sleep(pauseMs);
        await server.start();
      },
      'a server of the log is stopped for a while': async () => {
        server.signal('SIGSTOP');
        await sleep(pauseMs);
        server.signal('SIGCONT');
      },
      'the leader of the log is killed': async () => {
        const leader = await nats.leader();
        await leader.kill();
        await sleep(pauseMs);
        await leader.start();
      },
      'all servers of the log are killed': async () => {
        await Promise.all(nats.servers.map((each) => each.kill()));
        await sleep(pauseMs / 4);
        await Promise.all(nats.servers.map((each) => each.start()));
      },
      'the clock of a node jumps': async () =>
        writeFileSync(join(node.folder, CLOCK), String(prng.int(2 * CLOCK_JUMP_MS_MAX) - CLOCK_JUMP_MS_MAX)),
      'nodes are restarted one after the other': async () => {
        for (const each of nodes) await this.restart(each);
      },
      ...(node.disk && {
        'the disk of a node is full': () => this.whileDisk(node.disk, 'write', { error: 'ENOSPC' }, pauseMs),
        'syncs of a node fail': () => this.whileDisk(node.disk, 'sync', { error: 'EIO' }, pauseMs / 4),
        'syncs of a node are slow': () =>
          this.whileDisk(node.disk, 'sync', { delayMs: 1 + prng.int(SYNC_DELAY_MS_MAX) }, pauseMs),
      }),
      ...(this.losesNodes && {
        'a node comes back without its data': async () => {
          await node.server?.kill();
          node.server = undefined;
          rmSync(join(node.folder, 'data'), { recursive: true });
          await this.begin(node);
        },
      }),
      'everything is killed': async () => {
        await Promise.all([...nats.servers.map((each) => each.kill()), ...nodes.map((each) => each.server?.kill())]);
        for (const each of nodes) each.server = undefined;
        await Promise.all(nats.servers.map((each) => each.start()));
        await Promise.all(nodes.map((each) => this.begin(each)));
      },
    };
    const names = Object.keys(kinds);
    const name = names[prng.int(names.length)] as string;
    this.faults.set(name, (this.faults.get(name) ?? 0) + 1);
    const beganMs = performance.now();
    await kinds[name]?.();
    this.trace(
      `${whole(beganMs)} ms: ${name} (${node.name}, ${server.name}), ${whole(performance.now() - beganMs)} ms, ${this.acknowledged} writes`,
    );
  }

  private async whileDisk(disk: Faults | undefined, kind: 'write' | 'sync', fault: Fault, ms: number): Promise<void> {
    disk?.set(kind, fault);
    await sleep(ms);
    disk?.clear(kind);
  }

  /** Sets the log back in time, and waits until the nodes have rebuilt it. */
  private async rewind(ms: number): Promise<void> {
    this.rewinds++;
    this.isRewinding = true;
    await backInTime(this.nats, () => sleep(ms));
    await this.takesWrites();
    this.isRewinding = false;
  }

  /** Spreads the collection again and again, beside all that clients do. */
  private async spread(prng: Prng): Promise<void> {
    for (let shards = SHARDS; !this.isOver && this.violations.length === 0; await sleep(prng.int(SPREAD_MS))) {
      const wanted = (shards % SHARDS) + 1;
      const { status } = await this.ask(prng, 'POST', REINDEX, { partitions: wanted });
      // It may have as many already, by a job whose start was not answered.
      if (status === 200 || status === 400) shards = wanted;
      if (status === 200) this.spreads++;
    }
  }

  /** Lets several clients write and read a document at once, one document after the other, and checks what they saw. */
  private async contend(prng: Prng): Promise<void> {
    for (let number = 0; !this.isOver && this.violations.length === 0; number++) {
      const docid = `c${number}`;
      const operations: Operation[] = [];
      const clients = Array.from({ length: RIVALS }, (_, client) => this.rival(docid, client, prng, operations));
      const { rewinds, isRewinding } = this;
      await Promise.all(clients);
      // Until nodes notice that the log has gone back, a strong read may miss what only another node has applied.
      if (isRewinding || rewinds !== this.rewinds) continue;
      this.histories++;
      if (!isLinearizable(operations))
        this.violations.push(`what clients saw of ${docid} is not linearizable: ${JSON.stringify(operations)}`);
    }
  }

  private async rival(docid: string, client: number, prng: Prng, seen: Operation[]): Promise<void> {
    for (let i = 0; i < RIVAL_OPERATIONS; i++) {
      const kind = prng.int(2) === 0 ? 'put' : 'get';
      const text = `${client}.${i}`;
      const calledAtMs = performance.now();
      const body = { docid, text: `Text ${text}.`, metadata: { text } };
      const { status, version, metadata } =
        kind === 'put'
          ? await this.ask(prng, 'POST', DOCUMENTS, body)
          : await this.ask(prng, 'GET', `${DOCUMENTS}/${docid}`, undefined, 'strong');
      const answeredAtMs = performance.now();
      if (kind === 'get' && status === 404)
        seen.push({ kind, text: undefined, version: undefined, calledAtMs, answeredAtMs });
      else if (kind === 'get' && status === 200)
        seen.push({ kind, text: metadata?.text, version, calledAtMs, answeredAtMs });
      else if (kind === 'put' && (status === 200 || status === 201))
        seen.push({ kind, text, version, calledAtMs, answeredAtMs });
      // No client can tell a write that was refused from one that was made without an answer.
      else if (kind === 'put') seen.push({ kind, text, version: undefined, calledAtMs, answeredAtMs: Infinity });
    }
  }

  /** Writes documents that no other client writes at the time, and reads them on other nodes. */
  private async write(prng: Prng): Promise<void> {
    while (!this.isOver && this.violations.length === 0) {
      const docid = `d${prng.int(DOCIDS)}`;
      const known = this.known.get(docid) ?? { version: 0, open: 0, token: '', text: '', openTexts: [], isBusy: false };
      this.known.set(docid, known);
      if (known.isBusy) {
        await sleep(5);
        continue;
      }
      known.isBusy = true;
      const what = prng.int(6);
      if (what === 0) await this.read(docid, known, prng);
      else await (what === 1 ? this.search(docid, known, prng) : this.put(docid, known, prng));
      known.isBusy = false;
    }
  }

  private async put(docid: string, known: Known, prng: Prng): Promise<void> {
    const text = `Text ${prng.int(1e6)} of ${docid}.`;
    const answer = await this.ask(prng, 'POST', DOCUMENTS, { docid, text });
    const { status, version } = answer;
    if (status !== 201 && status !== 200) {
      // No client can tell a write that was refused from one that was made without an answer.
      known.open++;
      known.openTexts.push(text);
      this.unknown++;
      return;
    }
    this.acknowledged++;
    const [least, most] = [known.version + 1, known.version + known.open + 1];
    if (version < least || version > most)
      this.violations.push(`${docid} was acknowledged as version ${version} in place of ${least} to ${most}`);
    // Those that have not been made by now may still be made later, by a node that was stopped meanwhile.
    known.open -= version - least;
    if (known.open === 0) known.openTexts = [];
    Object.assign(known, { version, token: answer.token, text });
  }

  private async read(docid: string, known: Known, prng: Prng): Promise<void> {
    if (known.token === '') return;
    const { status, version } = await this.ask(prng, 'GET', `${DOCUMENTS}/${docid}`, undefined, known.token);
    if (status === 0 || status === 503) return;
    this.reads++;
    if (status !== 200)
      this.violations.push(`${docid} has version ${known.version}, and a read was answered ${status}`);
    else if (version < known.version)
      this.violations.push(`${docid} has version ${known.version}, and a read with its token showed ${version}`);
  }

  /** Searches a document, which finds what was acknowledged last, or a write without an answer. */
  private async search(docid: string, known: Known, prng: Prng): Promise<void> {
    if (known.token === '') return;
    const { status, matches = [] } = await this.ask(prng, 'POST', SEARCH, searchOf(docid), known.token);
    if (status === 0 || status === 503) return;
    this.searches++;
    const texts = matches.map(({ text }) => text);
    const possible = [known.text, ...known.openTexts];
    if (status !== 200 || texts.length !== 1 || !possible.includes(texts[0] as string))
      this.violations.push(
        `${docid} has "${possible.join('" or "')}", and a search was answered ${status} ${JSON.stringify(texts)}`,
      );
  }

  private async ask(prng: Prng, method: string, path: string, body?: object, token = ''): Promise<Answer> {
    const node = this.nodes[prng.int(this.nodes.length)];
    const failed = { status: 0, version: 0, token: '' };
    if (!node?.server) return await sleep(20), failed;
    try {
      const response = await fetch(`${node.server.url}${path}`, {
        method,
        headers: { 'content-type': 'application/json', ...(token !== '' && { 'x-consistency': token }) },
        signal: AbortSignal.timeout(30_000),
        ...(body && { body: JSON.stringify(body) }),
      });
      const json = (await response.json()) as Partial<Answer>;
      if (response.status === 503) await sleep(20);
      return {
        status: response.status,
        version: json.version ?? 0,
        token: response.headers.get('x-consistency') ?? '',
        ...(json.metadata && { metadata: json.metadata }),
        ...(json.matches && { matches: json.matches }),
      };
    } catch {
      await sleep(20);
      return failed;
    }
  }

  /** Waits until every node takes writes again, which takes some time after the log has gone back. */
  private async takesWrites(): Promise<void> {
    await this.upgradeAll();
    for (const { name, server } of this.nodes) {
      const untilMs = performance.now() + MENDED_MS;
      const isTaken = async (): Promise<boolean> => {
        const answer = await fetch(`${server?.url}${DOCUMENTS}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ docid: 'last', text: 'The last one.' }),
        }).catch(() => undefined);
        return answer?.ok === true;
      };
      while (!(await isTaken())) {
        if (performance.now() > untilMs) return void this.violations.push(`${name} takes no writes any more`);
        await sleep(500);
      }
    }
  }

  /** All nodes come to have the same documents, with what was acknowledged, and none is fenced. */
  private async compareAll(): Promise<void> {
    const lists: string[] = [];
    for (let tries = 0; tries < 200; tries++) {
      lists.splice(0);
      for (const { server } of this.nodes) lists.push(await documentsOf(server as LoadServer));
      if (lists.every((list) => list === lists[0])) break;
      await sleep(100);
    }
    if (lists.some((list) => list !== lists[0])) this.violations.push('the nodes have different documents');
    const versions = new Map((lists[0] ?? '').split('\n').map((line) => line.split(' ') as [string, string]));
    for (const [docid, { version, open }] of this.known) {
      const found = Number(versions.get(docid) ?? 0);
      if (found < version || found > version + open)
        this.violations.push(`${docid} has version ${found} in place of ${version} to ${version + open}`);
    }
    for (const docid of this.known.keys()) {
      const found = await Promise.all(this.nodes.map(({ server }) => foundIn(server as LoadServer, docid)));
      if (found.some((each) => each !== found[0]))
        this.violations.push(`the nodes find different things of ${docid}: ${found.join(' and ')}`);
    }
    for (const { name, server } of this.nodes) {
      const { json } = await answerOf(`${server?.url}/v1/admin/cluster`);
      for (const { fenced } of json.nodes as { fenced: string | null }[])
        if (fenced !== null) this.violations.push(`${name} tells of a fence: ${fenced}`);
    }
  }
}

interface Answer {
  readonly status: number;
  readonly version: number;
  readonly token: string;
  readonly metadata?: { readonly text?: string };
  readonly matches?: readonly { readonly text: string }[];
}

/** An answer of a node, which may begin anew meanwhile. Throws if there is none for 30 seconds. */
async function answerOf(
  url: string,
  init: RequestInit = {},
): Promise<{ status: number; json: Record<string, unknown> }> {
  for (const endMs = performance.now() + 30_000; ; await sleep(100)) {
    try {
      const response = await fetch(url, init);
      return { status: response.status, json: (await response.json()) as Record<string, unknown> };
    } catch (error) {
      if (performance.now() > endMs) throw error;
    }
  }
}

const searchOf = (docid: string): object => ({ q: 'text', k: 10, mode: 'vector', filters: { docid } });

/** What a search of a node finds of a document. */
async function foundIn({ url }: LoadServer, docid: string): Promise<string> {
  const { status, json } = await answerOf(`${url}${SEARCH}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(searchOf(docid)),
  });
  return `${status} ${JSON.stringify(json.matches)}`;
}

/** All documents of a node as lines of id, version and time; where it does not list them, what no other node has. */
async function documentsOf({ url }: LoadServer): Promise<string> {
  const lines: string[] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const after = cursor && `&cursor=${encodeURIComponent(cursor)}`;
    const { status, json } = await answerOf(`${url}${DOCUMENTS}?limit=500${after}`);
    if (status !== 200) return `${url} answers ${status}`;
    const page = json as unknown as DocumentPage;
    for (const { docid, version, ingested_at: at } of page.documents) lines.push(`${docid} ${version} ${at}`);
    cursor = page.next_cursor;
  }
  return lines.join('\n');
}

interface DocumentPage {
  readonly documents: readonly { readonly docid: string; readonly version: number; readonly ingested_at: string }[];
  readonly next_cursor?: string;
}
