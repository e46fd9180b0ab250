// The journal of a shard: replayed on another shard in other batches, it gives the same shard; damage and gaps in it are
// told; it is kept to its size, and deleted when it is switched off.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runReplay } from '../../../load/stress/replay.js';
import type { CollectionId } from '../../../src/api/ids.js';
import type { Shard } from '../../../src/engine/shard.js';
import { packCommand } from '../../../src/engine/write/journaled.js';
import { ReplayDiverged, assertAt, replayCommands } from '../../../src/engine/write/replay.js';
import type { DocumentWrite } from '../../../src/engine/write/commands.js';
import { applyWrites } from '../../../src/engine/write/write.js';
import { type JournalHead, type JournalOptions, type JournalRecord, rolledHash } from '../../../src/storage/journal.js';
import { ShardStore } from '../../../src/storage/shard-store.js';
import { createKernel, shardOn } from '../../kit/engine/arena.js';
import { putOf, removalOf } from '../../kit/engine/writes.js';
import { tempDirectory } from '../../kit/temp.js';

for (const seed of [1, 2, 3])
  test(`random commands give the same shard when they are replayed in other batches: seed ${seed}`, () => {
    const report = runReplay(tempDirectory(), seed, 5000);
    assert.deepEqual(report.differences, []);
    assert.ok(report.refused > 0 && report.drops > 0 && report.restarts > 0, JSON.stringify(report));
    assert.ok(report.head.sequence > 1000, JSON.stringify(report));
  });

const ref = { id: 1 as CollectionId, generation: 1, dim: 4, language: 'none' as const, precision: 'int16' as const };

/** A put of a document of one chunk. */
const put = (docid: string, text = docid): DocumentWrite =>
  putOf(ref, docid, { chunks: [{ path: 'chunk_0', metaJson: '{}', text }], vectors: [[1, 0, 0, 0]] });

function open(directory: string, journal: JournalOptions = { bytesMax: Infinity }): Shard {
  return shardOn(ShardStore.open(directory, false, { journal }), [createKernel()], [ref]);
}

const headOf = ({ store }: Shard): JournalHead => store.journal?.head as JournalHead;
const recordsOf = ({ store }: Shard, first = 1): JournalRecord[] => store.read((txn) => [...txn.journal(first)]);
const commandsOf = (shard: Shard): Buffer[] => recordsOf(shard).flatMap(({ commands }) => commands);

test('a commit is a record with its time, the hash before it and its commands; what was refused is not in it', () => {
  let nowMs = 1000;
  const shard = open(tempDirectory(), { bytesMax: Infinity, nowMs: () => nowMs });
  applyWrites(shard, [put('A'), { ...removalOf(ref, 'A'), ifVersion: 7 } as DocumentWrite, put('B')]);
  const { hash } = headOf(shard);
  // The clock is set back.
  nowMs = 500;
  applyWrites(shard, [removalOf(ref, 'A')]);
  const records = recordsOf(shard);
  assert.deepEqual(
    records.map(({ first, atMs, commands }) => [first, atMs, commands.length]),
    [
      [1, 1000, 2],
      [3, 1000, 1],
    ],
  );
  assert.deepEqual([records[1]?.before, headOf(shard).sequence], [hash, 3]);
  const [last] = records[1]?.commands ?? [];
  assert.equal(headOf(shard).hash, rolledHash(hash, last as Buffer));
});

test('a replay that leaves a command out is found by its hash, and one that a command is refused in fails', () => {
  const source = open(tempDirectory());
  applyWrites(source, [put('A'), put('B'), put('A', 'another text')]);
  const commands = commandsOf(source);
  const copy = open(tempDirectory());
  replayCommands(copy, commands);
  assertAt(copy, headOf(source));
  const other = open(tempDirectory());
  replayCommands(other, commands.slice(1));
  assert.throws(() => assertAt(other, headOf(source)), ReplayDiverged);
  const conditional = packCommand({ ...removalOf(ref, 'A'), ifVersion: 9 } as DocumentWrite, { chunks: 1 });
  assert.throws(() => replayCommands(copy, [conditional]), { code: 'version_conflict' });
});

test('a dropped collection stays dropped after a restart, and takes no late write', () => {
  const directory = tempDirectory();
  const shard = open(directory);
  applyWrites(shard, [put('A')]);
  shard.drop(ref.id);
  assert.equal(headOf(shard).sequence, 2);
  shard.close();
  const again = open(directory);
  assert.equal(again.isDropped(ref.id), true);
  assert.deepEqual(
    applyWrites(again, [put('A')]).map((result) => 'error' in result && result.error.code),
    ['collection_not_found'],
  );
});

test('a commit that fails leaves no trace in the journal', () => {
  const shard = open(tempDirectory());
  applyWrites(shard, [put('A')]);
  const before = headOf(shard);
  assert.throws(() =>
    shard.store.write((txn) => {
      txn.note(() => packCommand(put('B'), null));
      throw new Error('the disk is full');
    }),
  );
  assert.equal(headOf(shard), before);
  assert.equal(commandsOf(shard).length, 1);
});

test('the oldest records go when the journal is larger than allowed, and sequences and hashes go on', () => {
  const directory = tempDirectory();
  const bytesMax = 20_000;
  const shard = open(directory, { bytesMax });
  const whole = open(tempDirectory());
  for (let i = 0; i < 200; i++)
    for (const site of [shard, whole]) applyWrites(site, [put(`document ${i % 7}`, 'x'.repeat(1000))]);
  const head = headOf(shard);
  assert.ok(head.bytes <= bytesMax && head.first > 150, JSON.stringify(head));
  assert.deepEqual([head.sequence, head.hash], [200, headOf(whole).hash]);
  assert.deepEqual(
    recordsOf(shard, head.first).map(({ first }) => first),
    Array.from({ length: 201 - head.first }, (_, i) => head.first + i),
  );
  shard.close();
  assert.deepEqual(headOf(open(directory, { bytesMax })), head);
});

test('a commit of many bytes becomes several records', () => {
  const shard = open(tempDirectory());
  applyWrites(
    shard,
    Array.from({ length: 30 }, (_, i) => put(`document ${i}`, 'x'.repeat(100_000))),
  );
  const records = recordsOf(shard);
  assert.ok(records.length >= 3, `${records.length} records`);
  assert.equal(commandsOf(shard).length, 30);
});

test('a journal that is switched off is deleted, and another one begins when it is switched on again', () => {
  const directory = tempDirectory();
  const first = open(directory);
  applyWrites(first, [put('A')]);
  const { id } = headOf(first);
  first.close();
  const without = open(directory, { bytesMax: 0 });
  assert.equal(without.store.journal, undefined);
  assert.deepEqual(recordsOf(without), []);
  applyWrites(without, [put('B')]);
  without.close();
  const again = headOf(open(directory));
  assert.equal(again.sequence, 0);
  assert.notEqual(again.id, id);
});
