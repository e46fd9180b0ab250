// Scheduled backups: an archive of everything in a folder, every so many hours, of which the latest are kept. What tells
// when the next one is due is the folder itself, so a restart neither skips nor repeats one. Runs on the main thread.
import { mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError, errorTypeOf } from '../../api/errors.js';
import type { Log } from '../../base/log.js';
import type { Config } from '../../config/config.js';
import { syncDirectory } from '../../storage/disk.js';
import { type ArchiveContext, archiveDataset } from './archive.js';

interface ScheduledBackupsOptions extends Pick<Config, 'backups'> {
  readonly archive: ArchiveContext;
  /** Whether this server can make them now, and is to: of the nodes of a cluster, one does. */
  readonly isOwn: () => boolean;
  readonly nowMs: () => number;
  readonly log: Log;
}

interface Backup {
  readonly name: string;
  readonly madeAtMs: number;
  readonly bytes: number;
}

/** Whole backups. What was not completed ends with `.partial`. */
const NAME = /^sheaf-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.zip$/;
const PARTIAL = /^sheaf-.*\.zip\.partial$/;
const LOOK_MS = 5000;
/** After a failure, the next attempt. */
const AGAIN_MS = 600_000;

export class ScheduledBackups {
  private timer: NodeJS.Timeout | undefined;
  private readonly ending = new AbortController();
  private running: Promise<void> | undefined;
  private notBeforeMs = 0;
  /** When the latest backup was made, in milliseconds since 1970; 0 if there is none or backups are off. */
  latestAtMs = 0;
  latestBytes = 0;
  failed = 0;

  constructor(private readonly options: ScheduledBackupsOptions) {}

  /** Call it when the server can answer. */
  start(lookMs = LOOK_MS): void {
    if (this.options.backups.folder === '') return;
    void this.look();
    this.timer = setInterval(() => void this.look(), lookMs).unref();
  }

  /** Gives up a backup that is being made. */
  async close(): Promise<void> {
    clearInterval(this.timer);
    this.ending.abort();
    await this.running;
  }

  /** Makes a backup if one is due. */
  private async look(): Promise<void> {
    const { isOwn, nowMs, log } = this.options;
    const { everyMs } = this.options.backups;
    if (this.running || !isOwn() || nowMs() < Math.max(this.notBeforeMs, this.latestAtMs + everyMs)) return;
    this.running = this.makeIfDue()
      .catch((error: unknown) => {
        // While shards are being opened, the next look follows soon.
        const isAway = error instanceof AppError && errorTypeOf(error.code) === 'unavailable';
        if (this.ending.signal.aborted || isAway) return;
        this.failed++;
        this.notBeforeMs = nowMs() + AGAIN_MS;
        log.error({ reason: (error as Error).message }, 'a backup has failed; the next attempt is in ten minutes');
      })
      .finally(() => (this.running = undefined));
    await this.running;
  }

  private async makeIfDue(): Promise<void> {
    const { backups, nowMs } = this.options;
    await mkdir(backups.folder, { recursive: true, mode: 0o700 });
    const before = await this.all();
    this.note(before);
    if (nowMs() - this.latestAtMs < backups.everyMs) return;
    await this.make();
    const all = await this.all();
    this.note(all);
    for (const { name } of all.slice(0, -backups.keep)) await rm(join(backups.folder, name));
  }

  private note(all: readonly Backup[]): void {
    const latest = all.at(-1);
    this.latestAtMs = latest?.madeAtMs ?? 0;
    this.latestBytes = latest?.bytes ?? 0;
  }

  /** The backups that are there, the oldest first. */
  private async all(): Promise<Backup[]> {
    const { folder } = this.options.backups;
    const names = (await readdir(folder)).filter((name) => NAME.test(name)).sort();
    return Promise.all(
      names.map(async (name) => ({ name, madeAtMs: timeOf(name), bytes: (await stat(join(folder, name))).size })),
    );
  }

  /** Writes beside the others under another name, which changes when all of it is on disk. */
  private async make(): Promise<void> {
    const { archive, backups, nowMs, log } = this.options;
    const { folder } = backups;
    for (const name of await readdir(folder)) if (PARTIAL.test(name)) await rm(join(folder, name));
    const startedAtMs = performance.now();
    const name = nameOf(nowMs());
    const partial = join(folder, `${name}.partial`);
    const { bytes, leftOut } = await archiveDataset(archive, this.ending.signal);
    const file = await open(partial, 'wx', 0o600);
    try {
      await writeFile(file, bytes);
      await file.sync();
    } catch (error) {
      await rm(partial, { force: true });
      throw error;
    } finally {
      await file.close();
    }
    await rename(partial, join(folder, name));
    syncDirectory(folder);
    const collections = leftOut.map(({ tenant, name: left }) => `${tenant}/${left}`);
    if (collections.length > 0) log.warn({ collections }, 'damaged collections are missing in the backup');
    const seconds = Number(((performance.now() - startedAtMs) / 1000).toFixed(1));
    log.info({ backup: name, seconds }, 'a backup has been made');
  }
}

/** To the second, in UTC, so that names are in the order of times. */
const nameOf = (ms: number): string => `sheaf-${new Date(ms).toISOString().slice(0, 19).replaceAll(':', '-')}Z.zip`;

const timeOf = (name: string): number =>
  Date.parse(name.slice('sheaf-'.length, -'.zip'.length).replace(/T(\d\d)-(\d\d)-/, 'T$1:$2:'));
