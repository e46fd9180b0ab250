// The `serve` command: starts the server, tells the operator where it is, stops it on SIGTERM or SIGINT with exit code
// 0. Called by main through the command line; prints by the function it is given.
import { readFileSync } from 'node:fs';
import type { Config } from './config-shape.js';
import type { EmbedderInventory } from './contract/api/tenants.js';
import { ConfigError } from './config-tenant-keys.js';
import { readConfig } from './config.js';
import { ListenError } from './http/server.js';
import { TlsError } from './http/tls.js';
import { UwsError } from './http/uws.js';
import { descriptorLimit, serveDescriptors, tooFew } from './descriptors.js';
import { createLogger } from './logger.js';
import { startServer, type RunningServer } from './server.js';
import { isReady } from './service/health.js';
import { DataDirectoryError } from './store/data-dir.js';

const READY_RECHECK_MS = 20;
const LOG_THREADS = 1;

/** Runs until it is told to stop; the exit code. `print` writes lines for the operator. */
export async function serve(env: NodeJS.ProcessEnv, print: (line: string) => void): Promise<number> {
  const startedAtMs = performance.now();
  try {
    const config = readConfig(env);
    const [limit, wanted] = [descriptorLimit(), descriptorsOf(config)];
    if (limit < wanted) {
      print(tooFew(limit, wanted));
      return 1;
    }
    const server = await startServer(config, createLogger(config.log.level));
    const stopped = untilSignal(server);
    const hasStarted = await Promise.race([untilReady(server), stopped.then(() => false)]);
    if (hasStarted) print(banner(server, config, performance.now() - startedAtMs).join('\n'));
    await stopped;
    return 0;
  } catch (error) {
    if (!isOperatorError(error)) throw error;
    print(`sheaf: ${error.message}`);
    return 1;
  }
}

function descriptorsOf({ partitions, search, threads: { embed, batch } }: Config): number {
  return serveDescriptors(partitions, search.threads + embed.queries + embed.documents + batch + LOG_THREADS);
}

function isOperatorError(error: unknown): error is Error {
  return (
    error instanceof ConfigError ||
    error instanceof DataDirectoryError ||
    error instanceof ListenError ||
    error instanceof TlsError ||
    error instanceof UwsError
  );
}

/** A second signal while stopping ends the process at once. */
function untilSignal(server: RunningServer): Promise<void> {
  return new Promise((resolve, reject) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const)
      process.once(signal, () => void server.stop().then(resolve, reject));
  });
}

/**
 * True once everything is usable. A server that is told to stop before that never is; the timer keeps no process alive.
 */
async function untilReady({ context }: RunningServer): Promise<true> {
  for (;;) {
    if (isReady(context)) return true;
    await new Promise((resolve) => setTimeout(resolve, READY_RECHECK_MS).unref());
  }
}

function banner(
  { port, dataDir, context }: RunningServer,
  { host, tls, auth: { mode: authMode } }: Config,
  tookMs: number,
): string[] {
  const url = `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const key = authMode === 'none' ? '' : ` -H "Authorization: Bearer $KEY"`;
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  return [
    `Sheaf ${version} is ready at ${url} after ${(tookMs / 1000).toFixed(1)} s`,
    `  console   ${url}/ui`,
    `  data      ${dataDir} (${context.shards.size} shards)`,
    `  embedder  ${embedderLabels(context.embedders.inventory()).join(', ')}`,
    `  auth      ${authMode}${authMode !== 'none' ? `: the admin key is auth.admin_key, or in ${dataDir}/admin.key` : ', loopback only'}`,
    `  interface ${url}/docs, for agents ${url}/mcp`,
    `  try       curl -s${key} ${url}/v1/collections/default/docs/documents --json '{"text":"Captain Nemo commands the Nautilus."}'`,
    `            curl -s${key} "${url}/v1/collections/default/docs/search?q=submarine+captain"`,
    '            or sheaf ingest FOLDER and sheaf search QUERY (in a checkout: npx sheaf); sheaf --help shows the rest',
  ];
}

/** The default first. */
function embedderLabels({ embedders, default: { vector_key: vectorKey } }: EmbedderInventory): string[] {
  const label = ({ embedder_type, embed_model }: EmbedderInventory['embedders'][number]): string =>
    `${embedder_type}:${embed_model}`;
  const isDefault = ({ vector_key }: EmbedderInventory['embedders'][number]): boolean => vector_key === vectorKey;
  const others = embedders.filter((embedder) => !isDefault(embedder));
  return [
    ...new Set([
      ...embedders.filter(isDefault).map((embedder) => `${label(embedder)} (default)`),
      ...others.map(label),
    ]),
  ];
}
