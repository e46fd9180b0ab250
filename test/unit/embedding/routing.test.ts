// Which embedder instance does a piece of work, compared with the same rule in its simplest form: random pools, loads
// and failures.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { AppError } from '../../../src/api/errors.js';
import { EmbedderHealth, route } from '../../../src/service/embedding/embedders.js';
import { BUILTIN } from '../../../src/embedding/spaces.js';
import { SILENT } from '../../kit/log.js';

const down = (): AppError => new AppError('embedder_unavailable');

type Kind = 'usable' | 'untried' | 'broken';

/** An instance that stays in this state: from then on its probe never answers. */
async function instanceOf(key: string, kind: Kind): Promise<EmbedderHealth> {
  let answers = kind === 'usable';
  const probe = (): Promise<void> => (answers ? Promise.resolve() : new Promise(() => {}));
  const instance = new EmbedderHealth({ ...BUILTIN, key }, probe, SILENT);
  after(() => instance.close());
  if (kind === 'broken')
    for (let i = 0; i < 5; i++) await instance.call(0, () => Promise.reject(down())).catch(() => undefined);
  while (instance.state !== kind) await new Promise((resolve) => setImmediate(resolve));
  answers = false;
  return instance;
}

/** Adds a load in bytes to an instance; returns the function that ends it. */
function load(instance: EmbedderHealth, bytes: number): () => void {
  let end = (): void => {};
  void instance.call(bytes, () => new Promise<void>((resolve) => (end = resolve)));
  return () => end();
}

/** The order in which the instances are tried. */
function naiveOrder(kinds: readonly Kind[], loads: readonly number[]): number[] {
  const rank = (kind: Kind): number => (kind === 'usable' ? 0 : 1);
  const places = kinds.flatMap((kind, place) => (kind === 'broken' ? [] : [place]));
  return places.sort(
    (a, b) => rank(kinds[a] as Kind) - rank(kinds[b] as Kind) || (loads[a] as number) - (loads[b] as number) || a - b,
  );
}

test('instances are tried by least load, untried ones last, broken ones never, each once, until one succeeds', async () => {
  const seed = 5;
  const prng = createPrng(seed);
  for (let round = 0; round < 300; round++) {
    const kinds = Array.from(
      { length: prng.int(5) },
      () => (['usable', 'usable', 'usable', 'untried', 'broken'] as const)[prng.int(5)] as Kind,
    );
    const loads = kinds.map(() => prng.int(4) * 100);
    const pool = await Promise.all(kinds.map((kind, place) => instanceOf(String(place), kind)));
    const ends = pool.map((instance, place) =>
      kinds[place] === 'broken' ? () => undefined : load(instance, loads[place] as number),
    );
    const fails = kinds.map(() => prng.int(2) === 0);
    const asked: number[] = [];
    const lastOnes: boolean[] = [];
    const run = async (key: string, isLast: boolean): Promise<string> => {
      asked.push(Number(key));
      lastOnes.push(isLast);
      if (fails[Number(key)]) throw down();
      return key;
    };
    const answer = await route(pool, { bytes: 1, run, signal: undefined }).catch((error: AppError) => error.code);
    const order = naiveOrder(kinds, loads);
    const doer = order.findIndex((place) => !fails[place]);
    const told = `seed ${seed}, round ${round}`;
    assert.equal(answer, doer < 0 ? 'embedder_unavailable' : String(order[doer]), told);
    assert.deepEqual(asked, doer < 0 ? order : order.slice(0, doer + 1), told);
    assert.deepEqual(
      lastOnes,
      asked.map((_, i) => i === order.length - 1),
      told,
    );
    for (const end of ends) end();
  }
});

test('an error that says nothing of the instance is answered as it is', async () => {
  const pool = [await instanceOf('a', 'usable'), await instanceOf('b', 'usable')];
  for (const error of [new AppError('overloaded'), new Error('a fault of ours')]) {
    const asked: string[] = [];
    const run = (key: string): Promise<void> => {
      asked.push(key);
      return Promise.reject(error);
    };
    await assert.rejects(route(pool, { bytes: 1, run, signal: undefined }), error);
    assert.deepEqual(asked, ['a']);
  }
});

test('concurrent work spreads over equal instances', async () => {
  const pool = [await instanceOf('a', 'usable'), await instanceOf('b', 'usable'), await instanceOf('c', 'usable')];
  const work = Array.from({ length: 30 }, () =>
    route(pool, {
      bytes: 10,
      run: (key) => new Promise<string>((resolve) => setImmediate(() => resolve(key))),
      signal: undefined,
    }),
  );
  const done = await Promise.all(work);
  for (const key of ['a', 'b', 'c']) assert.equal(done.filter((doer) => doer === key).length, 10);
});

test('nobody is asked on behalf of a client that has gone', async () => {
  const pool = [await instanceOf('a', 'usable'), await instanceOf('b', 'usable')];
  const gone = new AbortController();
  const asked: string[] = [];
  const run = async (key: string): Promise<void> => {
    asked.push(key);
    gone.abort();
    throw down();
  };
  await assert.rejects(route(pool, { bytes: 1, run, signal: gone.signal }), { code: 'internal_error' });
  assert.deepEqual(asked, ['a']);
});
