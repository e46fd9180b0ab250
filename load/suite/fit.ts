// A workload as a run wants it: with its numbers from the command line, or so small that all of them take seconds.
// Pure; called by run-suite.ts.
import type { Beside, Workload } from './workload.js';

export interface Wishes {
  tiny: boolean;
  /** Of each loop. */
  seconds?: number;
  /** Of the open loop, in place of the workload's rates or shares. */
  rate?: number;
  /** Of the closed loop. */
  connections?: number;
}

export interface Pace {
  /** How often it is asked whether the server rests, and how long that may take. */
  restCheckMs: number;
  restWithinMs: number;
  /** Of the loads that are made again to see what limits them: how many, and how long each. */
  sampledLoadsMax: number;
  sampledSeconds: number;
}

const TINY = { documents: 200, seconds: 1, connections: 4, rate: 20, queries: 10 };

export const paceOf = ({ tiny }: Wishes): Pace =>
  tiny
    ? { restCheckMs: 50, restWithinMs: 2000, sampledLoadsMax: 1, sampledSeconds: 1 }
    : { restCheckMs: 1000, restWithinMs: 120_000, sampledLoadsMax: Infinity, sampledSeconds: 5 };

export function fitted(workload: Workload, wishes: Wishes): Workload {
  const { seconds, rate, connections } = wishes;
  const { closed_loop: closed, open_loop: open, ...rest } = wishes.tiny ? shrunk(workload) : workload;
  return {
    ...rest,
    ...(closed && { closed_loop: { ...closed, ...(seconds && { seconds }), ...(connections && { connections }) } }),
    ...(open && {
      open_loop: {
        ...(rate ? { rates: [rate] } : { rates: open.rates, shares: open.shares }),
        seconds: seconds ?? open.seconds,
      },
    }),
  };
}

function shrunk({ closed_loop: closed, open_loop: open, beside, recall, ...rest }: Workload): Workload {
  const { seconds, queries } = TINY;
  return {
    ...rest,
    fill: rest.fill.map((fill) => ({ ...fill, documents: Math.min(fill.documents, TINY.documents) })),
    ...(closed && { closed_loop: { connections: Math.min(closed.connections, TINY.connections), seconds } }),
    ...(open && {
      open_loop: {
        ...(open.rates ? { rates: [Math.min(open.rates[0]!, TINY.rate)] } : { shares: open.shares?.slice(0, 1) }),
        seconds,
      },
    }),
    ...(beside && { beside: beside.map(fewer) }),
    ...(recall && { recall: { ...recall, queries } }),
  };
}

const fewer = ({ connections, ...beside }: Beside): Beside => ({
  ...beside,
  ...(connections && { connections: Math.min(connections, TINY.connections) }),
});
