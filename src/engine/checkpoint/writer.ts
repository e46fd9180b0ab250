// Writes a checkpoint of a shard: passes over all of its arenas until one has seen no change, then the manifest. The
// first passes go beside everything else; where writers never rest, the last ones hold them up while they bring over
// what has changed since. Called by checkpoints.ts.
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { CheckpointFiles, Manifest } from '../../../src/store/checkpoint-files.js';
import type { LogState } from '../../../src/store/change-log.js';
import type { Part } from '../part.js';
import type { Shard } from '../shard.js';
import { ImageWriter } from './image-writer.js';

/**
 * Passes beside writers, and then those that hold them up: only a reader that grows its scratch lets one of these fail.
 */
const FREE_PASSES = 2;
const STILL_PASSES = 3;
/** Between two regions of a free pass: a region takes a millisecond, and searches want the cores too. */
const PAUSE_MS = 3;

export interface Identity {
  shard: number;
  kernel: string;
}

export interface Written {
  bytes: number;
  passes: number;
  /** How long writers were held up in all. */
  heldMs: number;
  /** Of Stillness, at the moment that it is of. */
  version: number;
}

interface Moment {
  state: LogState;
  version: number;
  manifest: Omit<Manifest, 'magic' | 'version'>;
}

export const isWhole = (terms: Part['words'] | Part['fields']): boolean =>
  !terms || terms.isLost || terms.complete !== undefined;

/** Parts on their way into memory, and indexes of terms that are being made, are in no checkpoint. */
export function isAtRest({ loads, parts, leaving }: Shard): boolean {
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
    private readonly files: CheckpointFiles,
    private readonly identity: Identity,
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
    const { stillness } = this.shard;
    const startedAtMs = performance.now();
    stillness.begin();
    try {
      return await this.pass(nextTurn, true);
    } finally {
      this.heldMs += performance.now() - startedAtMs;
      if (!isAlone) stillness.end();
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
      : `${this.shard.stillness.version} ${locks.join(' ')}`;
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
      version: this.shard.stillness.version,
      manifest: {
        ...this.identity,
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
