// Compares the CPU time of the same requests on differently configured servers. All servers run and take many short
// turns in varying order, so that other work on the machine affects all alike. Each turn is compared with the first
// server's turn of the same round.
import { cpuMs } from './server-usage.js';
import { startServer, withFolder, type LoadServer, type Settings } from './server.js';

/** CPU time per request in microseconds. */
export interface Cost {
  frontUs: number;
  allUs: number;
}

/** Runs `work` with one server per settings, each on its own data directory. */
export async function withServers(
  settings: readonly Settings[],
  work: (servers: readonly LoadServer[]) => Promise<void>,
  started: readonly LoadServer[] = [],
): Promise<void> {
  const [first, ...rest] = settings;
  if (!first) return work(started);
  await withFolder(async (folder) => {
    const server = await startServer(folder, first);
    try {
      await withServers(rest, work, [...started, server]);
    } finally {
      await server.kill();
    }
  });
}

/**
 * Costs of each server per round, for `rounds` rounds or until `isEnough`, which is called every tenth round. `times`
 * is the number of requests per turn.
 */
export async function takeTurns(
  servers: readonly LoadServer[],
  rounds: number,
  times: number,
  request: (url: string) => Promise<void>,
  isEnough: (costs: readonly Cost[][]) => boolean = () => false,
): Promise<Cost[][]> {
  const costs: Cost[][] = servers.map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (let n = 0; n < servers.length; n++) {
      const place = (n + round) % servers.length;
      costs[place]?.push(await turn(servers[place] as LoadServer, times, request));
    }
    if ((round + 1) % 10 === 0 && isEnough(costs)) break;
  }
  return costs;
}

const CONNECTIONS = 8;

async function turn({ url, pid }: LoadServer, times: number, request: (url: string) => Promise<void>): Promise<Cost> {
  const before = cpuMs(pid);
  let left = times;
  const connection = async (): Promise<void> => {
    while (left-- > 0) await request(url);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, connection));
  const after = cpuMs(pid);
  const us = (of: keyof Cost & string, what: 'front' | 'all'): [string, number] => [
    of,
    (((after?.[what] ?? NaN) - (before?.[what] ?? NaN)) * 1000) / times,
  ];
  return Object.fromEntries([us('frontUs', 'front'), us('allUs', 'all')]) as unknown as Cost;
}

/** The additional cost as a share, such as .02: the median of the rounds with its confidence bounds. */
export interface More {
  median: number;
  low: number;
  high: number;
}

/** Half the width of the bounds in standard deviations: they contain the true median in 99 % of cases. */
const BOUNDS_Z = 2.58;

/**
 * The additional cost of `costs` over `base`, round by round. The bounds are order statistics, which outliers do not
 * move; with few rounds they are the extremes.
 */
export function moreThan(base: readonly Cost[], costs: readonly Cost[], of: keyof Cost): More {
  const shares = costs.map((cost, round) => cost[of] / (base[round]?.[of] ?? NaN) - 1).sort((a, b) => a - b);
  const [n, reach] = [shares.length, (BOUNDS_Z * Math.sqrt(shares.length)) / 2];
  const at = (place: number): number => shares[Math.min(n - 1, Math.max(0, place))] ?? NaN;
  return { median: at(Math.floor(n / 2)), low: at(Math.floor(n / 2 - reach)), high: at(Math.ceil(n / 2 + reach)) };
}
