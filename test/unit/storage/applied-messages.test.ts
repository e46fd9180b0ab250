// The messages of the command log that are kept with the data: the latest ones, in order, only up to a size, and only
// those after a damaged one.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  type KeptMessages,
  forgetMessages,
  keepMessages,
  keptMessages,
  readMessages,
} from '../../../src/storage/applied-messages.js';
import { Journal } from '../../../src/storage/journal.js';
import { Environment } from '../../../src/storage/lmdb.js';
import type { ScannedEntry } from '../../../src/storage/lmdb-file.js';
import { entriesOf, flipValue } from '../../kit/flip.js';
import { tempDirectory } from '../../kit/temp.js';

const message = (sequence: number, bytes = 10) => ({
  sequence,
  id: `id-${sequence}`,
  payload: Buffer.alloc(bytes, `of ${sequence}.`),
});

const openIn = (folder: string): Environment<'journal'> => Environment.open(folder, ['journal'], false);

/** Keeps messages one after the other, as commits do. */
function keep(env: Environment<'journal'>, messages: readonly ReturnType<typeof message>[]): KeptMessages {
  let kept = env.read(({ journal }) => keptMessages(journal));
  for (const each of messages) kept = env.write(({ journal }) => keepMessages(journal, kept, [each]));
  return kept;
}

const sequences = (env: Environment<'journal'>): number[] =>
  env.read(({ journal }) => readMessages(journal).map(({ sequence }) => sequence));

test('the latest messages are kept, with their ids and bytes, beside a journal', () => {
  const folder = tempDirectory();
  const env = openIn(folder);
  const journal = Journal.open(env, { bytesMax: 1e6, isOfNode: true }) as Journal;
  journal.committed(env.write((tables) => journal.append(tables.journal, [Buffer.from([0xc0])])));
  keep(
    env,
    Array.from({ length: 300 }, (_, i) => message(i + 1)),
  );
  assert.deepEqual(
    sequences(env),
    Array.from({ length: 256 }, (_, i) => i + 45),
  );
  env.close();
  const again = openIn(folder);
  const last = again.read(({ journal: table }) => readMessages(table)).at(-1);
  assert.deepEqual([last?.id, last?.payload.toString()], ['id-300', message(300).payload.toString()]);
  assert.equal(Journal.open(again, { bytesMax: 1e6, isOfNode: true })?.head.sequence, 1);
  again.write(({ journal: table }) => forgetMessages(table));
  assert.deepEqual(sequences(again), []);
  again.close();
});

test('large messages push out earlier ones, but the last one stays', () => {
  const env = openIn(tempDirectory());
  keep(env, [message(1, 900_000), message(2, 900_000), message(3, 900_000)]);
  assert.deepEqual(sequences(env), [2, 3]);
  keep(env, [message(4, 5_000_000)]);
  assert.deepEqual(sequences(env), [4]);
  env.close();
});

test('messages before a damaged one are not known', () => {
  const folder = tempDirectory();
  const env = openIn(folder);
  const kept = keep(env, [message(1, 50), message(2, 50), message(3, 50)]);
  env.close();
  const file = join(folder, 'data.mdb');
  const { payload } = message(2, 50);
  flipValue(file, entriesOf(file).find(({ sealed }) => sealed.includes(payload)) as ScannedEntry);
  const damaged = openIn(folder);
  assert.deepEqual(sequences(damaged), [3]);
  assert.deepEqual([...damaged.read(({ journal }) => keptMessages(journal)).keys()], [...kept.keys()]);
  damaged.close();
});
