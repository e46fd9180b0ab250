// When a shard writes a checkpoint: so often while something changes, sooner after much has changed, and at a clean
// stop. One a shard, made by commands.ts; shard worker only. What a failed one leaves is the checkpoint of before,
// which the log of changes goes on from.
import type { LogNote } from '../../../src/base/log.js';
import type { CheckpointFiles } from '../../../src/store/checkpoint-files.js';
import { GRAPH_MIN } from '../layout.js';
import type { Part } from '../part.js';
import type { Shard } from '../shard.js';
import { isAtRest, isWhole, Writing, type Identity } from './writing.js';

const CHECK_MS = 1000;
/** Rows published since the last one that make the next one due at once: so many, and this share of all. */
const MANY_ROWS_MIN = 20_000;
const MANY_ROWS_SHARE = 1 / 2;
/** At the soonest after so many times what the last one took. */
const SPACING = 10;

export type Note = (level: LogNote['level'], fields: Record<string, unknown>, message: string) => void;

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
    private readonly files: CheckpointFiles,
    private readonly identity: Identity,
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
    this.shard.stillness.begin();
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
      this.shard.stillness.version !== this.version &&
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
    const { shard } = this.identity;
    try {
      const written = await new Writing(this.shard, this.files, this.identity, () => this.isStopping && !isAlone).run(
        isAlone,
      );
      this.tookMs = performance.now() - startedAtMs;
      if (!written) return;
      const { version, ...told } = written;
      [this.version, this.publications] = [version, publications];
      this.note('info', { shard, ...told, tookMs: Math.round(this.tookMs) }, 'checkpoint written');
    } catch (error) {
      this.note('warn', { shard, reason: (error as Error).message }, 'a checkpoint could not be written');
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
