// Scheduled backups: an archive of everything in a folder or a bucket, every so many hours, of which the latest are kept.
// What tells when the next one is due is what is there, so a restart neither skips nor repeats one. Runs on the main thread.
import type { BackupList } from '../../api/backups.js';
import { AppError, errorTypeOf } from '../../api/errors.js';
import type { Log } from '../../base/log.js';
import type { Config } from '../../config/config.js';
import { type ArchiveContext, archiveDataset } from './archive.js';
import { BackupBucket, BackupFolder, type BackupStore, type StoredBackup } from './backup-store.js';
import {
  BackupUnreadable,
  archiveBytes,
  deleteUnused,
  isIncremental,
  storeIncrement,
  withBackup,
} from './incremental-backup.js';

interface ScheduledBackupsOptions extends Pick<Config, 'backups'> {
  readonly archive: ArchiveContext;
  /** A folder for copies of backups that are restored. */
  readonly temporary: string;
  /** Whether this server can make them now, and is to: of the nodes of a cluster, one does. */
  readonly isOwn: () => boolean;
  readonly nowMs: () => number;
  readonly log: Log;
}

interface Backup extends StoredBackup {
  readonly madeAtMs: number;
}

const NAME = /^sheaf-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.(zip|json)$/;
const LOOK_MS = 5000;
const HOUR_MS = 3_600_000;
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
  private failedAtMs: number | undefined;

  private readonly store: BackupStore | undefined;
  /** The bytes of the archives that incremental backups stand for. */
  private readonly sizes = new Map<string, number>();

  constructor(private readonly options: ScheduledBackupsOptions) {
    this.store = storeOf(options.backups, this.ending.signal);
  }

  /** Call it when the server can answer. */
  start(lookMs = LOOK_MS): void {
    if (!this.store) return;
    void this.look();
    this.timer = setInterval(() => void this.look(), lookMs).unref();
  }

  /** Gives up a backup that is being made. */
  async close(): Promise<void> {
    clearInterval(this.timer);
    this.ending.abort();
    await this.running;
  }

  /** Rejects with 503 `backup_failed` if they cannot be listed. */
  async list(): Promise<BackupList> {
    const { folder, s3, everyMs, keep } = this.options.backups;
    const all = this.store ? await this.found(this.store) : [];
    return {
      store: s3.url !== '' ? 'bucket' : folder !== '' ? 'folder' : null,
      every_hours: everyMs / HOUR_MS,
      keep,
      running: this.running !== undefined,
      failed_at: this.failedAtMs === undefined ? null : new Date(this.failedAtMs).toISOString(),
      backups: all
        .map(({ name, bytes, madeAtMs }) => ({ name, made_at: new Date(madeAtMs).toISOString(), bytes }))
        .reverse(),
      count: all.length,
    };
  }

  /** Begins a backup unless one is being made. Throws 409 `backups_off`. */
  begin(): void {
    const store = this.needed();
    if (!this.running) void this.run(() => this.make(store));
  }

  /**
   * Calls `work` with the path of a backup. Rejects as `work` does, with 409 `backups_off`, 404 `backup_not_found` and 503
   * `backup_failed`.
   */
  async withFile<T>(name: string, work: (path: string) => Promise<T>): Promise<T> {
    const store = this.needed();
    const all = await this.found(store);
    if (!all.some((each) => each.name === name)) throw new AppError('backup_not_found');
    return withBackup(store, name, this.options.temporary, work).catch((error: unknown) => {
      throw error instanceof BackupUnreadable ? this.failureOf(error) : error;
    });
  }

  private needed(): BackupStore {
    if (!this.store) throw new AppError('backups_off');
    return this.store;
  }

  /** As `backupsIn`. Rejects with 503 `backup_failed`. */
  private async found(store: BackupStore): Promise<Backup[]> {
    return this.backupsIn(store).catch((error: Error) => {
      throw this.failureOf(error);
    });
  }

  /** What the folder or bucket has to say of a failure is for the log alone. */
  private failureOf({ message }: Error): AppError {
    this.options.log.error({ reason: message }, 'the backups cannot be read');
    return new AppError('backup_failed', undefined, { retryAfterS: 10 });
  }

  /** Makes a backup if one is due. */
  private async look(): Promise<void> {
    const { isOwn, nowMs } = this.options;
    const { everyMs } = this.options.backups;
    if (this.running || !isOwn() || nowMs() < Math.max(this.notBeforeMs, this.latestAtMs + everyMs)) return;
    await this.run(() => this.makeIfDue());
  }

  private async run(work: () => Promise<void>): Promise<void> {
    const { nowMs, log } = this.options;
    this.running = work()
      .catch((error: unknown) => {
        // While shards are being opened, the next look follows soon.
        const isAway = error instanceof AppError && errorTypeOf(error.code) === 'unavailable';
        if (this.ending.signal.aborted || isAway) return;
        this.failed++;
        this.failedAtMs = nowMs();
        this.notBeforeMs = nowMs() + AGAIN_MS;
        log.error({ reason: (error as Error).message }, 'a backup has failed; the next attempt is in ten minutes');
      })
      .finally(() => (this.running = undefined));
    await this.running;
  }

  private async makeIfDue(): Promise<void> {
    const { store } = this;
    if (!store) return;
    const { backups, nowMs } = this.options;
    this.note(await this.backupsIn(store));
    if (nowMs() - this.latestAtMs < backups.everyMs) return;
    await this.make(store);
  }

  /** The oldest first. Lists of entries have the size of their archive, which is read once. */
  private async backupsIn(store: BackupStore): Promise<Backup[]> {
    const all = (await store.list()).filter(({ name }) => NAME.test(name)).sort((a, b) => (a.name < b.name ? -1 : 1));
    const backups: Backup[] = [];
    for (const { name, bytes } of all) {
      if (isIncremental(name) && !this.sizes.has(name))
        this.sizes.set(name, await archiveBytes(store, name, this.options.temporary).catch(() => bytes));
      backups.push({ name, bytes: this.sizes.get(name) ?? bytes, madeAtMs: timeOf(name) });
    }
    return backups;
  }

  private note(all: readonly Backup[]): void {
    const latest = all.at(-1);
    this.latestAtMs = latest?.madeAtMs ?? 0;
    this.latestBytes = latest?.bytes ?? 0;
  }

  private async make(store: BackupStore): Promise<void> {
    const { archive, backups, temporary, nowMs, log } = this.options;
    const startedAtMs = performance.now();
    const { incremental } = backups;
    const name = nameOf(nowMs(), incremental ? 'json' : 'zip');
    const { bytes, leftOut } = await archiveDataset(archive, this.ending.signal, incremental);
    const stored = incremental ? await storeIncrement(store, name, bytes) : undefined;
    if (!stored) await store.put(name, bytes);
    this.failedAtMs = undefined;
    const all = await this.backupsIn(store);
    this.note(all);
    for (const old of all.slice(0, -backups.keep)) {
      await store.remove(old.name);
      this.sizes.delete(old.name);
    }
    const kept = all.slice(-backups.keep).map((each) => each.name);
    if (incremental) await deleteUnused(store, kept.filter(isIncremental), temporary, nowMs());
    const collections = leftOut.map(({ tenant, name: left }) => `${tenant}/${left}`);
    if (collections.length > 0) log.warn({ collections }, 'damaged collections are missing in the backup');
    const seconds = Number(((performance.now() - startedAtMs) / 1000).toFixed(1));
    log.info({ backup: name, seconds, ...stored }, 'a backup has been made');
  }
}

/** Undefined if no backups are made. */
function storeOf({ folder, s3 }: Config['backups'], ending: AbortSignal): BackupStore | undefined {
  if (s3.url !== '') return new BackupBucket(s3, ending);
  return folder === '' ? undefined : new BackupFolder(folder);
}

/** To the second, in UTC, so that names are in the order of times. */
const nameOf = (ms: number, kind: 'zip' | 'json'): string =>
  `sheaf-${new Date(ms).toISOString().slice(0, 19).replaceAll(':', '-')}Z.${kind}`;

const timeOf = (name: string): number =>
  Date.parse(name.slice('sheaf-'.length, name.indexOf('.')).replace(/T(\d\d)-(\d\d)-/, 'T$1:$2:'));
