// Three real NATS servers on this machine, and nodes of a cluster that use them. `skip` says why where no server is
// there; `node scripts/nats-server.mjs` builds one.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after } from 'node:test';
import { type ServeProcess, startServe } from './process.js';
import { tempDirectory } from './temp.js';
import { until } from './until.js';

const found = spawnSync(process.execPath, [
  '--input-type=module',
  '-e',
  `console.log((await import('./scripts/nats-server.mjs')).natsServer() ?? '')`,
]).stdout.toString();
const NATS = found.trim() === '' ? undefined : found.trim();
export const skip =
  NATS === undefined && 'nats-server 2.15.2 or later is absent: node scripts/nats-server.mjs builds it';

interface Ports {
  readonly client: number;
  readonly monitor: number;
  readonly route: number;
}

interface NatsServer {
  readonly name: string;
  readonly monitor: string;
  readonly folder: string;
  /** Starts the server again after its end, and waits until it answers. */
  start(): Promise<void>;
  /** Resolves when the process has ended. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  signal(signal: NodeJS.Signals): void;
}

export interface Nats {
  readonly servers: readonly NatsServer[];
  /** The environment variables by which a node finds the servers. */
  readonly env: Record<string, string>;
  /** The server that leads the stream of the cluster. */
  leader(): Promise<NatsServer>;
}

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}

const config = (name: string, { client, monitor, route }: Ports, all: readonly Ports[], folder: string, sync: string) =>
  `server_name: ${name}
listen: 127.0.0.1:${client}
http: 127.0.0.1:${monitor}
max_payload: 8MB
jetstream { store_dir: "${folder}", max_mem: 64M, max_file: 2G${sync} }
cluster {
  name: test, listen: 127.0.0.1:${route}, no_advertise: true
  routes: [ ${all.map((other) => `"nats://127.0.0.1:${other.route}"`).join(', ')} ]
}
`;

/** Starts three servers, which end with the test file. `sync`: the setting of the block `jetstream`. */
export async function startNats({ sync = ', sync_interval: always' } = {}): Promise<Nats> {
  const ports = await freePorts(9);
  const all = [0, 1, 2].map((i): Ports => {
    const [client, monitor, route] = ports.slice(3 * i, 3 * i + 3) as [number, number, number];
    return { client, monitor, route };
  });
  const servers = all.map((own, i) => server(`n${i + 1}`, own, all, sync));
  await Promise.all(servers.map((each) => each.start()));
  const list = (urls: readonly string[]): string => JSON.stringify(urls);
  return {
    servers,
    env: {
      SHEAF_CLUSTER__NATS: list(all.map(({ client }) => `127.0.0.1:${client}`)),
      SHEAF_CLUSTER__MONITORS: list(servers.map(({ monitor }) => monitor)),
      SHEAF_CLUSTER__LOG_MB: '256',
    },
    async leader() {
      const name = await leaderName(servers);
      return servers.find((each) => each.name === name) as NatsServer;
    },
  };
}

function server(name: string, ports: Ports, all: readonly Ports[], sync: string): NatsServer {
  const folder = tempDirectory();
  mkdirSync(join(folder, 'store'), { recursive: true });
  writeFileSync(join(folder, 'nats.conf'), config(name, ports, all, join(folder, 'store'), sync));
  const monitor = `http://127.0.0.1:${ports.monitor}`;
  let child: ChildProcess | undefined;
  const hasEnded = (): boolean => !child || child.exitCode !== null || child.signalCode !== null;
  after(() => void (hasEnded() || child?.kill('SIGKILL')));
  return {
    name,
    monitor,
    folder,
    async start() {
      const log = openSync(join(folder, 'log'), 'a');
      child = spawn(NATS as string, ['-c', join(folder, 'nats.conf')], { stdio: ['ignore', log, log] });
      await until(
        () =>
          fetch(`${monitor}/healthz`).then(
            ({ ok }) => ok,
            () => false,
          ),
        () => `${name} does not answer: ${readFileSync(join(folder, 'log'), 'utf8').slice(-2000)}`,
      );
    },
    async kill(signal = 'SIGKILL') {
      if (!child || hasEnded()) return;
      const ended = once(child, 'exit');
      child.kill(signal);
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
  await until(async () => {
    for (const { monitor } of servers) {
      const answer = await fetch(`${monitor}/jsz?streams=true`).catch(() => undefined);
      const jsz = (await answer?.json()) as Jsz | undefined;
      name = jsz?.account_details?.[0]?.stream_detail?.find((each) => each.name.startsWith('SHEAF_'))?.cluster?.leader;
      if (name) return true;
    }
    return false;
  }, 'no server leads the stream');
  return name as string;
}

export interface Node extends ServeProcess {
  readonly url: string;
  readonly env: Record<string, string>;
}

/** Starts a node, and waits until it has caught up. */
export async function startNode(nats: Nats, env: Record<string, string> = {}): Promise<Node> {
  const all = { SHEAF_DATA_DIR: tempDirectory(), SHEAF_SERVER__THREADS: '0', ...nats.env, ...env };
  return { ...(await startServe(all)), env: all };
}

/** Starts it again on its data directory. */
export const restartNode = (nats: Nats, { env }: Node): Promise<Node> => startNode(nats, env);
