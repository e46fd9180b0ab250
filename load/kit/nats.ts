// Three NATS servers on this machine, for measurements, tests and `npm run cluster`. `findNats` builds none;
// `node scripts/nats-server.mjs` does.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Network } from './network.js';
import { dieTogether, freePort } from './server.js';

/** The path of a server that is late enough; undefined if there is none. */
export function findNats(): string | undefined {
  const script = `console.log((await import('./scripts/nats-server.mjs')).natsServer() ?? '')`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script]);
  const path = stdout.toString().trim();
  return path === '' ? undefined : path;
}

interface Ports {
  readonly client: number;
  readonly monitor: number;
  readonly route: number;
}

interface NatsServer {
  readonly name: string;
  /** The address of its monitoring endpoint. */
  readonly monitor: string;
  readonly port: number;
  /** Of its process; undefined before it was started. */
  readonly pid: number | undefined;
  /** Where it keeps its streams. */
  readonly store: string;
  /**
   * Starts the server unless it runs, and waits until it answers. `health`: what it is asked; by default whether its
   * streams are current.
   */
  start(health?: string): Promise<void>;
  /** Resolves when the process has ended. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  signal(signal: NodeJS.Signals): void;
}

export interface Nats {
  readonly servers: readonly NatsServer[];
  /** The settings by which a node finds the servers. */
  readonly env: Readonly<Record<string, string>>;
  /** The settings of a node that reaches the servers by the network of the options. */
  envOf(node: string): Promise<Readonly<Record<string, string>>>;
  /** The server that leads the stream of the cluster. */
  leader(): Promise<NatsServer>;
}

export interface NatsOptions {
  /** A setting of the block `jetstream`, with a comma before it. */
  readonly sync?: string;
  readonly logMb?: number;
  /** More of the configuration of every server, such as certificates. */
  readonly settings?: string;
  /** Between the servers, and between them and nodes that `envOf` names. */
  readonly network?: Network;
}

const config = (
  name: string,
  { client, monitor, route }: Ports,
  routes: readonly number[],
  store: string,
  { sync = ', sync_interval: always', settings = '' }: Pick<NatsOptions, 'sync' | 'settings'>,
): string =>
  `server_name: ${name}
listen: 127.0.0.1:${client}
http: 127.0.0.1:${monitor}
max_payload: 8MB
jetstream { store_dir: "${store}", max_mem: 64M, max_file: 8G${sync} }
cluster {
  name: sheaf, listen: 127.0.0.1:${route}, no_advertise: true
  routes: [ ${routes.map((port) => `"nats://127.0.0.1:${port}"`).join(', ')} ]
}
${settings}
`;

/**
 * Starts three servers that keep their streams below `folder`. They end with this process. New servers have been seen to
 * find no leader for a minute; then others are started, since what is measured and tested comes after that.
 */
export async function startNats(folder: string, options: NatsOptions = {}): Promise<Nats> {
  return startOnce(folder, options).catch((first: Error) =>
    startOnce(`${folder}-again`, options).catch((second: Error) => {
      throw new Error(`${second.message}; the first servers: ${first.message}`);
    }),
  );
}

async function startOnce(folder: string, options: NatsOptions): Promise<Nats> {
  const { logMb = 256, network } = options;
  const program = findNats();
  if (program === undefined) throw new Error('nats-server is absent: node scripts/nats-server.mjs builds it');
  const all: Ports[] = [];
  for (let i = 0; i < 3; i++)
    all.push({ client: await freePort(), monitor: await freePort(), route: await freePort() });
  const named = all.map((ports, i) => ({ name: `n${i + 1}`, ...ports }));
  const linked = async (from: string, to: string, port: number): Promise<number> =>
    network && from !== to ? network.link(from, to, port) : port;
  const servers: NatsServer[] = [];
  for (const own of named) {
    const routes: number[] = [];
    for (const { name, route } of named) routes.push(await linked(own.name, name, route));
    servers.push(serverOf(program, join(folder, own.name), own.name, own, routes, options));
  }
  await Promise.all(servers.map((each) => each.start())).catch(async (error: unknown) => {
    await Promise.all(servers.map((each) => each.kill()));
    throw error;
  });
  const envOf = async (node: string): Promise<Record<string, string>> => {
    const clients: number[] = [];
    for (const { name, client } of named) clients.push(node === '' ? client : await linked(node, name, client));
    return {
      SHEAF_CLUSTER__NATS: JSON.stringify(clients.map((port) => `127.0.0.1:${port}`)),
      SHEAF_CLUSTER__MONITORS: JSON.stringify(servers.map(({ monitor }) => monitor)),
      SHEAF_CLUSTER__LOG_MB: String(logMb),
    };
  };
  return {
    servers,
    env: await envOf(''),
    envOf,
    async leader() {
      const name = await leaderName(servers);
      return servers.find((each) => each.name === name) as NatsServer;
    },
  };
}

/** Puts all servers back to what they had before `work`, as a restore of their disks from an older copy does. */
export async function backInTime({ servers }: Nats, work: () => Promise<void>): Promise<void> {
  const all = (each: (server: NatsServer) => Promise<void>): Promise<unknown> => Promise.all(servers.map(each));
  const older = (store: string): string => `${store}.old`;
  await all((server) => server.kill());
  for (const { store } of servers) cpSync(store, older(store), { recursive: true });
  await all((server) => server.start());
  await work();
  await all((server) => server.kill());
  for (const { store } of servers) {
    rmSync(store, { recursive: true });
    renameSync(older(store), store);
  }
  await all((server) => server.start());
}

const WAIT_MS = 60_000;
const LOOK_MS = 50;

async function until(isSo: () => Promise<boolean>, otherwise: () => string): Promise<void> {
  const endMs = performance.now() + WAIT_MS;
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error(otherwise());
    await sleep(LOOK_MS);
  }
}

function serverOf(
  program: string,
  folder: string,
  name: string,
  ports: Ports,
  routes: readonly number[],
  options: NatsOptions,
): NatsServer {
  const store = join(folder, 'store');
  mkdirSync(store, { recursive: true });
  writeFileSync(join(folder, 'nats.conf'), config(name, ports, routes, store, options));
  const monitor = `http://127.0.0.1:${ports.monitor}`;
  let child: ChildProcess | undefined;
  const isAlive = (): boolean => child !== undefined && child.exitCode === null && child.signalCode === null;
  return {
    name,
    monitor,
    port: ports.client,
    get pid() {
      return child?.pid;
    },
    store,
    async start(health = '/healthz') {
      if (isAlive()) return;
      const log = openSync(join(folder, 'log'), 'a');
      child = spawn(program, ['-c', join(folder, 'nats.conf')], { stdio: ['ignore', log, log] });
      dieTogether(child);
      const isHealthy = (): Promise<boolean> =>
        fetch(`${monitor}${health}`).then(
          ({ ok }) => ok,
          () => false,
        );
      await until(
        isHealthy,
        () => `${name} does not answer: ${readFileSync(join(folder, 'log'), 'utf8').slice(-2000)}`,
      );
    },
    async kill(signal = 'SIGKILL') {
      if (!isAlive()) return;
      const ended = once(child as ChildProcess, 'exit');
      child?.kill(signal);
      await ended;
    },
    signal: (signal) => void child?.kill(signal),
  };
}

/** What `/jsz` tells of the streams. */
interface Jsz {
  account_details?: { stream_detail?: { name: string; cluster?: { leader?: string } }[] }[];
}

async function leaderName(servers: readonly NatsServer[]): Promise<string> {
  let name: string | undefined;
  await until(
    async () => {
      for (const { monitor } of servers) {
        const answer = await fetch(`${monitor}/jsz?streams=true`).catch(() => undefined);
        const jsz = (await answer?.json()) as Jsz | undefined;
        const streams = jsz?.account_details?.[0]?.stream_detail;
        name = streams?.find((each) => each.name.startsWith('SHEAF_'))?.cluster?.leader;
        if (name) return true;
      }
      return false;
    },
    () => 'no server leads the stream',
  );
  return name as string;
}
