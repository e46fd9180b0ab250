// Makes an environment anew from what can be read of one whose pages are damaged: every entry that fits its checksum.
// The old one is kept beside it under another name, for whoever wants to look. Used by repair-directory.ts.
import { existsSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Checksum } from '../checksum.js';
import { DataDirectoryError } from '../data-dir.js';
import { Environment } from '../lmdb.js';
import { PageWalk, type WalkedEntry } from '../pages/page-walk.js';
import { syncDirectory } from '../sync.js';

const ENTRIES_A_COMMIT = 2000;

export interface Salvaged {
  entries: number;
  /** Entries that did not fit their checksums. */
  damaged: number;
  keptAs: string;
}

export function salvage<Names extends string>(
  directory: string,
  environment: string,
  names: readonly Names[],
): Salvaged {
  const made = `${directory}.new`;
  rmSync(made, { recursive: true, force: true });
  const fresh = Environment.open(made, names, false);
  const checksums = new Map(names.map((name) => [name as string, new Checksum(environment, name)]));
  const counted = { entries: 0, damaged: 0 };
  let batch: (WalkedEntry & { value: Buffer })[] = [];
  const store = (): void => {
    fresh.write((tables) => batch.forEach(({ table, key, value }) => tables[table as Names].put(key, value)));
    counted.entries += batch.length;
    batch = [];
  };
  for (const found of PageWalk.over(join(directory, 'data.mdb'))) {
    if ('damage' in found) continue;
    const value = checksums.get(found.table)?.valueIn(found.key, found.sealed);
    if (!value) counted.damaged++;
    else if (batch.push({ ...found, key: Buffer.from(found.key), value: Buffer.from(value) }) === ENTRIES_A_COMMIT)
      store();
  }
  store();
  fresh.close();
  return { ...counted, keptAs: exchange(directory, made, counted.entries) };
}

function exchange(directory: string, made: string, entries: number): string {
  if (entries === 0) {
    rmSync(made, { recursive: true });
    throw new DataDirectoryError(`nothing can be read of ${directory}: it was left as it is`);
  }
  let keptAs = `${directory}.damaged`;
  for (let n = 2; existsSync(keptAs); n++) keptAs = `${directory}.damaged-${n}`;
  renameSync(directory, keptAs);
  renameSync(made, directory);
  syncDirectory(dirname(directory));
  return keptAs;
}
