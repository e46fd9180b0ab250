// Three real NATS servers, and nodes of a cluster that use them. `skip` says why where no server is there.
import { after } from 'node:test';
import { type Nats, type NatsOptions, findNats, startNats as start } from '../../load/kit/nats.js';
import { freePort } from '../../load/kit/server.js';
import { type ServeProcess, startServe } from './process.js';
import { tempDirectory } from './temp.js';

export const skip =
  findNats() === undefined && 'nats-server 2.15.2 or later is absent: node scripts/nats-server.mjs builds it';

/** Starts three servers, which end with the test file. */
export async function startNats(options: NatsOptions = {}): Promise<Nats> {
  const nats = await start(tempDirectory(), options);
  after(() => Promise.all(nats.servers.map((server) => server.kill())));
  return nats;
}

export interface Node extends ServeProcess {
  readonly url: string;
  readonly env: Record<string, string>;
}

/** Starts a node, and waits until it has caught up. */
export async function startNode(nats: Pick<Nats, 'env'>, env: Record<string, string> = {}): Promise<Node> {
  // A node that begins anew has the port that it had.
  const SHEAF_SERVER__PORT = String(await freePort());
  const all = { SHEAF_DATA_DIR: tempDirectory(), SHEAF_SERVER__THREADS: '0', SHEAF_SERVER__PORT, ...nats.env, ...env };
  return { ...(await startServe(all)), env: all };
}

/** Starts it again on its data directory. */
export const restartNode = (nats: Nats, { env }: Node): Promise<Node> => startNode(nats, env);

interface Answer {
  readonly status: number;
  readonly json: any;
  /** What the answer may be read after, on any node. */
  readonly token: string;
}

/** Asks a node with JSON. Rejects while it does not answer. */
export async function ask(
  { url }: Pick<Node, 'url'>,
  method: string,
  path: string,
  body?: object,
  headers = {},
): Promise<Answer> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  return {
    status: response.status,
    json: await response.json(),
    token: response.headers.get('x-consistency') ?? '',
  };
}
