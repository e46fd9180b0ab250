// Read transactions are kept open from one snapshot to the next: each snapshot shows the newest commit, one that has
// ended does not keep pages from being reused, and there are reader slots for many, also in environments of older
// versions.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Environment, READERS_MAX } from '../../../src/storage/lmdb.js';
import { holdStore } from '../../kit/held-store.js';
import { tempDirectory } from '../../kit/temp.js';

const KEY = Buffer.from('n');
/** The number of reader slots that LMDB allocates by default. */
const OLD_READERS = 126;

type Env = Environment<'t'>;

const put = (env: Env, value: number): void => env.write(({ t }) => t.put(KEY, Buffer.from([value])));
const valueIn = ({ tables }: ReturnType<Env['snapshot']>): number | undefined => tables.t.get(KEY)?.[0];

function takeMany(env: Env, count: number): ReturnType<Env['snapshot']>[] {
  return Array.from({ length: count }, () => env.snapshot());
}

test('each snapshot shows what had been committed when it was taken, also beside others', () => {
  const directory = tempDirectory();
  const owner = Environment.open(directory, ['t'], false);
  const reader = Environment.attach(directory, ['t']);
  put(owner, 1);
  const first = reader.snapshot();
  put(owner, 2);
  const second = reader.snapshot();
  put(owner, 3);
  assert.deepEqual([valueIn(first), valueIn(second)], [1, 2]);
  first.end();
  const third = reader.snapshot();
  assert.deepEqual([valueIn(second), valueIn(third)], [2, 3]);
  second.end();
  third.end();
  put(owner, 4);
  assert.equal(
    reader.read(({ t }) => t.get(KEY)?.[0]),
    4,
  );
  owner.close();
});

/** By how many bytes the file grows while one large value is replaced repeatedly. */
function growthBytes(owner: Env, directory: string): number {
  const file = join(directory, 'data.mdb');
  const replace = (round: number): void => owner.write(({ t }) => t.put(KEY, Buffer.alloc(100_000, round)));
  for (let round = 0; round < 10; round++) replace(round);
  const before = statSync(file).size;
  for (let round = 0; round < 50; round++) replace(round);
  return statSync(file).size - before;
}

test('a snapshot that has ended keeps no pages', () => {
  const directory = tempDirectory();
  const owner = Environment.open(directory, ['t'], false);
  const reader = Environment.attach(directory, ['t']);
  put(owner, 1);
  const snapshot = reader.snapshot();
  assert.ok(growthBytes(owner, directory) > 1_000_000, 'an open snapshot keeps the pages of all later commits');
  snapshot.end();
  assert.equal(growthBytes(owner, directory), 0);
  owner.close();
});

/** An environment as older versions made it. */
function oldEnvironment(): string {
  const directory = join(tempDirectory(), 'old');
  mkdirSync(directory);
  const lmdb = createRequire(import.meta.url)('node-lmdb') as typeof import('node-lmdb');
  const env = new lmdb.Env();
  env.open({ path: directory, mapSize: 2 ** 30, maxDbs: 1 });
  env.openDbi({ name: 't', create: true, keyIsBuffer: true });
  env.close();
  return directory;
}

test('an environment of an older version gets the places for readers of a new one', () => {
  const directory = oldEnvironment();
  const owner = Environment.open(directory, ['t'], false);
  put(owner, 7);
  const reader = Environment.attach(directory, ['t']);
  const snapshots = takeMany(reader, OLD_READERS * 8);
  assert.ok(snapshots.every((snapshot) => valueIn(snapshot) === 7));
  for (const { end } of snapshots) end();
  owner.close();
});

test('who finds an environment open reads with the places that are there', async () => {
  const directory = oldEnvironment();
  const release = await holdStore(directory);
  const reader = Environment.openToRead(directory, ['t']);
  const snapshots = takeMany(reader, OLD_READERS);
  assert.throws(() => reader.snapshot(), /MDB_READERS_FULL/);
  for (const { end } of snapshots) end();
  assert.equal(valueIn(reader.snapshot()), undefined);
  reader.close();
  await release();
});

/** How many reader slots of the lock file this process takes. */
function placesTaken(directory: string): number {
  const bytes = readFileSync(join(directory, 'lock.mdb'));
  let taken = 0;
  for (let at = 0; at < bytes.length; at += 4) if (bytes.readUInt32LE(at) === process.pid) taken++;
  return taken;
}

test('what a reader has kept is not collected, for its owner may have closed the environment', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const directory = tempDirectory();
  const owner = Environment.open(directory, ['t'], false);
  const before = placesTaken(directory);
  const read = (): void => Environment.attach(directory, ['t']).snapshot().end();
  for (let reader = 0; reader < 3; reader++) read();
  collect();
  await new Promise(setImmediate);
  collect();
  assert.equal(placesTaken(directory), before + 3);
  owner.close();
});

test('no more places are taken than snapshots were open at once', () => {
  const directory = tempDirectory();
  const owner = Environment.open(directory, ['t'], false);
  const reader = Environment.attach(directory, ['t']);
  for (let round = 0; round < 2 * READERS_MAX; round++) reader.snapshot().end();
  owner.close();
});
