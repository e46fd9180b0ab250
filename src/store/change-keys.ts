// The keys of the log of changes: numbers, in order, and a head behind them; what is found and removed by them alone.
// Used by change-log.ts, in the shard worker's thread.
import type { Table } from './tables.js';
import { ALL } from './whole-table.js';

/** Behind every number: those begin with zeros. */
export const HEAD_KEY = Buffer.from('head');
export const NUMBER_BYTES = 8;

export function numberKey(number: number): Buffer {
  const key = Buffer.alloc(NUMBER_BYTES);
  key.writeBigUInt64BE(BigInt(number));
  return key;
}

export const numberOf = (key: Buffer): number => Number(key.readBigUInt64BE());

/** The lowest numbers of records, up to `max`. */
export function firstNumbers(table: Table, max: number): number[] {
  const numbers: number[] = [];
  for (const key of table.keys(ALL)) {
    if (key.equals(HEAD_KEY) || numbers.push(numberOf(key)) === max) break;
  }
  return numbers;
}
