// The options of a comparison, as they are typed, and what stands for those that are not: in full, and in small. Read
// by load/suite/peers.ts.
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { UsageError } from '../usage-error.js';
import type { Urls } from './participants.js';

export interface PeersOptions {
  readonly vectors: number;
  readonly texts: number;
  readonly connections: number;
  /** Of each measurement. */
  readonly seconds: number;
  /** In each, every database has its turn at every workload. */
  readonly rounds: number;
  /** Queries over which recall is taken. */
  readonly judged: number;
  /** A database that has not taken all rows by then is left out. */
  readonly fillSeconds: number;
  readonly install: boolean;
  /** Names in lower case; all where there are none. */
  readonly only: readonly string[];
  readonly urls: Urls;
}

const FULL = {
  vectors: 20_000,
  texts: 6_500,
  connections: 32,
  seconds: 10,
  rounds: 2,
  judged: 200,
  'fill-seconds': 900,
};
const TINY = { vectors: 500, texts: 60, connections: 32, seconds: 1, rounds: 1, judged: 20, 'fill-seconds': 15 };
type NumberName = keyof typeof FULL;

const TEXT = ['only', 'qdrant', 'weaviate', 'elasticsearch'] as const;

/** Throws UsageError where an argument is another, or no whole number. */
export function readPeersOptions(args: readonly string[]): PeersOptions {
  const strings = [...(Object.keys(FULL) as NumberName[]), ...TEXT].map((name) => [name, { type: 'string' }] as const);
  const given = parsed(args, {
    ...Object.fromEntries(strings),
    tiny: { type: 'boolean' },
    install: { type: 'boolean' },
  }) as Partial<Record<NumberName | (typeof TEXT)[number], string>> & { tiny?: boolean; install?: boolean };
  const number = (name: NumberName): number => {
    const value = given[name] === undefined ? (given.tiny ? TINY : FULL)[name] : Number(given[name]);
    if (!Number.isInteger(value) || value < 1) throw new UsageError(`--${name} wants a whole number of at least 1`);
    return value;
  };
  return {
    vectors: number('vectors'),
    texts: number('texts'),
    connections: number('connections'),
    seconds: number('seconds'),
    rounds: number('rounds'),
    judged: number('judged'),
    fillSeconds: number('fill-seconds'),
    install: given.install === true,
    only: given.only?.toLowerCase().split(',') ?? [],
    urls: {
      ...(given.qdrant && { qdrant: given.qdrant }),
      ...(given.weaviate && { weaviate: given.weaviate }),
      ...(given.elasticsearch && { elasticsearch: given.elasticsearch }),
    },
  };
}

function parsed(args: readonly string[], options: NonNullable<ParseArgsConfig['options']>): object {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
