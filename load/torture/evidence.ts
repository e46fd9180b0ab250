// What is kept and told of a violation: the data directory as the server left it, what the slots' writers had asked for
// last, and which collections of the stores hold the documents that are not as they should be: another one than the
// name stands for (then a switch took what was older), or none (then a commit is gone). Reads without the library. Used
// by load/operations.ts and load/torture.ts, after the server has ended.
import { cpSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readLeft, type Left } from './read-left.js';
import type { Revision, Slot } from './world.js';

export interface Kept {
  /** Of the program: names the copy. */
  program: string;
  seed: number;
  /** The copy is of `folder`; in it the data directory is at `data`. */
  folder: string;
  data: string;
  shards: number;
}

/** Copies the folder and prints where to, and what the violations are about. */
export function keepEvidence(
  { program, seed, folder, data, shards }: Kept,
  slots: readonly Slot[],
  violations: readonly string[],
): void {
  const to = join(tmpdir(), `sheaf-${program}-${seed}`);
  rmSync(to, { recursive: true, force: true });
  cpSync(folder, to, { recursive: true });
  console.log(`  kept: ${to}`);
  const left = readLeft(join(folder, data), shards);
  for (const slot of slots.filter((one) => isAbout(one, violations)))
    for (const line of evidenceOf(slot, left)) console.log(`    ${line}`);
}

const isAbout = ({ tenant, prefix }: Slot, violations: readonly string[]): boolean =>
  violations.some((violation) => violation.includes(`${tenant}/${prefix}`));

export function evidenceOf(slot: Slot, left: Left): string[] {
  const { tenant, prefix, documents, trail } = slot;
  const live = left.collections.filter((one) => one.tenant === tenant && one.name.startsWith(prefix));
  const staged = left.staged.filter(
    ({ collection }) => collection.tenant === tenant && collection.name.startsWith(prefix),
  );
  const known = new Map<number, string>([
    ...live.map(({ id, name }): [number, string] => [id, name]),
    ...staged.map(({ id, purpose, replaces }): [number, string] => [id, `${purpose} beside ${replaces ?? 'nothing'}`]),
  ]);
  const others = new Set<number>(
    [...left.collections, ...left.staged].map(({ id }) => id).filter((id) => !known.has(id)),
  );
  const holders = [...left.documents].filter(([id]) => !others.has(id));
  const shown = [...left.documents].find(([id]) => id === live[0]?.id)?.[1];
  const wrong = [...new Set([...documents.keys(), ...(shown?.keys() ?? [])])].filter(
    (docid) => told(shown?.get(docid)) !== told(documents.get(docid)),
  );
  const held = (docid: string): string => {
    const found = holders.filter(
      ([id, own]) => own.has(docid) && (known.has(id) || told(own.get(docid)) === told(documents.get(docid))),
    );
    return (
      found.map(([id, own]) => `${id} (${known.get(id) ?? 'given up'}) has ${told(own.get(docid))}`).join(', ') ||
      'no collection has it'
    );
  };
  return [
    `${tenant}/${slot.name ?? prefix}`,
    ...wrong.map((docid) => `${docid} was acknowledged ${told(documents.get(docid))}: ${held(docid)}`),
    ...trail.lines(),
  ];
}

const told = (made: Revision | undefined): string =>
  made ? `in revision ${made.revision} and version ${made.version}` : 'absent';
