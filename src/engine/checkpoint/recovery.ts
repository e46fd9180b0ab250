// Recovery: fills the arenas of a shard from its checkpoint when the shard is opened, and replays the log of changes. A
// checkpoint that is damaged, that this version cannot read, or from which the log does not continue is logged with the
// reason and removed; all segments are then loaded from the store, as if there were no checkpoint. Owner only.
import type { CollectionRef } from '../../api/collections.js';
import type { CollectionId, Ordinal } from '../../api/ids.js';
import { defined } from '../../base/assert.js';
import type { SegmentChange } from '../../storage/change-log.js';
import {
  type CheckpointFiles,
  DamagedCheckpoint,
  type ImageEntry,
  ImageFile,
  type Manifest,
  REGION_BYTES,
} from '../../storage/checkpoint-files.js';
import { DamagedRecord } from '../../storage/damage.js';
import { type ShardTxn, readDocument } from '../../storage/shard-reader.js';
import type { ArenaImage } from '../memory/arena-image.js';
import { arenaOf, rowOf } from '../memory/ownership.js';
import type { SegmentTerms } from '../postings/builder.js';
import { FieldTerms, resumeFields, resumeTextIndex } from '../segments/indexes.js';
import { SegmentLoad } from '../segments/loading.js';
import type { SegmentTable } from '../segments/segment-table.js';
import type { Segment } from '../segments/segment.js';
import type { CollectionKinds, Shard } from '../shard.js';
import { hasPoints, isReadable } from './format.js';
import type { Note } from './writer.js';

/**
 * Reads the image of an arena directly into the shared memory, which is closed to readers, and checks each region.
 * Throws DamagedCheckpoint or a file system error; the memory is then garbage.
 */
function readImage(image: ArenaImage, path: string, manifest: Manifest, entry: ImageEntry): void {
  const file = ImageFile.open(path, manifest, entry);
  try {
    if (!image.reserve(entry.bytes)) throw new DamagedCheckpoint(`${entry.file}: larger than the arena`);
    image.finish(readRegions(file, image), entry);
  } finally {
    file.close();
  }
}

/**
 * Reads all regions but the first to their place. The first region is returned, since it also holds fields that belong
 * to the running process.
 */
function readRegions(file: ImageFile, image: ArenaImage): Buffer {
  const first = Buffer.alloc(file.bytesOf(0));
  for (let region = 0; region < file.regions; region++) {
    file.read(region, region === 0 ? first : image.target(region * REGION_BYTES, file.bytesOf(region)));
  }
  return first;
}

/**
 * What the text and metadata indexes of the checkpoint hold of a row; undefined if that is not known, null if they hold
 * nothing.
 */
interface OldSource {
  readonly text: string | null | undefined;
  readonly terms: readonly string[] | undefined;
}

/**
 * Log replay: brings segments of a checkpoint up to date with the store. The log names the rows that may differ, and
 * the store decides what each row is now. Like a load from the store, it runs in slices; readers do not find the
 * segments before it is complete, and nothing writes to them until then.
 */
class LogReplay extends SegmentLoad {
  private readonly left: Iterator<[Ordinal, OldSource]>;
  private next: [Ordinal, OldSource] | undefined;

  /** `changed`: the rows that may differ, with what the checkpoint's indexes hold of them. */
  constructor(
    segments: SegmentTable,
    ref: CollectionRef,
    restored: readonly Segment[],
    changed: ReadonlyMap<Ordinal, OldSource>,
  ) {
    super(segments, ref);
    for (const segment of restored) this.made.set(segment.arena, segment);
    this.left = changed.entries();
    this.step();
  }

  /** After ArenaFull it continues with the same row, which by then is removed and not yet added again. */
  protected override isTaken(txn: ShardTxn, untilMs: number): boolean {
    const terms = new FieldTerms(txn, this.ref.id);
    while (this.next) {
      const [ordinal, source] = this.next;
      const segment = this.segmentIn(arenaOf(ordinal));
      takeOut(segment, rowOf(ordinal), source);
      putIn(txn, segment, rowOf(ordinal), terms);
      if (this.step() && performance.now() >= untilMs) return false;
    }
    return true;
  }

  /** Advances to the next row. Returns false after the last one. */
  private step(): boolean {
    const { done, value } = this.left.next();
    this.next = done ? undefined : value;
    return !done;
  }
}

function takeOut(segment: Segment, row: Ordinal, { text, terms }: OldSource): void {
  if (!segment.index.isLive(row)) return;
  segment.textIndex = without(segment.textIndex, row, text);
  segment.fields = without(segment.fields, row, terms);
  segment.index.remove(row);
  segment.priorities.set(row, 0);
  segment.expiries.clear(row);
  segment.ordinals.release(row);
}

/**
 * Removes a row from an index. If it is not known what the index holds of the row, the index is dropped, and is built
 * again when a search needs it.
 */
function without<S>(
  index: SegmentTerms<S> | undefined,
  row: Ordinal,
  source: S | null | undefined,
): SegmentTerms<S> | undefined {
  if (source === undefined) index?.drop();
  else if (source !== null) index?.remove(row, source);
  return source === undefined ? undefined : index;
}

function putIn(txn: ShardTxn, segment: Segment, row: Ordinal, terms: FieldTerms): void {
  const { ref, index, priorities, expiries, textIndex, fields } = segment;
  const vector = txn.vector(ref, segment.stored(row));
  if (!vector) return;
  const chunk = defined(txn.findChunk(ref.id, segment.stored(row)), `the chunk of vector ${ref.id}/${row}`);
  const { priority, expiresAtS } = readDocument(txn, ref.id, chunk.docid);
  if (priority !== 0) priorities.reserve(row);
  if (expiresAtS !== 0) expiries.reserve(row);
  index.stage(row, vector);
  index.publish(row);
  segment.ordinals.markTaken(row);
  priorities.set(row, priority);
  expiries.set(row, expiresAtS);
  const text = textIndex && txn.text(ref.id, segment.stored(row))?.toString();
  if (text !== undefined) textIndex?.add(row, text);
  fields?.add(row, terms.of(chunk));
}

type Changed = Map<Ordinal, OldSource>;

/**
 * Restores the segments in the arenas. Unchanged segments become visible at once, changed ones after log replay; those
 * of deleted collections are dropped. `refs`: the collections with segments in the arenas; `changes`: all changes since
 * the checkpoint. `areFieldsKept`: whether its metadata indexes have the terms of this version.
 */
function recoverSegments(
  shard: Shard,
  refs: readonly CollectionRef[],
  areFieldsKept: boolean,
  kinds: CollectionKinds,
  changes: readonly SegmentChange[],
): void {
  const changed = changedRows(changes);
  for (const ref of refs) {
    const present = { id: ref.id, ...(kinds.get(ref.id) ?? ref) };
    const segments = shard.segments.restored(present);
    for (const segment of segments) resumeTerms(shard, segment, present.language === ref.language, areFieldsKept);
    if (
      kinds.has(ref.id) &&
      present.dim === ref.dim &&
      present.generation === ref.generation &&
      present.precision === ref.precision
    )
      restoreImages(shard, present, segments, changed.get(ref.id));
    else forget(shard, ref.id, segments);
  }
}

/**
 * Continues with the restored indexes. Index terms are stems of a language, so the text index is dropped if the
 * collection's language has changed, and the metadata index if an older version has made other terms.
 */
function resumeTerms(shard: Shard, segment: Segment, isSameLanguage: boolean, areFieldsKept: boolean): void {
  resumeTextIndex(shard, segment);
  resumeFields(shard, segment);
  if (!isSameLanguage) {
    segment.textIndex?.drop();
    segment.textIndex = undefined;
  }
  if (!areFieldsKept) {
    segment.fields?.drop();
    segment.fields = undefined;
  }
}

function restoreImages(
  shard: Shard,
  ref: CollectionRef,
  segments: readonly Segment[],
  changed: Changed | undefined,
): void {
  shard.segments.hide(ref.id);
  if (changed) shard.loads.resume(new LogReplay(shard.segments, ref, segments, changed));
  else shard.segments.enter(ref.id, segments);
}

function forget(shard: Shard, id: CollectionId, segments: readonly Segment[]): void {
  shard.segments.enter(id, segments);
  shard.segments.delete(id);
}

/** The changed rows of each collection. The first log entry of a row tells what the checkpoint holds of it. */
function changedRows(changes: readonly SegmentChange[]): Map<CollectionId, Changed> {
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

interface Filled {
  manifest: Manifest;
  changes: SegmentChange[];
}

/**
 * Restores a shard from its checkpoint, or discards the checkpoint if it is unusable. Requires that the arenas are
 * formatted and closed.
 */
export function restore(
  shard: Shard,
  number: number,
  files: CheckpointFiles,
  kinds: CollectionKinds,
  note: Note,
): void {
  const filled = fill(shard, number, files, note);
  if (!filled) return discard(shard, files);
  const { manifest, changes } = filled;
  shard.store.changes.trim({ ...shard.store.changes.state, last: manifest.number, bytes: 0 });
  recoverSegments(shard, manifest.parts as CollectionRef[], hasPoints(manifest.kernel), kinds, changes);
  files.clear(manifest);
}

/** Removes the checkpoint and ends the log of changes. */
export function discard(shard: Shard, files: CheckpointFiles): void {
  files.clear();
  shard.store.changes.end();
}

/** Reads manifest, log and images. Returns undefined if there is no usable checkpoint; the arenas are then empty. */
function fill(shard: Shard, shardNumber: number, files: CheckpointFiles, note: Note): Filled | undefined {
  try {
    const manifest = files.readManifest();
    if (!manifest) return undefined;
    checkOrigin(manifest, shardNumber, shard);
    const changes = shard.store.changes.after(manifest.number);
    for (const entry of manifest.images)
      readImage(shard.arenas.at(entry.arena).image(), files.pathOf(entry.file), manifest, entry);
    return { manifest, changes };
  } catch (error) {
    if (!isOfNoUse(error)) throw error;
    note(
      'warn',
      { shard: shardNumber, reason: (error as Error).message },
      'the checkpoint is unusable: all segments are loaded from the store',
    );
    shard.arenas.format();
    return undefined;
  }
}

function checkOrigin({ kernel, shard, log, number }: Manifest, shardNumber: number, { store }: Shard): void {
  const { id, last } = store.changes.state;
  if (shard !== shardNumber) throw new DamagedCheckpoint(`manifest: belongs to shard ${shard}`);
  if (!isReadable(kernel))
    throw new DamagedCheckpoint('manifest: written by another version of the server, which this one cannot read');
  if (log !== id || number > last)
    throw new DamagedCheckpoint('manifest: the log of changes does not continue from it');
}

const isOfNoUse = (error: unknown): boolean =>
  error instanceof DamagedCheckpoint ||
  error instanceof DamagedRecord ||
  typeof (error as NodeJS.ErrnoException).syscall === 'string';
