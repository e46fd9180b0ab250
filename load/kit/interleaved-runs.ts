// What the same requests cost servers that are set up differently, in processor time: all of them run, and take many
// short turns in an order that changes, so that whatever else the machine does falls on all alike. Each turn is
// compared with the first server's of the same round.
import { cpuMs } from './server-usage.js';
import { startServer, withFolder, type LoadServer, type Settings } from './server.js';

/** Processor time a request, in microseconds. */
export interface Cost {
  frontUs: number;
  allUs: number;
}

/** Runs `work` with a server for each of the settings, on a data directory of its own. */
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
 * The costs of each server, round by round, of `rounds` or until `isEnough`, which is asked every tenth. `times`:
 * requests of a turn.
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

/** What something costs more, as a share such as .02: the median of the rounds, and between which bounds it is. */
export interface More {
  median: number;
  low: number;
  high: number;
}

/** Standard deviations, so that 99 of 100 such pairs of bounds have the true median between them. */
const BOUNDS_Z = 2.58;

/**
 * What `costs` are more than `base`, round by round. The bounds are order statistics, which no outlier moves; with a
 * few rounds they are the extremes.
 */
export function moreThan(base: readonly Cost[], costs: readonly Cost[], of: keyof Cost): More {
  const shares = costs.map((cost, round) => cost[of] / (base[round]?.[of] ?? NaN) - 1).sort((a, b) => a - b);
  const [n, reach] = [shares.length, (BOUNDS_Z * Math.sqrt(shares.length)) / 2];
  const at = (place: number): number => shares[Math.min(n - 1, Math.max(0, place))] ?? NaN;
  return { median: at(Math.floor(n / 2)), low: at(Math.floor(n / 2 - reach)), high: at(Math.ceil(n / 2 + reach)) };
}
