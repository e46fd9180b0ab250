// The thread module of front threads. A front thread serves the connections that the main thread deals to it
// (src/pool/front-pool.ts): it parses, authenticates, limits and answers requests, runs short searches itself on the
// shared memories and stores of all shards, and forwards everything else to the main thread. It owns nothing that
// outlives it: when it dies, its connections close, and a successor takes its place.
import { parentPort, workerData } from 'node:worker_threads';
import { ERROR_CODEC } from '../../src/api/errors.js';
import { RpcPeer } from '../../src/base/rpc.js';
import { closeSocketsAtExit } from '../../src/base/native-threads.js';
import { createThreadLog, internalErrorOf, noteReady } from '../../src/base/thread.js';
import { BuiltinEmbedder } from '../../src/embedding/builtin/embedder.js';
import { ShardSet } from '../../src/engine/search/snapshot.js';
import { Forwarder } from '../../src/http/forward.js';
import { createFrontRoutes } from '../../src/http/front-routes.js';
import { type ServerShare, serverOptions } from '../../src/http/server-options.js';
import { createHttpServer } from '../../src/http/server.js';
import { loadUws } from '../../src/http/uws.js';
import { Metrics } from '../../src/observability/metrics.js';
import { FRONT_CELLS, type FrontNote } from '../../src/pool/front-messages.js';
import { type FrontReport, type FrontStart, FrontState, createFrontServices } from '../../src/service/front.js';

const start = workerData as FrontStart & ServerShare;
const { config, cells } = start;

// This must come before uWebSockets.js is loaded.
closeSocketsAtExit();
const uws = await loadUws();

const log = createThreadLog(config.log.level === 'debug');
const tracer = config.tracing.enabled
  ? (await import('../../src/observability/tracing.js')).createTracer(config.tracing, config.tuning, log)
  : undefined;

const metrics = new Metrics(config.metrics.tenantLabels);
const state = new FrontState(start);
const forwarder = new Forwarder();
const services = createFrontServices({
  start,
  state,
  shards: new ShardSet(start),
  peer: () => peer,
  embedder: new BuiltinEmbedder(start.embedderFile),
  metrics,
  log,
});
const { queryLog } = services;
const http = createHttpServer(
  uws,
  serverOptions({
    config,
    routes: createFrontRoutes(services, forwarder),
    tenants: state.state.tenants,
    refresh: state.refresh,
    metrics,
    tracer,
    log,
    temporaryDirectory: start.temporaryDirectory,
    shared: start.shared,
    progress: start.progress,
    barrier: () => peer.call('log.barrier', undefined) as Promise<number>,
    counted: (underWay) => Atomics.store(cells, FRONT_CELLS.requests, underWay),
  }),
);

const peer = new RpcPeer(
  start.calls,
  {
    ...forwarder.handlers,
    report: (): FrontReport => ({
      counts: metrics.take(),
      logWaitingBytes: queryLog.waitingBytes,
    }),
    'log.flush': () => queryLog.flush(),
    drain: async (timeoutMs: number) => {
      await http.drain(timeoutMs);
      await queryLog.flush();
      await tracer?.close();
    },
  },
  ERROR_CODEC,
  (error, op) => log.error({ op, error: internalErrorOf(error) }, 'a call of the main thread failed'),
);
forwarder.connect(peer);

parentPort?.on('message', (note: FrontNote) => {
  if ('end' in note) return process.exit(1);
  Atomics.add(cells, FRONT_CELLS.sockets, 1);
  http.adopt(note.socket);
});
noteReady();
