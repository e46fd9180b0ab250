// Incremental backups: the entries of an archive are stored by their digests, each once for all backups that have it, and a
// backup is a list of its entries. Main thread.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import typia from 'typia';
import { type StreamedEntry, entriesIn } from '../../archive/entry-stream.js';
import type { EntryRecord } from '../../archive/format.js';
import { recordOf, writeArchiveAt } from '../../archive/writer.js';
import { type BackupStore, inFolder } from './backup-store.js';

/** What a backup is stored as, as JSON. */
interface EntryList {
  format: 'sheaf-backup';
  format_version: 1;
  entries: ListedEntry[];
}

interface ListedEntry extends EntryRecord {
  /** Small entries are here, in base64, and nowhere else. */
  content?: string;
}

const isEntryList = typia.createIs<EntryList>();

/** Entries up to this size stand in the list: one for each collection changes in every backup. */
const LISTED_BYTES_MAX = 16 * 1024;
/** Entries that are sent at a time. */
const SENT_AT_ONCE = 4;
/** An entry that no backup has may belong to one that is being made. */
const UNUSED_MS = 24 * 3600 * 1000;

export interface StoredIncrement {
  readonly entries: number;
  /** Of the whole backup, and of what had to be stored for it. */
  readonly bytes: number;
  readonly storedBytes: number;
}

/** Stores a backup. Rejects, and leaves entries but no backup, if the stream or the store fails. */
export async function storeIncrement(
  store: BackupStore,
  name: string,
  stream: AsyncIterable<Uint8Array>,
): Promise<StoredIncrement> {
  const there = new Set((await store.entries()).keys());
  const sending = new Set<Promise<void>>();
  const entries: ListedEntry[] = [];
  let storedBytes = 0;
  const send = async ({ record: { sha256 }, bytes }: StreamedEntry): Promise<void> => {
    if (there.has(sha256)) return;
    there.add(sha256);
    storedBytes += bytes.length;
    // One that fails stays among those that are waited for.
    const sent: Promise<void> = store.putEntry(sha256, bytes).then(() => void sending.delete(sent));
    sent.catch(() => undefined);
    sending.add(sent);
    if (sending.size >= SENT_AT_ONCE) await Promise.race(sending);
  };
  try {
    for await (const entry of entriesIn(stream)) {
      const { record, bytes } = entry;
      const isListed = bytes.length <= LISTED_BYTES_MAX;
      entries.push(isListed ? { ...record, content: bytes.toString('base64') } : record);
      if (!isListed) await send(entry);
    }
    await Promise.all(sending);
  } finally {
    await Promise.allSettled(sending);
  }
  // Another server may have deleted an entry that was there.
  const stored = await store.entries();
  const missing = entries.find(({ sha256, content }) => content === undefined && !stored.has(sha256));
  if (missing) throw new Error(`the entry ${missing.sha256} has been deleted meanwhile`);
  const list: EntryList = { format: 'sheaf-backup', format_version: 1, entries };
  await store.put(name, only(Buffer.from(JSON.stringify(list))));
  return { entries: entries.length, bytes: bytesOf(entries), storedBytes };
}

/** Whether a backup of this name is a list of entries, and not an archive. */
export const isIncremental = (name: string): boolean => name.endsWith('.json');

/** A backup cannot be read, or is damaged. The cause says what has happened. */
export class BackupUnreadable extends Error {}

/**
 * Calls `work` with the path of a backup as an archive, which is put together below `temporary` if it is a list of entries.
 * Rejects as `work` does, and with BackupUnreadable.
 */
export async function withBackup<T>(
  store: BackupStore,
  name: string,
  temporary: string,
  work: (path: string) => Promise<T>,
): Promise<T> {
  let isRead = false as boolean;
  const begin = (path: string): Promise<T> => {
    isRead = true;
    return work(path);
  };
  try {
    return await (isIncremental(name)
      ? withArchive(store, name, temporary, begin)
      : store.withFile(name, temporary, begin));
  } catch (error) {
    throw isRead ? error : new BackupUnreadable((error as Error).message, { cause: error });
  }
}

async function withArchive<T>(
  store: BackupStore,
  name: string,
  temporary: string,
  work: (path: string) => Promise<T>,
): Promise<T> {
  const entries = await entriesOf(store, name, temporary);
  return inFolder(temporary, async (folder) => {
    const path = join(folder, 'backup.zip');
    await writeArchiveAt(path, async (writer) => {
      for (const entry of entries) await writer.add(entry.name, await contentOf(store, entry));
      writer.end();
    });
    return work(path);
  });
}

/** The size of the archive that a backup stands for. */
export const archiveBytes = async (store: BackupStore, name: string, temporary: string): Promise<number> =>
  bytesOf(await entriesOf(store, name, temporary));

/** Deletes the entries that none of the backups has. */
export async function deleteUnused(
  store: BackupStore,
  backups: readonly string[],
  temporary: string,
  nowMs: number,
): Promise<void> {
  const stored = await store.entries();
  for (const name of backups) for (const { sha256 } of await entriesOf(store, name, temporary)) stored.delete(sha256);
  for (const [digest, storedAtMs] of stored) if (storedAtMs < nowMs - UNUSED_MS) await store.removeEntry(digest);
}

async function entriesOf(store: BackupStore, name: string, temporary: string): Promise<ListedEntry[]> {
  const list = parseJson(await store.withFile(name, temporary, (path) => readFile(path, 'utf8')));
  if (!isEntryList(list)) throw new Error(`${name} is not a list of entries`);
  return list.entries;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function contentOf(store: BackupStore, { name, sha256, content }: ListedEntry): Promise<Buffer> {
  const bytes = Buffer.from(content === undefined ? await store.readEntry(sha256) : Buffer.from(content, 'base64'));
  if (recordOf(name, bytes).sha256 !== sha256) throw new Error(`the entry ${sha256} is damaged`);
  return bytes;
}

const bytesOf = (entries: readonly EntryRecord[]): number => entries.reduce((sum, { bytes }) => sum + bytes, 0);

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
