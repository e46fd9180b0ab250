// One turn of one database at one workload: its answers judged, then the same requests as fast as the connections carry
// them, with what that costs its process. Used by load/suite/peers.ts.
import { hammer, type CannonRequest } from '../../kit/hammer.js';
import type { Contestant } from './field.js';
import type { MemoryMb } from './own-process.js';
import { send, type Hit } from './peer.js';
import { K } from './rows.js';

/** JavaScript is compiled meanwhile, Python is not. */
const WARM_UP_SECONDS = 3;
const JUDGED_AT_ONCE = 4;

export interface Measured {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuMsPerRequest?: number;
  readonly memory?: MemoryMb;
}

export interface Load {
  readonly requests: CannonRequest[];
  readonly connections: number;
  readonly seconds: number;
}

export async function measure(
  { url, process }: Contestant,
  { requests: all, connections, seconds }: Load,
): Promise<Measured> {
  const requests = inTurn(all);
  if (seconds > WARM_UP_SECONDS) await hammer({ url, connections, seconds: WARM_UP_SECONDS, requests });
  const cpuBefore = process?.cpuMs() ?? 0;
  const { requests: answered, requestsPerSecond, p50Ms, p99Ms } = await hammer({ url, connections, seconds, requests });
  if (answered === 0) throw new Error(`no answer within ${seconds} s`);
  if (process === undefined) return { requestsPerSecond, p50Ms, p99Ms };
  return {
    requestsPerSecond,
    p50Ms,
    p99Ms,
    cpuMsPerRequest: (process.cpuMs() - cpuBefore) / answered,
    memory: process.memory(),
  };
}

/**
 * One after the other over all connections: for each connection to make all of them ready takes seconds, in which
 * nothing is sent.
 */
function inTurn(requests: CannonRequest[]): CannonRequest[] {
  let sent = 0;
  return requests.length === 1
    ? requests
    : [{ ...(requests[0] as CannonRequest), setupRequest: () => requests[sent++ % requests.length] as CannonRequest }];
}

/** Of several rounds, each figure by itself. */
export function meanOf(rounds: readonly Measured[]): Measured {
  const mean = (figure: (round: Measured) => number): number =>
    rounds.reduce((sum, round) => sum + figure(round), 0) / rounds.length;
  const { cpuMsPerRequest, memory } = rounds.at(-1)!;
  return {
    requestsPerSecond: mean((round) => round.requestsPerSecond),
    p50Ms: mean((round) => round.p50Ms),
    p99Ms: mean((round) => round.p99Ms),
    ...(cpuMsPerRequest !== undefined && { cpuMsPerRequest: mean((round) => round.cpuMsPerRequest!) }),
    ...(memory && { memory }),
  };
}

export interface Judged {
  readonly requests: readonly CannonRequest[];
  readonly hits: (answer: string) => Hit[];
  /** The right answer of each request. */
  readonly truth: readonly (readonly number[])[];
  readonly textOf: (row: number) => string;
}

/**
 * The share of the right rows that were found. Throws where a hit comes without its text: then it was not the same
 * work.
 */
export async function recallOf({ url }: Contestant, { requests, hits, truth, textOf }: Judged): Promise<number> {
  let found = 0;
  const queue = requests.entries();
  const work = async (): Promise<void> => {
    for (const [i, request] of queue) {
      const answer = hits(await send(url, request));
      if (answer.length > K) throw new Error(`${answer.length} hits where ${K} were asked for`);
      for (const { row, text } of answer)
        if (text !== textOf(row)) throw new Error(`row ${row} came with the text ${JSON.stringify(text.slice(0, 60))}`);
      found += answer.filter(({ row }) => truth[i]!.includes(row)).length;
    }
  };
  await Promise.all(Array.from({ length: JUDGED_AT_ONCE }, work));
  return found / truth.reduce((sum, rows) => sum + rows.length, 0);
}

export interface Writes {
  readonly searches: Measured;
  readonly rowsPerSecond: number;
}

/** The same beside one connection that writes batch after batch without a pause. */
export async function measureBesideWrites(
  contestant: Contestant,
  load: Load,
  write: () => Promise<number>,
): Promise<Writes> {
  let written = 0;
  let isOver = false as boolean;
  const startedAt = performance.now();
  const writing = (async () => {
    while (!isOver) written += await write();
  })();
  // Told when it is waited for: until then it would end the process, and with it the others' turns.
  writing.catch(() => undefined);
  try {
    const searches = await measure(contestant, load);
    isOver = true;
    await writing;
    return { searches, rowsPerSecond: written / ((performance.now() - startedAt) / 1000) };
  } finally {
    isOver = true;
    await writing.catch(() => undefined);
  }
}
