// Point-in-time restore: makes a data directory as it was at a moment, from an older copy of the directory and the
// journals of the present one. Neither of them is changed. No server may use any of them. Runs in a command-line process,
// which owns every environment that it opens.
import { cpSync, existsSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { PRECISION_DEFAULT } from '../api/choices.js';
import type { CollectionGroup } from '../api/collections.js';
import { OperatorError } from '../base/operator-error.js';
import { CatalogStore } from '../storage/catalog.js';
import { applyJournaled } from '../storage/catalog-handlers.js';
import { CATALOG_TABLES } from '../storage/catalog-records.js';
import {
  CATALOG,
  CHECKPOINTS,
  type DataDirectory,
  openDataDirectory,
  shardNames,
  shardPath,
} from '../storage/data-directory.js';
import { DamagedRecord } from '../storage/damage.js';
import { syncDirectory } from '../storage/disk.js';
import { type JournalHead, type JournalRecord, readHead, readRecords } from '../storage/journal.js';
import { Environment } from '../storage/lmdb.js';
import { SHARD_TABLES } from '../storage/shard-reader.js';
import { ShardStore } from '../storage/shard-store.js';
import { reclaimSome } from './compaction.js';
import { Arenas, Kernel } from './memory/arena.js';
import { createSharedShards } from './memory/shared-memory.js';
import { Shard } from './shard.js';
import { replayCommands } from './write/replay.js';

/** The directories do not fit together, or the journals do not cover the time. The message says why, and what to do. */
class RestoreImpossible extends OperatorError {
  override readonly name = 'RestoreImpossible';
}

export interface PointInTime {
  /** A copy of the data directory from before `atMs`, made while it had the same journals. */
  readonly base: string;
  /** The data directory with the journals. */
  readonly journals: string;
  /** The data directory to make; it must not exist. */
  readonly into: string;
  /** The moment, in milliseconds. Everything that was committed until then is restored. */
  readonly atMs: number;
}

export interface RestoredPoint {
  /** Commands that were applied to the copy. */
  commands: number;
  /** The time of the last one, in milliseconds; undefined if there was none. */
  lastMs: number | undefined;
}

/** Restores a data directory. Throws RestoreImpossible, and DataDirectoryError if a directory cannot be used. */
export async function restoreAt({ base, journals, into, atMs }: PointInTime): Promise<RestoredPoint> {
  if (existsSync(into)) throw new RestoreImpossible(`${into} exists: name a directory that does not`);
  const made = `${into}.incomplete`;
  const open: DataDirectory[] = [];
  try {
    for (const path of [base, journals]) open.push(await openDataDirectory(path));
    const [from, source] = open as [DataDirectory, DataDirectory];
    if (from.shards !== source.shards)
      throw new RestoreImpossible(
        `${base} has ${from.shards} shards, and ${journals} has ${source.shards}: they are not of one server`,
      );
    rmSync(made, { recursive: true, force: true });
    cpSync(base, made, { recursive: true, filter: (path) => !isLeftOut(base, path) });
    const restored = replayAll({ made, journals, shards: from.shards, atMs });
    renameSync(made, into);
    syncDirectory(dirname(resolve(into)));
    return restored;
  } catch (error) {
    throw error instanceof DamagedRecord
      ? new RestoreImpossible(`${error.message}: the copy or the journal is damaged; sheaf check examines both`)
      : error;
  } finally {
    rmSync(made, { recursive: true, force: true });
    for (const directory of open) directory.release();
  }
}

/** Checkpoints belong to the state that they were written in, and lock files to the processes of their machine. */
const isLeftOut = (base: string, path: string): boolean =>
  path === join(base, CHECKPOINTS) || basename(path) === 'lock.mdb';

interface Replay {
  readonly made: string;
  readonly journals: string;
  readonly shards: number;
  readonly atMs: number;
}

function replayAll({ made, journals, shards, atMs }: Replay): RestoredPoint {
  const restored: RestoredPoint = { commands: 0, lastMs: undefined };
  const groups = collectionsIn(join(made, CATALOG));
  const span = (name: string, tables: readonly string[]): Span => ({
    name,
    head: headOf(join(made, name), tables),
    journal: join(journals, name),
    tables,
    atMs,
  });
  const catalog = span(CATALOG, CATALOG_TABLES);
  const all = shardNames(shards).map((name) => span(name, SHARD_TABLES));
  for (const each of [catalog, ...all]) assertCovered(each);
  const note = ({ atMs: recordMs, commands }: JournalRecord): void => {
    restored.commands += commands.length;
    restored.lastMs = Math.max(restored.lastMs ?? 0, recordMs);
  };
  replayCatalog(join(made, CATALOG), catalog, note);
  all.forEach((each, number) => replayShard({ made, number, groups }, each, note));
  return restored;
}

/** What is replayed on one environment: the commands of a journal behind `head`, until a moment. */
interface Span {
  readonly name: string;
  readonly head: JournalHead;
  /** The environment with the journal. */
  readonly journal: string;
  readonly tables: readonly string[];
  readonly atMs: number;
}

function headOf(path: string, tables: readonly string[]): JournalHead {
  const head = inEnvironment(path, tables, readHead);
  if (head === undefined)
    throw new RestoreImpossible(`${path} has no journal: set storage.journal_mb before the copy is made`);
  if (head === 'damaged') throw new RestoreImpossible(`the journal of ${path} is damaged: use another copy`);
  return head;
}

type Journaled = Environment<'journal'>;

function inEnvironment<T>(path: string, tables: readonly string[], work: (env: Journaled) => T): T {
  const env = Environment.open(path, tables as readonly 'journal'[], false);
  try {
    return work(env);
  } finally {
    env.close();
  }
}

/** Throws RestoreImpossible unless the journal continues the copy and both fit the moment. */
function assertCovered({ name, head, journal, tables, atMs }: Span): void {
  const present = headOf(journal, tables);
  if (head.id !== present.id)
    throw new RestoreImpossible(
      `${name}: the copy and the journal do not belong together, because the journal was switched off or lost in between: use a newer copy`,
    );
  if (head.sequence + 1 < present.first)
    throw new RestoreImpossible(
      `${name}: the journal begins with command ${present.first}, and the copy ends with ${head.sequence}: use a newer copy, and set storage.journal_mb higher`,
    );
  if (head.atMs > atMs)
    throw new RestoreImpossible(
      `${name}: the copy has a change of ${new Date(head.atMs).toISOString()}, which is later: use an older copy`,
    );
  if (head.sequence > present.sequence || hashAt(journal, tables, head.sequence, present) !== head.hash)
    throw new RestoreImpossible(
      `${name}: the copy has changes that the journal does not have: it is not a copy of this directory, or of a later state`,
    );
}

/** The rolling hash behind a command that ends a commit. */
function hashAt(path: string, tables: readonly string[], sequence: number, present: JournalHead): string | undefined {
  if (sequence === present.sequence) return present.hash;
  return inEnvironment(path, tables, (env) =>
    env.read(({ journal }) => {
      for (const { first, before } of readRecords(journal, sequence + 1))
        return first === sequence + 1 ? before : undefined;
      return undefined;
    }),
  );
}

/** The collections of a catalog, those that are being built included. */
function collectionsIn(path: string): CollectionGroup[] {
  const store = CatalogStore.open(path, false, { journal: KEEP_ALL });
  const all = [...store.all(), ...store.shadow.all().map(({ collection }) => collection)];
  store.close();
  return all.map(({ id, generation, dim, language = 'none', precision = PRECISION_DEFAULT }) => ({
    kind: { generation, dim, language, precision },
    ids: Uint32Array.of(id),
  }));
}

const KEEP_ALL = { bytesMax: Infinity };

/** Calls `apply` with the records that belong to the moment, in order, and checks the hash that they lead to. */
function replaySpan({ name, head, journal: path, tables, atMs }: Span, apply: (record: JournalRecord) => string): void {
  const present = headOf(path, tables);
  inEnvironment(path, tables, (env) =>
    env.read(({ journal }) => {
      let hash = head.hash;
      for (const record of readRecords(journal, head.sequence + 1)) {
        assertHash(name, record.first - 1, hash, record.before);
        if (record.atMs > atMs) return;
        hash = apply(record);
      }
      assertHash(name, present.sequence, hash, present.hash);
    }),
  );
}

function assertHash(name: string, sequence: number, hash: string, expected: string): void {
  if (hash !== expected)
    throw new RestoreImpossible(
      `${name}: the commands up to ${sequence} have other results on the copy: the copy or the journal is damaged; sheaf check examines both`,
    );
}

function replayCatalog(path: string, span: Span, note: (record: JournalRecord) => void): void {
  let nowMs = 0;
  const store = CatalogStore.open(path, false, { journal: { ...KEEP_ALL, nowMs: () => nowMs } });
  try {
    replaySpan(span, (record) => {
      nowMs = record.atMs;
      for (const command of record.commands) applyJournaled(store, command);
      note(record);
      return store.journal?.head.hash ?? '';
    });
  } finally {
    store.close();
  }
}

interface Place {
  readonly made: string;
  readonly number: number;
  readonly groups: readonly CollectionGroup[];
}

function replayShard({ made, number, groups }: Place, span: Span, note: (record: JournalRecord) => void): void {
  let nowMs = 0;
  const { kernel, memories, arenaPagesMax } = createSharedShards(1, made, { idleSeconds: 0 });
  const arenas = new Arenas((memories[0] ?? []).map((memory) => new Kernel(kernel, memory, arenaPagesMax)));
  const store = ShardStore.open(shardPath(made, number), false, { journal: { ...KEEP_ALL, nowMs: () => nowMs } });
  const shard = Shard.open(store, arenas, { collections: groups, isWhole: false });
  try {
    replaySpan(span, (record) => {
      nowMs = record.atMs;
      replayCommands(shard, record.commands);
      note(record);
      while (reclaimSome(shard));
      return shard.store.journal?.head.hash ?? '';
    });
  } finally {
    shard.close();
  }
}
