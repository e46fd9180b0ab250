// The first look at an environment: every page of its file, and every record's checksum. What it finds wrong with pages
// is told at once; damaged records are handed on by table and key. Reads only, without the library. Used by
// check-directory.ts and repair-directory.ts.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Checksum } from '../checksum.js';
import type { RecordPlace } from '../damage.js';
import { PageWalk } from '../pages/page-walk.js';

export interface PagesFound {
  /** What is wrong with the file itself: LMDB may not be let near it. */
  damage: string[];
  /** Records that do not fit their checksums. */
  records: RecordPlace[];
  /** Records that do, by table. */
  whole: Map<string, { key: Buffer; value: Buffer }[]>;
}

const DAMAGE_TOLD_MAX = 100;

/** `kept`: tables whose whole records are wanted. */
export function checkPages(dataDir: string, environment: string, kept: readonly string[] = []): PagesFound {
  const found: PagesFound = { damage: [], records: [], whole: new Map(kept.map((table) => [table, []])) };
  const path = join(dataDir, environment, 'data.mdb');
  if (!existsSync(path)) return { ...found, damage: ['its file is missing'] };
  const checksums = new Map<string, Checksum>();
  for (const entry of PageWalk.over(path)) {
    if ('damage' in entry) {
      if (found.damage.length < DAMAGE_TOLD_MAX) found.damage.push(entry.damage);
      continue;
    }
    const { table, key, sealed } = entry;
    const checksum = checksums.get(table) ?? new Checksum(environment, table);
    checksums.set(table, checksum);
    const value = checksum.valueIn(key, sealed);
    if (!value) found.records.push({ environment, table, key: Buffer.from(key) });
    else found.whole.get(table)?.push({ key, value });
  }
  return found;
}
