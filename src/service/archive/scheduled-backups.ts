// Scheduled backups: an archive of everything in a folder or a bucket, every so many hours, of which the latest are kept.
// What tells when the next one is due is what is there, so a restart neither skips nor repeats one. Runs on the main thread.
import { AppError, errorTypeOf } from '../../api/errors.js';
import type { Log } from '../../base/log.js';
import type { Config } from '../../config/config.js';
import { type ArchiveContext, archiveDataset } from './archive.js';
import { BackupBucket, BackupFolder, type BackupStore, type StoredBackup } from './backup-store.js';

interface ScheduledBackupsOptions extends Pick<Config, 'backups'> {
  readonly archive: ArchiveContext;
  /** Whether this server can make them now, and is to: of the nodes of a cluster, one does. */
  readonly isOwn: () => boolean;
  readonly nowMs: () => number;
  readonly log: Log;
}

interface Backup extends StoredBackup {
  readonly madeAtMs: number;
}

const NAME = /^sheaf-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.zip$/;
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

  private readonly store: BackupStore | undefined;

  constructor(private readonly options: ScheduledBackupsOptions) {
    this.store = storeOf(options.backups);
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
    const { store } = this;
    if (!store) return;
    const { backups, nowMs } = this.options;
    this.note(await backupsIn(store));
    if (nowMs() - this.latestAtMs < backups.everyMs) return;
    await this.make(store);
    const all = await backupsIn(store);
    this.note(all);
    for (const { name } of all.slice(0, -backups.keep)) await store.remove(name);
  }

  private note(all: readonly Backup[]): void {
    const latest = all.at(-1);
    this.latestAtMs = latest?.madeAtMs ?? 0;
    this.latestBytes = latest?.bytes ?? 0;
  }

  private async make(store: BackupStore): Promise<void> {
    const { archive, nowMs, log } = this.options;
    const startedAtMs = performance.now();
    const name = nameOf(nowMs());
    const { bytes, leftOut } = await archiveDataset(archive, this.ending.signal);
    await store.put(name, bytes);
    const collections = leftOut.map(({ tenant, name: left }) => `${tenant}/${left}`);
    if (collections.length > 0) log.warn({ collections }, 'damaged collections are missing in the backup');
    const seconds = Number(((performance.now() - startedAtMs) / 1000).toFixed(1));
    log.info({ backup: name, seconds }, 'a backup has been made');
  }
}

/** Undefined if no backups are made. */
function storeOf({ folder, s3 }: Config['backups']): BackupStore | undefined {
  if (s3.url !== '') return new BackupBucket(s3);
  return folder === '' ? undefined : new BackupFolder(folder);
}

/** The oldest first. */
async function backupsIn(store: BackupStore): Promise<Backup[]> {
  const all = await store.list();
  return all.filter(({ name }) => NAME.test(name)).map((each) => ({ ...each, madeAtMs: timeOf(each.name) }));
}

/** To the second, in UTC, so that names are in the order of times. */
const nameOf = (ms: number): string => `sheaf-${new Date(ms).toISOString().slice(0, 19).replaceAll(':', '-')}Z.zip`;

const timeOf = (name: string): number =>
  Date.parse(name.slice('sheaf-'.length, -'.zip'.length).replace(/T(\d\d)-(\d\d)-/, 'T$1:$2:'));
