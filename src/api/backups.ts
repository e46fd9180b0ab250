// The backups that the server makes by itself, as the admin sees them: a list, one more, and back from one of them.
import typia from 'typia';
import type { RestoredDataset } from './archives.js';
import { jsonRoute, routes } from './route.js';

export interface Backup {
  /** The name of its file or object. */
  name: string;
  /** ISO 8601 time. */
  made_at: string;
  bytes: number;
}

export interface BackupList {
  /** Where backups are kept; null if none are made. */
  store: 'folder' | 'bucket' | null;
  every_hours: number;
  /** The number of backups that are kept. */
  keep: number;
  /** Whether one is being made. */
  running: boolean;
  /** When making one failed, if none has been made since; the log of the server says why. */
  failed_at: string | null;
  /** The latest first. */
  backups: Backup[];
  count: number;
}

export interface BegunBackup {
  running: true;
}

export interface RestoreBackupQuery {
  dry_run?: boolean;
}

const BACKUPS = '/v1/admin/backups';
const NAME = 'sheaf-2026-01-05T09-20-00Z.zip';

const common = { access: 'admin', tag: 'Archives' } as const;

export const BACKUP_ROUTES = routes({
  listBackups: jsonRoute({
    ...common,
    method: 'GET',
    path: BACKUPS,
    ignoresQuery: true,
    summary: 'List the scheduled backups',
    description: 'With where and how often they are made, which the configuration says (`backups`).',
    answer: {
      schema: typia.json.schema<BackupList>(),
      example: {
        store: 'folder',
        every_hours: 24,
        keep: 7,
        running: false,
        failed_at: null,
        backups: [{ name: NAME, made_at: '2026-01-05T09:20:00.000Z', bytes: 1_204_331 }],
        count: 1,
      },
    },
    codes: ['backup_failed'],
  }),
  makeBackup: jsonRoute({
    ...common,
    method: 'POST',
    path: BACKUPS,
    ignoresQuery: true,
    summary: 'Make a backup now',
    description:
      'It is made in the background; the list tells when it is there. While one is being made, no other one is begun.',
    success: 202,
    answer: { schema: typia.json.schema<BegunBackup>(), example: { running: true } },
    codes: ['backups_off'],
  }),
  restoreBackup: jsonRoute({
    ...common,
    method: 'POST',
    path: `${BACKUPS}/{backup}/restore`,
    isLong: true,
    summary: 'Restore everything from a backup',
    description: 'Replaces all collections, as a restore of an archive of everything does.',
    query: [
      {
        name: 'dry_run',
        description: '`true` only verifies the backup and reports its contents.',
        schema: { type: 'boolean', default: false },
      },
    ],
    checkQuery: typia.createValidate<RestoreBackupQuery>(),
    answer: {
      schema: typia.json.schema<RestoredDataset>(),
      example: { counts: { collections: 1, documents: 2, chunks: 8, queries: 0 }, left_out: [] },
    },
    codes: [
      'backups_off',
      'backup_not_found',
      'backup_failed',
      'archive_invalid',
      'embedder_unavailable',
      'storage_full',
    ],
  }),
});
