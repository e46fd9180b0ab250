// The parts of collections in arenas that a checkpoint has filled: those that are as they were are there at once, those
// that the store has changed since are brought up to date as a load, those of collections that are gone go. Called by
// restore.ts; shard worker only.
import type { CollectionId, Ordinal } from '../../../src/contract/ids.js';
import type { CollectionRef } from '../../../src/contract/resources.js';
import type { PartChange } from '../../../src/store/change-log.js';
import type { Part } from '../part.js';
import { resumeFields } from '../part-fields.js';
import { resumeWords } from '../part-words.js';
import type { CollectionKinds } from '../collection-kinds.js';
import type { Shard } from '../shard.js';
import { CatchUp, type OldSource } from './catch-up.js';

type Changed = Map<Ordinal, OldSource>;

/** `refs`: the collections whose parts are in the arenas. `changes`: all since. */
export function revive(
  shard: Shard,
  refs: readonly CollectionRef[],
  kinds: CollectionKinds,
  changes: readonly PartChange[],
): void {
  const changed = changedRows(changes);
  for (const ref of refs) {
    const present = { id: ref.id, ...(kinds.get(ref.id) ?? ref) };
    const parts = shard.parts.restored(present);
    for (const part of parts) resumeTerms(shard, part, present.language === ref.language);
    if (
      kinds.has(ref.id) &&
      present.dim === ref.dim &&
      present.generation === ref.generation &&
      present.precision === ref.precision
    )
      bringBack(shard, present, parts, changed.get(ref.id));
    else forget(shard, ref.id, parts);
  }
}

/** Words are stems of a language: of another one they are no use. */
function resumeTerms(shard: Shard, part: Part, isSameLanguage: boolean): void {
  resumeWords(shard, part);
  resumeFields(shard, part);
  if (isSameLanguage) return;
  part.words?.drop();
  part.words = undefined;
}

function bringBack(shard: Shard, ref: CollectionRef, parts: readonly Part[], changed: Changed | undefined): void {
  shard.parts.hide(ref.id);
  if (changed) shard.loads.resume(new CatchUp(shard.parts, ref, parts, changed));
  else shard.parts.enter(ref.id, parts);
}

function forget(shard: Shard, id: CollectionId, parts: readonly Part[]): void {
  shard.parts.enter(id, parts);
  shard.parts.delete(id);
}

/** By collection. What is told first of a row is what the checkpoint has of it. */
function changedRows(changes: readonly PartChange[]): Map<CollectionId, Changed> {
  const changed = new Map<CollectionId, Changed>();
  for (const { id, removed, texts, terms, added } of changes) {
    const rows = changed.get(id) ?? new Map<Ordinal, OldSource>();
    changed.set(id, rows);
    removed.forEach((ordinal, i) => {
      if (!rows.has(ordinal)) rows.set(ordinal, { text: texts?.[i], terms: terms?.[i] });
    });
    for (const ordinal of added) if (!rows.has(ordinal)) rows.set(ordinal, { text: undefined, terms: undefined });
  }
  return changed;
}
