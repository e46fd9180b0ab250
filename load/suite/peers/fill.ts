// Fills a database over HTTP as any client could, batches on a few connections, and waits until it has done what it
// does with them afterwards. Used by load/suite/peers.ts.
import { setTimeout as sleep } from 'node:timers/promises';
import { inBatches } from '../../kit/filling.js';
import type { Contestant } from './field.js';
import type { Row } from './peer.js';

const BATCH = 200;
const CHECK_MS = 500;
/** So many checks one after the other in which it has hardly any processor time. */
const RESTING_CHECKS = 3;
const RESTING_SHARE = 0.1;

export interface Filled {
  readonly rows: number;
  /** From the first request to the last answer. */
  readonly storedMs: number;
  /** From there until it rests. */
  readonly restedMs: number;
  /** Of both; absent where it runs elsewhere. */
  readonly cpuMs?: number;
}

/** Throws where it has not taken all of them in time. */
export async function fillVectors(
  contestant: Contestant,
  rows: readonly Row[],
  dim: number,
  limitMs: number,
): Promise<Filled> {
  await contestant.driver.create(dim);
  return fill(contestant, rows, (some) => contestant.driver.put(some, true), limitMs);
}

export async function fillTexts(contestant: Contestant, texts: readonly string[], limitMs: number): Promise<Filled> {
  const driver = contestant.driver.texts!;
  await driver.create();
  const numbered = texts.map((text, from) => ({ text, from }));
  return fill(
    contestant,
    numbered,
    (some) =>
      driver.put(
        some.map(({ text }) => text),
        some[0]!.from,
      ),
    limitMs,
  );
}

async function fill<T>(
  contestant: Contestant,
  items: readonly T[],
  put: (some: readonly T[]) => Promise<void>,
  limitMs: number,
): Promise<Filled> {
  const startedAt = performance.now();
  const cpuBefore = contestant.process?.cpuMs();
  await inBatches(items.length, BATCH, async (from, to) => {
    if (performance.now() - startedAt > limitMs)
      throw new Error(`${from} of ${items.length} taken in ${Math.round(limitMs / 1000)} s`);
    await put(items.slice(from, to));
  });
  const storedMs = performance.now() - startedAt;
  await untilIndexed(contestant, limitMs);
  return {
    rows: items.length,
    storedMs,
    restedMs: performance.now() - startedAt - storedMs,
    ...(cpuBefore !== undefined && { cpuMs: contestant.process!.cpuMs() - cpuBefore }),
  };
}

/** Until it says so and, where it is ours, does hardly anything any more. */
async function untilIndexed({ driver, process }: Contestant, limitMs: number): Promise<void> {
  const endAt = performance.now() + limitMs;
  for (let resting = 0, before = process?.cpuMs() ?? 0; resting < RESTING_CHECKS; ) {
    if (performance.now() > endAt) throw new Error(`not indexed after ${Math.round(limitMs / 1000)} s`);
    await sleep(CHECK_MS);
    const isIndexed = await driver.isIndexed();
    const now = process?.cpuMs() ?? 0;
    resting = isIndexed && now - before < RESTING_SHARE * CHECK_MS ? resting + 1 : 0;
    before = now;
  }
}
