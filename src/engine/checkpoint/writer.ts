// Writes checkpoints of a shard, and decides when one is due. A checkpoint copies all arenas in passes, until a pass
// has seen no change, and then writes the manifest. The first passes run beside everything else; if writes never pause,
// the last passes hold a write freeze while they copy what has changed. Owner only.
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import type { LogNote } from '../../base/log.js';
import type { LogState } from '../../storage/change-log.js';
import {
  type CheckpointFiles,
  HEADER_BYTES,
  type ImageHeader,
  type Manifest,
  REGION_BYTES,
  encodeHeader,
} from '../../storage/checkpoint-files.js';
import { GRAPH_MIN } from '../hnsw/vector-index.js';
import type { ArenaImage } from '../memory/arena-image.js';
import type { Segment } from '../segments/segment.js';
import type { Shard } from '../shard.js';
import { CHECKPOINT_FORMAT } from './format.js';

/** Bytes written between two syncs. A single sync at the end would delay the commits of the store. */
const SYNC_BYTES = 32 * 2 ** 20;

/**
 * The image of an arena as a file. A pass copies the memory region by region and writes the regions that differ from
 * the file. After one pass the file is not necessarily a consistent image.
 */
class ImageWriter {
  /** Checksums of the regions in the file. */
  private sums: number[] = [];
  private bytes = 0;
  private unsyncedBytes = 0;
  /** Regions are copied before they are written, because the memory changes meanwhile. */
  private readonly buffer = Buffer.alloc(REGION_BYTES);

  private constructor(
    readonly image: ArenaImage,
    private readonly file: FileHandle,
  ) {}

  static async create(image: ArenaImage, path: string): Promise<ImageWriter> {
    return new ImageWriter(image, await open(path, 'w', 0o644));
  }

  /**
   * Brings the file up to date with the memory, with a `pause` after each region. A pass that writers wait for does not
   * sync.
   */
  async pass(pause: () => Promise<unknown>, isAwaited: boolean): Promise<void> {
    const bytes = this.image.bytes;
    for (let at = 0; at < bytes; at += REGION_BYTES) {
      await this.writeRegion(at, Math.min(REGION_BYTES, bytes - at));
      if (!isAwaited && this.unsyncedBytes >= SYNC_BYTES) await this.sync();
      await pause();
    }
    this.sums.length = Math.ceil(bytes / REGION_BYTES);
    this.bytes = bytes;
  }

  /** Writes the header and syncs the file; the caller syncs its directory entry. Returns the bytes of the image. */
  async finish(header: Omit<ImageHeader, 'bytes' | 'sums'>): Promise<number> {
    const { bytes, sums, file } = this;
    await this.write(encodeHeader({ ...header, bytes, sums }), 0);
    await file.truncate(HEADER_BYTES + bytes);
    await file.sync();
    return bytes;
  }

  async close(): Promise<void> {
    await this.file.close();
  }

  private async writeRegion(at: number, count: number): Promise<void> {
    const region = this.buffer.subarray(0, count);
    this.image.copy(at, region);
    const sum = crc32(region);
    if (this.sums[at / REGION_BYTES] === sum && at + count <= this.bytes) return;
    await this.write(region, HEADER_BYTES + at);
    this.sums[at / REGION_BYTES] = sum;
    this.unsyncedBytes += count;
  }

  private async sync(): Promise<void> {
    this.unsyncedBytes = 0;
    await this.file.datasync();
  }

  private async write(bytes: Buffer, at: number): Promise<void> {
    for (let done = 0; done < bytes.length; )
      done += (await this.file.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
  }
}

/**
 * Number of passes without and with a write freeze. A pass under a freeze fails only if a reader's scratch memory grows
 * during it.
 */
const FREE_PASSES = 2;
const FROZEN_PASSES = 3;
/**
 * Pause between two regions of a pass without freeze, in milliseconds. Copying a region takes about one, and searches
 * need the cores too.
 */
const PAUSE_MS = 3;

/** A checkpoint that has been written. */
export interface Written {
  bytes: number;
  passes: number;
  /** How long writers were blocked in total. */
  heldMs: number;
  /** The version of the write freeze at the moment that the checkpoint captures. */
  version: number;
}

interface Moment {
  state: LogState;
  version: number;
  manifest: Omit<Manifest, 'magic' | 'version'>;
}

const isWhole = (terms: Segment['textIndex'] | Segment['fields']): boolean =>
  !terms || terms.isLost || terms.complete !== undefined;

/** Whether no load, large removal or index build is under way; none of these can be checkpointed. */
function isAtRest({ loads, segments, leaving }: Shard): boolean {
  return (
    loads.areDone &&
    leaving.length === 0 &&
    [...segments.all()].every(({ textIndex, fields }) => isWhole(textIndex) && isWhole(fields))
  );
}

/** One attempt to write a checkpoint. */
export class Writing {
  private readonly id = randomBytes(16).toString('hex');
  private readonly writers = new Map<number, ImageWriter>();
  private passes = 0;
  private heldMs = 0;
  private isComplete = false;

  /** If `isGivenUp` returns true, writing ends at its next step. */
  constructor(
    private readonly shard: Shard,
    private readonly number: number,
    private readonly files: CheckpointFiles,
    private readonly isGivenUp: () => boolean,
  ) {}

  /**
   * Returns undefined if no checkpoint was written; the previous one then stays. `isAlone`: the shard is closing, so
   * the write freeze is not lifted again.
   */
  async run(isAlone: boolean): Promise<Written | undefined> {
    this.files.make();
    this.shard.store.changes.begin();
    try {
      const moment = await this.copy(isAlone);
      return moment && (await this.complete(moment));
    } finally {
      for (const writer of this.writers.values()) await writer.close();
      if (!this.isComplete)
        for (const arena of this.writers.keys()) rmSync(this.files.pathOf(this.fileOf(arena)), { force: true });
    }
  }

  /** Runs passes until the files are a consistent image. */
  private async copy(isAlone: boolean): Promise<Moment | undefined> {
    const passes = isAlone ? FROZEN_PASSES : FREE_PASSES + FROZEN_PASSES;
    for (; this.passes < passes && !this.isGivenUp(); ) {
      this.passes++;
      const moment = await (this.passes > passes - FROZEN_PASSES
        ? this.frozenPass(isAlone)
        : this.pass(() => sleep(PAUSE_MS), false));
      if (moment) return moment;
    }
    return undefined;
  }

  private async frozenPass(isAlone: boolean): Promise<Moment | undefined> {
    const { writeFreeze } = this.shard;
    const startedAtMs = performance.now();
    writeFreeze.begin();
    try {
      return await this.pass(nextTurn, true);
    } finally {
      this.heldMs += performance.now() - startedAtMs;
      if (!isAlone) writeFreeze.end();
    }
  }

  /** Returns the moment that the files capture; undefined if something changed during the pass. */
  private async pass(pause: () => Promise<unknown>, isAwaited: boolean): Promise<Moment | undefined> {
    const before = this.mark();
    for (const arena of this.shard.arenas.numbers()) {
      const writer = await this.writerOf(arena);
      await writer.pass(pause, isAwaited);
      if (this.isGivenUp()) return undefined;
    }
    return before !== undefined && before === this.mark() ? this.moment() : undefined;
  }

  /** A value that stays equal as long as nothing changes; undefined while a change is under way. */
  private mark(): string | undefined {
    const locks = this.shard.arenas.used().map((kernel) => kernel.image().locks);
    return locks.includes(undefined) || !isAtRest(this.shard)
      ? undefined
      : `${this.shard.writeFreeze.version} ${locks.join(' ')}`;
  }

  private moment(): Moment {
    const { arenas, segments, store } = this.shard;
    const { state } = store.changes;
    const images = [...arenas.numbers()].map((arena) => ({
      arena,
      file: this.fileOf(arena),
      bytes: 0,
      ...arenas.at(arena).image().plan(),
    }));
    const refs = new Map([...segments.all()].map(({ ref }) => [ref.id, ref]));
    return {
      state,
      version: this.shard.writeFreeze.version,
      manifest: {
        shard: this.number,
        kernel: CHECKPOINT_FORMAT,
        id: this.id,
        log: state.id ?? '',
        number: state.last,
        images,
        parts: [...refs.values()],
      },
    };
  }

  /**
   * Writes headers and manifest. Returns undefined if the log of changes has ended meanwhile, because nothing would
   * continue from the checkpoint.
   */
  private async complete({ state, version, manifest }: Moment): Promise<Written | undefined> {
    const { id, shard, number } = manifest;
    for (const image of manifest.images)
      image.bytes = await (await this.writerOf(image.arena)).finish({ id, shard, arena: image.arena, number });
    if (state.id === undefined || state.id !== this.shard.store.changes.state.id) return undefined;
    this.isComplete = true;
    await this.files.writeManifest(manifest);
    this.shard.store.changes.trim(state);
    this.files.clear(manifest);
    return {
      bytes: manifest.images.reduce((sum, { bytes }) => sum + bytes, 0),
      passes: this.passes,
      heldMs: Math.round(this.heldMs),
      version,
    };
  }

  private async writerOf(arena: number): Promise<ImageWriter> {
    const writer =
      this.writers.get(arena) ??
      (await ImageWriter.create(this.shard.arenas.at(arena).image(), this.files.pathOf(this.fileOf(arena))));
    this.writers.set(arena, writer);
    return writer;
  }

  private fileOf(arena: number): string {
    return `arena-${arena}-${this.id.slice(0, 8)}.image`;
  }
}

const CHECK_MS = 1000;
/** A checkpoint is due early once this many rows, and this share of all, have been published since the last one. */
const MANY_ROWS_MIN = 20_000;
const MANY_ROWS_SHARE = 1 / 2;
/** An early checkpoint waits this many times as long as the last one took. */
const SPACING = 10;

export type Note = (level: LogNote['level'], fields: Record<string, unknown>, message: string) => void;

/**
 * The checkpoints of a shard: one every `intervalMs` while something changes, earlier after many changes, and one at a
 * clean stop. If writing fails, the previous checkpoint stays, and the log of changes continues from it.
 */
export class Checkpoints {
  private readonly timer: NodeJS.Timeout;
  private underWay: Promise<void> | undefined;
  private isStopping = false;
  private endedAtMs = performance.now();
  private tookMs = 0;
  private version = 0;
  private publications: number;

  /**
   * `rowsMin`: size of the smallest segment that makes a checkpoint worthwhile. Smaller ones load from the store as
   * fast.
   */
  constructor(
    private readonly shard: Shard,
    private readonly number: number,
    private readonly files: CheckpointFiles,
    private readonly intervalMs: number,
    private readonly note: Note,
    private readonly rowsMin = GRAPH_MIN,
  ) {
    this.publications = this.publicationsNow;
    this.timer = setInterval(() => this.check(), Math.min(CHECK_MS, intervalMs)).unref();
  }

  /** Writes a last checkpoint if anything has changed. The memory must not be changed afterwards. */
  async finish(): Promise<void> {
    this.isStopping = true;
    clearInterval(this.timer);
    await this.underWay;
    this.shard.writeFreeze.begin();
    for (const segment of this.shard.segments.all()) giveUpUnfinished(segment);
    if (this.isWorthwhile && isAtRest(this.shard)) await this.write(true);
  }

  private check(): void {
    if (this.underWay || !this.isDue || !this.isWorthwhile || !isAtRest(this.shard)) return;
    this.underWay = this.write(false).finally(() => (this.underWay = undefined));
  }

  private get isDue(): boolean {
    const sinceMs = performance.now() - this.endedAtMs;
    return sinceMs >= this.intervalMs || (sinceMs >= SPACING * this.tookMs && this.hasManyRows);
  }

  private get hasManyRows(): boolean {
    const published = this.publicationsNow - this.publications;
    return published >= MANY_ROWS_MIN && published >= MANY_ROWS_SHARE * this.liveRows;
  }

  private get isWorthwhile(): boolean {
    return (
      this.shard.writeFreeze.version !== this.version &&
      [...this.shard.segments.all()].some(({ index }) => index.liveCount >= this.rowsMin)
    );
  }

  private get liveRows(): number {
    return [...this.shard.segments.all()].reduce((sum, { index }) => sum + index.liveCount, 0);
  }

  private get publicationsNow(): number {
    return this.shard.arenas.used().reduce((sum, kernel) => sum + kernel.image().publications, 0);
  }

  private async write(isAlone: boolean): Promise<void> {
    const [startedAtMs, publications] = [performance.now(), this.publicationsNow];
    try {
      const written = await new Writing(this.shard, this.number, this.files, () => this.isStopping && !isAlone).run(
        isAlone,
      );
      this.tookMs = performance.now() - startedAtMs;
      if (!written) return;
      const { version, ...told } = written;
      [this.version, this.publications] = [version, publications];
      this.note('info', { shard: this.number, ...told, tookMs: Math.round(this.tookMs) }, 'checkpoint written');
    } catch (error) {
      this.note('warn', { shard: this.number, reason: (error as Error).message }, 'a checkpoint could not be written');
    } finally {
      this.endedAtMs = performance.now();
    }
  }
}

/** Drops indexes that are still being built, since recovery could not continue them. */
function giveUpUnfinished(segment: Segment): void {
  for (const kind of ['textIndex', 'fields'] as const) {
    if (isWhole(segment[kind])) continue;
    segment[kind]?.drop();
    segment[kind] = undefined;
  }
}
