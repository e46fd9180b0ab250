// Use cases of the backups that the server makes by itself. Runs on the main thread.
import type { BACKUP_ROUTES } from '../../api/backups.js';
import type { UseCases } from '../use-case.js';
import type { ArchiveContext } from './archive.js';
import { restoreDataset, restoredDataset } from './restore.js';
import type { ScheduledBackups } from './scheduled-backups.js';

export interface BackupsContext {
  readonly backups: Pick<ScheduledBackups, 'list' | 'begin' | 'withFile'>;
  readonly archive: ArchiveContext;
}

export const backupUseCases = ({ backups, archive }: BackupsContext): UseCases<typeof BACKUP_ROUTES> => ({
  listBackups: () => backups.list(),
  makeBackup: () => {
    backups.begin();
    return { running: true };
  },
  restoreBackup: ({ backup, query: { dry_run: isDryRun = false } }, { signal }) =>
    backups.withFile(backup, async (path) =>
      restoredDataset(await restoreDataset(archive, path, isDryRun, signal), isDryRun),
    ),
});
