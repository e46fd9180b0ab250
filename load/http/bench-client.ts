// `sheaf bench` beside wrk, a client in C, on the same searches of one server: what each reaches, and what it costs. Both
// share the machine with the server.
import { execFile, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { SheafClient } from '../../src/client/client.js';
import { type LoadOptions, printTable, whole } from '../kit/command.js';
import { startServer, withFolder } from '../kit/server.js';

const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const DOCUMENTS = 200;
const QUERIES = ['submarine captain', 'who commands the ship', 'a whale under the sea', 'number 17'];
const CONNECTIONS = 16;
const ROUNDS = 4;

interface Reached {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** CPU time of the client. */
  readonly cpuS: number;
}

export async function benchClient({ tiny, number }: LoadOptions): Promise<void> {
  const seconds = number('seconds', tiny ? 1 : 6);
  const hasWrk = spawnSync('wrk', ['-v']).error === undefined;
  if (!hasWrk) console.log('wrk is absent: apt-get install wrk');
  await withFolder(async (folder) => {
    const server = await startServer(folder);
    try {
      const client = new SheafClient({ url: server.url });
      const documents = Array.from({ length: DOCUMENTS }, (_, i) => ({
        docid: `d${i}`,
        text: `Captain Nemo commands the Nautilus, number ${i}, under the sea.`,
      }));
      await client.ingestBatch('default', 'docs', documents);
      const [queries, script] = [join(folder, 'queries.txt'), join(folder, 'searches.lua')];
      writeFileSync(queries, QUERIES.join('\n'));
      writeFileSync(script, scriptOf(QUERIES));
      const ways: [string, () => Promise<Reached>][] = [['sheaf bench', () => bench(server.url, queries, seconds)]];
      if (hasWrk) ways.push(['wrk', () => wrk(server.url, script, seconds)]);
      const rows = [['client', 'round', 'searches/s', 'p50 ms', 'p99 ms', 'CPU of the client, µs a search']];
      for (let round = 1; round <= ROUNDS; round++)
        for (const [name, run] of ways) {
          const { perSecond, p50Ms, p99Ms, cpuS } = await run();
          const cost = whole((cpuS * 1e6) / (perSecond * seconds));
          rows.push([name, String(round), whole(perSecond), p50Ms.toFixed(2), p99Ms.toFixed(2), cost]);
        }
      printTable(`Searches by text over ${DOCUMENTS} documents, ${CONNECTIONS} connections, ${seconds} s each`, rows);
    } finally {
      await server.kill();
    }
  });
}

async function bench(url: string, queries: string, seconds: number): Promise<Reached> {
  const flags = ['--url', url, '--seconds', String(seconds), '--connections', String(CONNECTIONS), '--json'];
  const { stdout, cpuS } = await timed(process.execPath, [MAIN, 'bench', '-c', 'docs', '--queries', queries, ...flags]);
  const { per_second: perSecond, latency_ms: latency } = JSON.parse(stdout) as {
    per_second: number;
    latency_ms: { p50: number; p99: number };
  };
  return { perSecond, p50Ms: latency.p50, p99Ms: latency.p99, cpuS };
}

async function wrk(url: string, script: string, seconds: number): Promise<Reached> {
  const flags = ['-t1', `-c${CONNECTIONS}`, `-d${seconds}s`, '--latency', '-s', script];
  const { stdout, cpuS } = await timed('wrk', [...flags, `${url}/v1/collections/default/docs/search`]);
  if (/Non-2xx/.test(stdout)) throw new Error(stdout);
  const ms = (quantile: string): number => {
    const [, value, unit] = new RegExp(`${quantile}%\\s+([\\d.]+)(us|ms|s)`).exec(stdout) ?? [];
    return Number(value) * (unit === 'us' ? 0.001 : unit === 's' ? 1000 : 1);
  };
  return { perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]), p50Ms: ms('50'), p99Ms: ms('99'), cpuS };
}

/** Runs a program by the shell, which tells its CPU time. */
async function timed(program: string, args: readonly string[]): Promise<{ stdout: string; cpuS: number }> {
  const line = 'TIMEFORMAT="%U %S"; time "$@"';
  const { stdout, stderr } = await promisify(execFile)('bash', ['-c', line, 'bash', program, ...args]);
  const [user = NaN, system = NaN] = (stderr.trim().split('\n').at(-1) ?? '').split(' ').map(Number);
  return { stdout, cpuS: user + system };
}

/** A script for wrk that sends the queries in turn. */
function scriptOf(queries: readonly string[]): string {
  const bodies = queries.map((q) => `[==[${JSON.stringify({ q, k: 10 })}]==]`).join(', ');
  return `local bodies, turn = { ${bodies} }, 0
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
request = function()
  turn = turn % #bodies + 1
  return wrk.format(nil, nil, nil, bodies[turn])
end
`;
}
