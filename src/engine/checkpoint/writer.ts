// Writes checkpoints of a shard, and says when one is due. A checkpoint takes passes over all arenas until one has seen
// no change, then the manifest. The first passes go beside everything else; where writers never rest, the last ones hold
// a write freeze while they bring over what has changed since. Owner only.
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
import type { Part } from '../segments/segment.js';
import type { Shard } from '../shard.js';
import { CHECKPOINT_FORMAT } from './format.js';

/** So much at a time goes to the disk: a single sync at the end would hold up the commits of the store. */
const SYNC_BYTES = 32 * 2 ** 20;

/**
 * The image of an arena as a file. A pass copies the memory region by region and writes those that are not what the file
 * has; it need not be the memory at one moment.
 */
class ImageWriter {
  /** Of the regions as the file has them. */
  private sums: number[] = [];
  private bytes = 0;
  private unsyncedBytes = 0;
  /** What is written is a copy: the memory changes meanwhile. */
  private readonly buffer = Buffer.alloc(REGION_BYTES);

  private constructor(
    readonly image: ArenaImage,
    private readonly file: FileHandle,
  ) {}

  static async create(image: ArenaImage, path: string): Promise<ImageWriter> {
    return new ImageWriter(image, await open(path, 'w', 0o644));
  }

  /**
   * Brings the file to what the memory is now, with a `pause` behind each region; one that others wait for syncs
   * nothing on the way.
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

  /** Completes the file; its name is the caller's to sync. Answers the bytes of the image. */
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
 * Passes beside writers, and then those that hold them up: only a reader that grows its scratch lets one of these fail.
 */
const FREE_PASSES = 2;
const STILL_PASSES = 3;
/** Between two regions of a free pass: a region takes a millisecond, and searches want the cores too. */
const PAUSE_MS = 3;

export interface Written {
  bytes: number;
  passes: number;
  /** How long writers were held up in all. */
  heldMs: number;
  /** Of WriteFreeze, at the moment that it is of. */
  version: number;
}

interface Moment {
  state: LogState;
  version: number;
  manifest: Omit<Manifest, 'magic' | 'version'>;
}

const isWhole = (terms: Part['words'] | Part['fields']): boolean =>
  !terms || terms.isLost || terms.complete !== undefined;

/** Parts on their way into memory, and indexes of terms that are being made, are in no checkpoint. */
function isAtRest({ loads, parts, leaving }: Shard): boolean {
  return (
    loads.areDone &&
    leaving.length === 0 &&
    [...parts.all()].every(({ words, fields }) => isWhole(words) && isWhole(fields))
  );
}

export class Writing {
  private readonly id = randomBytes(16).toString('hex');
  private readonly writers = new Map<number, ImageWriter>();
  private passes = 0;
  private heldMs = 0;
  private isComplete = false;

  /** `isGivenUp` ends it at its next step. */
  constructor(
    private readonly shard: Shard,
    private readonly number: number,
    private readonly files: CheckpointFiles,
    private readonly isGivenUp: () => boolean,
  ) {}

  /**
   * undefined where it has come to nothing: the checkpoint of before stays. `isAlone`: nothing else is to be done any
   * more.
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

  /** Passes, until the files are the memory at one moment. */
  private async copy(isAlone: boolean): Promise<Moment | undefined> {
    const passes = isAlone ? STILL_PASSES : FREE_PASSES + STILL_PASSES;
    for (; this.passes < passes && !this.isGivenUp(); ) {
      this.passes++;
      const moment = await (this.passes > passes - STILL_PASSES
        ? this.stillPass(isAlone)
        : this.pass(() => sleep(PAUSE_MS), false));
      if (moment) return moment;
    }
    return undefined;
  }

  private async stillPass(isAlone: boolean): Promise<Moment | undefined> {
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

  /** Answers what the files are now a copy of; undefined where something has changed on the way. */
  private async pass(pause: () => Promise<unknown>, isAwaited: boolean): Promise<Moment | undefined> {
    const before = this.mark();
    for (const arena of this.shard.arenas.numbers()) {
      const writer = await this.writerOf(arena);
      await writer.pass(pause, isAwaited);
      if (this.isGivenUp()) return undefined;
    }
    return before !== undefined && before === this.mark() ? this.moment() : undefined;
  }

  /** Equal at two times between which nothing has changed; undefined where something is under way. */
  private mark(): string | undefined {
    const locks = this.shard.arenas.used().map((kernel) => kernel.image().locks);
    return locks.includes(undefined) || !isAtRest(this.shard)
      ? undefined
      : `${this.shard.writeFreeze.version} ${locks.join(' ')}`;
  }

  private moment(): Moment {
    const { arenas, parts, store } = this.shard;
    const { state } = store.changes;
    const images = [...arenas.numbers()].map((arena) => ({
      arena,
      file: this.fileOf(arena),
      bytes: 0,
      ...arenas.at(arena).image().plan(),
    }));
    const refs = new Map([...parts.all()].map(({ ref }) => [ref.id, ref]));
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

  /** undefined where the log of changes has ended meanwhile: there is nothing that goes on from it. */
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
/** Rows published since the last one that make the next one due at once: so many, and this share of all. */
const MANY_ROWS_MIN = 20_000;
const MANY_ROWS_SHARE = 1 / 2;
/** At the soonest after so many times what the last one took. */
const SPACING = 10;

export type Note = (level: LogNote['level'], fields: Record<string, unknown>, message: string) => void;

/**
 * The checkpoints of a shard: one so often while something changes, sooner after much has changed, and at a clean stop.
 * What a failed one leaves is the checkpoint of before, which the log of changes goes on from.
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
   * `rowsMin`: the smallest part that makes a checkpoint worth its while; smaller ones are read from the store as fast.
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

  /** Writes what has changed since the last one, and no other after it. The memory is not to be changed any more. */
  async finish(): Promise<void> {
    this.isStopping = true;
    clearInterval(this.timer);
    await this.underWay;
    this.shard.writeFreeze.begin();
    for (const part of this.shard.parts.all()) giveUpUnfinished(part);
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
      [...this.shard.parts.all()].some(({ index }) => index.liveCount >= this.rowsMin)
    );
  }

  private get liveRows(): number {
    return [...this.shard.parts.all()].reduce((sum, { index }) => sum + index.liveCount, 0);
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

/** An index of terms that is still being made has nobody who would go on with it. */
function giveUpUnfinished(part: Part): void {
  for (const kind of ['words', 'fields'] as const) {
    if (isWhole(part[kind])) continue;
    part[kind]?.drop();
    part[kind] = undefined;
  }
}
