// The check of `sheaf doctor` on the port: free, taken by a Sheaf, or by another program.
// Called by doctor.ts.
import { createServer } from 'node:net';
import { SheafClient } from '../client/client.js';
import type { Config } from '../config-shape.js';
import type { Finding } from './doctor-findings.js';

const ANSWER_MS = 1000;

export async function portFinding({ host, port, tls }: Config): Promise<Finding> {
  const name = 'port';
  const where = `${host}:${port}`;
  const refusal = await listenRefusal(host, port);
  if (refusal === undefined) return { name, state: 'ok', found: `${where} is free` };
  if (refusal !== 'EADDRINUSE')
    return {
      name,
      state: 'fail',
      found: `${where}: ${refusal}`,
      remedy: 'Take an address of this machine (server.host), and a port that this user may listen on.',
    };
  const client = new SheafClient({
    url: `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`,
    timeoutMs: ANSWER_MS,
  });
  const version = await client.health().then(
    (health) => health.version,
    () => undefined,
  );
  if (version !== undefined) return { name, state: 'ok', found: `Sheaf ${version} serves on ${where}` };
  return {
    name,
    state: 'fail',
    found: `${where} is taken by another program`,
    remedy: 'Take another one: server.port, or sheaf serve --port.',
  };
}

function listenRefusal(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'unknown'));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}
