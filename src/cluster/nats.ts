// The command log as a JetStream stream of NATS: the connection, the stream with the settings that it must have, and the
// checks of both. The only file that imports the NATS client.
//
// Messages are read without consumers, because an ordered consumer stays silent when the server that hosts it dies: the
// stream republishes each message as soon as it is stored, and what a node has missed it gets by sequence.
import { readFileSync } from 'node:fs';
import {
  type JetStreamClient,
  type JetStreamManager,
  type Republish,
  type StreamConfig,
  type StreamInfo,
  jetstream,
  JetStreamApiCodes,
  JetStreamApiError,
  jetstreamManager,
} from '@nats-io/jetstream';
import { type ConnectionOptions, type NatsConnection, connect, credsAuthenticator } from '@nats-io/transport-node';
import { setTimeout as sleep } from 'node:timers/promises';
import { OperatorError } from '../base/operator-error.js';
import type { Log } from '../base/log.js';
import {
  type LogStream,
  type News,
  type Rebuild,
  StreamFull,
  type StreamMessage,
  type StreamState,
} from './log-stream.js';

export interface NatsOptions {
  /** Addresses of the servers. */
  readonly servers: readonly string[];
  /** Addresses of the monitoring endpoints of all servers. */
  readonly monitors: readonly string[];
  /** The name of the cluster, which the stream is named by. */
  readonly cluster: string;
  /** Copies of the stream. */
  readonly replicas: number;
  /** Size of the stream at which writes are refused. */
  readonly logBytesMax: number;
  /** Files; '' for none. */
  readonly credentials: string;
  readonly ca: string;
  /** The number of shards, which all nodes have in common. */
  readonly shards: number;
}

/** A server or a stream is not what the cluster needs. The message says what to change. */
class ClusterSetupError extends OperatorError {
  override readonly name: string = 'ClusterSetupError';
}

/** The servers do not answer, or cannot keep a stream now. */
export class ClusterUnavailable extends ClusterSetupError {
  override readonly name = 'ClusterUnavailable';
}

const VERSION_MIN = '2.15.2';
/** A document with many chunks is one message. */
const PAYLOAD_BYTES_MIN = 8 * 1024 * 1024;
const CONNECT_MS = 5000;
/** Messages that one request gets. */
const BATCH_MESSAGES = 512;
const BATCH_BYTES = 8 * 1024 * 1024;
const BATCH_MS = 5000;
/** A server that acknowledges none of so many messages in a row is left for another one, at most this often. */
const UNACKNOWLEDGED_MAX = 4;
const LEAVE_PAUSE_MS = 10_000;
/** How long the stream remembers the ids of messages. */
const DUPLICATES_NS = 120 * 1e9;
const LAYOUT = '1';
/** What a server that has no room for a message answers, by the number of its error. */
const STORE_FAILED = 10_077;
/** The origin of a data directory without data. */
export const EMPTY = 'empty';

/** The names of a stream and its subjects, which every rebuild gives others. */
interface Names {
  readonly stream: string;
  readonly log: string;
  /** Where messages are published again once they are stored. */
  readonly stored: string;
  readonly told: Readonly<Record<News, string>>;
}

function namesOf(cluster: string, generation: number): Names {
  const prefix = generation === 0 ? `sheaf.${cluster}` : `sheaf.${cluster}.rebuilt-${generation}`;
  return {
    stream: generation === 0 ? `SHEAF_${cluster}` : `SHEAF_${cluster}_rebuilt_${generation}`,
    log: `${prefix}.log`,
    stored: `${prefix}.stored`,
    told: { state: `${prefix}.heads`, event: `${prefix}.events`, taken: `${prefix}.taken` },
  };
}

/**
 * Connects, checks all servers, and creates the stream if there is none. Throws ClusterSetupError for servers and streams
 * that cannot be used, and ClusterUnavailable for servers that do not answer within five seconds, or that have no stream
 * within some `settleMs`: after a start they elect a leader first.
 */
export async function openNats(options: NatsOptions, origin: string, log: Log, settleMs: number): Promise<NatsStream> {
  for (const monitor of options.monitors) await checkServer(monitor);
  const connection = await connect(connectionOf(options)).catch((error: unknown) => {
    throw new ClusterUnavailable(
      `the NATS servers ${options.servers.join(', ')} do not answer (${(error as Error).message}): start them, or correct cluster.nats`,
    );
  });
  try {
    const manager = await jetstreamManager(connection, { checkAPI: false });
    const attempts = new Attempts(settleMs, log);
    const generation = await retriedGeneration(manager, options.cluster, attempts);
    const stream = await settledStream(manager, options, origin, generation, attempts);
    return new NatsStream(connection, manager, stream, log);
  } catch (error) {
    await connection.close();
    throw error;
  }
}

function connectionOf({ servers, credentials, ca }: NatsOptions): ConnectionOptions {
  return {
    servers: [...servers],
    name: 'sheaf',
    timeout: CONNECT_MS,
    // A server that has gone is tried again for ever.
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    ignoreClusterUpdates: true,
    // Otherwise each request makes two errors in advance for their stacks.
    noAsyncTraces: true,
    ...(credentials !== '' && { authenticator: credsAuthenticator(readFileSync(credentials)) }),
    ...(ca !== '' && { tls: { caFile: ca } }),
  };
}

/** What of `/varz` matters. */
interface ServerState {
  server_name?: string;
  version?: string;
  max_payload?: number;
  jetstream?: { config?: { sync_always?: boolean } };
}

async function checkServer(monitor: string): Promise<void> {
  const url = new URL('/varz', monitor);
  let state: ServerState;
  try {
    state = (await (await fetch(url, { signal: AbortSignal.timeout(CONNECT_MS) })).json()) as ServerState;
  } catch {
    // A server that is down now is checked when a node starts the next time.
    return;
  }
  const { server_name: name = monitor, version = '0', max_payload: payload = 0, jetstream } = state;
  if (isOlder(version, VERSION_MIN))
    throw new ClusterSetupError(
      `the NATS server ${name} has version ${version}: a cluster needs ${VERSION_MIN} or later, since earlier ones lose acknowledged messages`,
    );
  if (jetstream?.config?.sync_always !== true)
    throw new ClusterSetupError(
      `the NATS server ${name} does not sync each message to disk: set "sync_interval: always" in its block "jetstream", since otherwise a power cut loses acknowledged messages`,
    );
  if (payload < PAYLOAD_BYTES_MIN)
    throw new ClusterSetupError(
      `the NATS server ${name} takes messages of ${payload} bytes: set "max_payload: 8MB", since a document is one message`,
    );
}

function isOlder(version: string, than: string): boolean {
  const [a, b] = [version, than].map((text) => text.split(/[.-]/).map(Number)) as [number[], number[]];
  for (const [i, part] of b.entries()) {
    const own = a[i] ?? 0;
    if (own !== part) return !(own > part);
  }
  return false;
}

/** The number of the latest rebuild; 0 if there was none. */
async function latestGeneration(manager: JetStreamManager, cluster: string): Promise<number> {
  const prefix = namesOf(cluster, 1).stream.slice(0, -1);
  let latest = 0;
  for await (const name of manager.streams.names(''))
    if (name.startsWith(prefix)) latest = Math.max(latest, Number(name.slice(prefix.length)) || 0);
  return latest;
}

/** The rebuild that has made a stream, which its metadata tell. */
const rebuildIn = ({ config: { metadata } }: StreamInfo): Rebuild | undefined =>
  metadata?.sheaf_rebuild === undefined ? undefined : (JSON.parse(metadata.sheaf_rebuild) as Rebuild);

interface SettledStream {
  readonly options: NatsOptions;
  readonly names: Names;
  readonly rebuild: Rebuild | undefined;
  readonly bytesMax: number;
  /** Made when the stream was created. */
  readonly id: string;
  readonly origin: string;
}

/** The stream and its settings. */
function wantedStream(
  { cluster, replicas, logBytesMax, shards }: NatsOptions,
  generation: number,
  metadata: Readonly<Record<string, string>>,
): WantedStream {
  const names = namesOf(cluster, generation);
  return {
    name: names.stream,
    subjects: [`${names.log}.>`],
    num_replicas: replicas,
    storage: 'file',
    retention: 'limits',
    discard: 'new',
    deny_delete: true,
    max_bytes: logBytesMax,
    duplicate_window: DUPLICATES_NS,
    allow_direct: true,
    republish: { src: `${names.log}.>`, dest: `${names.stored}.>` },
    metadata: { sheaf_layout: LAYOUT, sheaf_shards: String(shards), ...metadata },
  };
}

type WantedStream = Partial<StreamConfig> & { name: string; republish: Republish };

async function settledStream(
  manager: JetStreamManager,
  options: NatsOptions,
  origin: string,
  generation: number,
  attempts: Attempts,
): Promise<SettledStream> {
  const { replicas, shards } = options;
  const wanted = wantedStream(options, generation, { sheaf_origin: origin, sheaf_id: newId() });
  const { name } = wanted;
  const info = await foundOrCreated(manager, wanted, attempts);
  const { config } = info;
  const metadata = config.metadata ?? {};
  const problems = [
    config.num_replicas < replicas &&
      `it has ${config.num_replicas} replicas instead of ${replicas} (cluster.replicas)`,
    config.storage !== 'file' && 'it is not stored in files',
    config.discard !== 'new' && 'it discards old messages when it is full, instead of refusing new ones',
    !config.deny_delete && 'its messages can be deleted',
    !config.allow_direct && 'its messages cannot be read from every replica',
    config.republish?.dest !== wanted.republish.dest && 'it does not republish its messages',
    metadata.sheaf_layout !== LAYOUT && 'it is not a command log of this release',
  ].filter((problem) => problem !== false);
  if (problems.length > 0)
    throw new ClusterSetupError(`the stream ${name} cannot be the command log: ${problems.join(', ')}`);
  if (metadata.sheaf_shards !== String(shards))
    throw new ClusterSetupError(
      `the cluster has ${metadata.sheaf_shards} shards, and this data directory has ${shards}: set storage.partitions to ${metadata.sheaf_shards} and begin with an empty data directory`,
    );
  if (origin !== '' && origin !== EMPTY && metadata.sheaf_origin !== origin)
    throw new ClusterSetupError(
      'the data directory has data that the cluster does not begin with: begin with an empty one',
    );
  const { sheaf_id: id = '', sheaf_origin: began = '' } = metadata;
  const names = namesOf(options.cluster, generation);
  return { options, names, rebuild: rebuildIn(info), id, origin: began, bytesMax: config.max_bytes };
}

const AGAIN_MS = 500;

/** Attempts within some time. The second failure is logged: two nodes that make a stream at once make one. */
class Attempts {
  private readonly untilMs: number;
  private failures = 0;

  constructor(
    withinMs: number,
    private readonly log: Log,
  ) {
    this.untilMs = performance.now() + withinMs;
  }

  /** Resolves to whether another attempt is to be made, after a pause. */
  async again(reason: string): Promise<boolean> {
    if (++this.failures === 2) this.log.warn({ reason }, 'JetStream is not ready; the node tries again');
    if (performance.now() > this.untilMs) return false;
    await sleep(AGAIN_MS);
    return true;
  }
}

/** JetStream may not answer while its servers start. */
async function retriedGeneration(manager: JetStreamManager, cluster: string, attempts: Attempts): Promise<number> {
  for (;;) {
    try {
      return await latestGeneration(manager, cluster);
    } catch (error) {
      const { message } = error as Error;
      if (await attempts.again(message)) continue;
      throw new ClusterUnavailable(`JetStream does not answer (${message}): look at its servers`);
    }
  }
}

/** Another node may create the stream first. */
async function foundOrCreated(
  manager: JetStreamManager,
  wanted: Partial<StreamConfig> & { name: string },
  attempts: Attempts,
): Promise<StreamInfo> {
  for (;;) {
    try {
      return await manager.streams.info(wanted.name).catch(() => manager.streams.add(wanted));
    } catch (error) {
      const { message } = error as Error;
      if (await attempts.again(message)) continue;
      throw new ClusterUnavailable(
        `the stream ${wanted.name} cannot be created (${message}): JetStream needs ${wanted.num_replicas} servers that know each other, with room for cluster.log_mb on each disk ("max_file")`,
      );
    }
  }
}

const newId = (): string => crypto.randomUUID();

/** The stream of a cluster. */
export class NatsStream implements LogStream {
  readonly id: string;
  private readonly client: JetStreamClient;
  /** Messages in a row without an acknowledgement. */
  private unacknowledged = 0;
  private leftAtMs = performance.now();

  constructor(
    private readonly connection: NatsConnection,
    private readonly manager: JetStreamManager,
    private readonly stream: SettledStream,
    private readonly log: Log,
  ) {
    this.id = stream.id;
    this.client = jetstream(connection);
    void this.watch();
  }

  get bytesMax(): number {
    return this.stream.bytesMax;
  }

  get payloadBytesMax(): number {
    return this.connection.info?.max_payload ?? PAYLOAD_BYTES_MIN;
  }

  async publish(target: string, payload: Uint8Array, id: string, timeoutMs: number): Promise<number> {
    return this.append(this.stream.names, { target, payload, id }, timeoutMs);
  }

  async publishAfter(message: Omit<StreamMessage, 'sequence'>, last: number, timeoutMs: number): Promise<number> {
    return this.append(this.stream.names, message, timeoutMs, { lastSubjectSequence: last });
  }

  private async append(
    names: Names,
    { target, payload, id }: Omit<StreamMessage, 'sequence'>,
    timeoutMs: number,
    expect: { readonly lastSubjectSequence?: number } = {},
  ): Promise<number> {
    try {
      const { seq } = await this.client.publish(`${names.log}.${target}`, payload, {
        msgID: id,
        timeout: timeoutMs,
        retries: 0,
        expect: { streamName: names.stream, ...expect },
      });
      this.unacknowledged = 0;
      return seq;
    } catch (error) {
      if ((error as Error).name === 'TimeoutError') this.leave();
      throw error instanceof JetStreamApiError && error.code === STORE_FAILED ? new StreamFull(error.message) : error;
    }
  }

  /**
   * Connects to another server after some messages in a row that were not acknowledged: the server of this node answers,
   * but does not reach the one that leads the stream.
   */
  private leave(): void {
    const nowMs = performance.now();
    if (++this.unacknowledged < UNACKNOWLEDGED_MAX || nowMs - this.leftAtMs < LEAVE_PAUSE_MS) return;
    this.unacknowledged = 0;
    this.leftAtMs = nowMs;
    this.log.warn({}, 'the NATS server acknowledges nothing; the node connects to another one');
    void this.connection.reconnect().catch(() => undefined);
  }

  async lastOf(target: string): ReturnType<LogStream['lastOf']> {
    const subject = `${this.stream.names.log}.${target}`;
    const found = await this.manager.direct.getMessage(this.stream.names.stream, { last_by_subj: subject });
    return found ? { sequence: found.seq, payload: found.data } : undefined;
  }

  onStored(take: (message: StreamMessage) => void): void {
    const prefix = `${this.stream.names.stored}.`;
    this.connection.subscribe(`${prefix}>`, {
      callback: (error, { subject, data, headers }) => {
        if (error || !headers) return;
        take({
          sequence: Number(headers.get('Nats-Sequence')),
          target: subject.slice(prefix.length),
          payload: data,
          id: headers.get('Nats-Msg-Id'),
        });
      },
    });
  }

  async *read(from: number): AsyncGenerator<StreamMessage> {
    const prefix = `${this.stream.names.log}.`;
    const found = await this.manager.direct.getBatch(this.stream.names.stream, {
      seq: from,
      batch: BATCH_MESSAGES,
      max_bytes: BATCH_BYTES,
    });
    const timer = setTimeout(() => found.stop(new Error('the batch does not end')), BATCH_MS);
    try {
      for await (const { seq, subject, data, header } of found)
        yield { sequence: seq, target: subject.slice(prefix.length), payload: data, id: header.get('Nats-Msg-Id') };
    } finally {
      clearTimeout(timer);
    }
  }

  async state(): Promise<StreamState> {
    const info = await this.manager.streams.info(this.stream.names.stream).catch((error: unknown) => {
      if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound) return undefined;
      throw error;
    });
    if (!info) return { id: '', first: 1, last: 0, bytes: 0 };
    const { state, config } = info;
    return { id: config.metadata?.sheaf_id ?? '', first: state.first_seq, last: state.last_seq, bytes: state.bytes };
  }

  async trim(before: number): Promise<void> {
    await this.manager.streams.purge(this.stream.names.stream, { seq: before });
  }

  get origin(): string {
    return this.stream.origin;
  }

  get rebuild(): Rebuild | undefined {
    return this.stream.rebuild;
  }

  async latestRebuild(): Promise<Rebuild | undefined> {
    const { cluster } = this.stream.options;
    const generation = await latestGeneration(this.manager, cluster);
    return generation === 0
      ? undefined
      : rebuildIn(await this.manager.streams.info(namesOf(cluster, generation).stream));
  }

  async announceRebuild(rebuild: Rebuild): Promise<void> {
    const { generation, stream: id } = rebuild;
    const metadata = {
      sheaf_origin: `rebuild ${generation}`,
      sheaf_id: id,
      sheaf_rebuild: JSON.stringify(rebuild),
    };
    await this.manager.streams.add(wantedStream(this.stream.options, generation, metadata));
  }

  async publishTo({ generation }: Rebuild, message: Omit<StreamMessage, 'sequence'>, timeoutMs: number): Promise<void> {
    await this.append(namesOf(this.stream.options.cluster, generation), message, timeoutMs);
  }

  tell(of: News, what: object): void {
    this.connection.publish(this.stream.names.told[of], JSON.stringify(what));
  }

  onTold(of: News, take: (what: unknown) => void): void {
    this.connection.subscribe(this.stream.names.told[of], {
      callback: (error, message) => void (error || take(message.json())),
    });
  }

  async close(): Promise<void> {
    await this.connection.close();
  }

  private async watch(): Promise<void> {
    for await (const { type } of this.connection.status()) {
      if (type === 'disconnect') this.log.warn({}, 'the connection to the NATS server is lost; writes wait');
      if (type === 'reconnect') this.log.info({}, 'connected to a NATS server again');
    }
  }
}
