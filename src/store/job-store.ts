// Reindex jobs in the catalog's environment: a record each, changed with what is staged for it where that belongs
// together. Owned by the worker of shard 0.
import type { JobChange } from '../contract/catalog-commands.js';
import type { NewStaged, StagedRecord } from '../contract/staged.js';
import type { StoredJob } from '../contract/reindex.js';
import { decodeJob, encodeCatalogRecord as encode, type CatalogTable } from './catalog-records.js';
import { removeStaged, stageIn, type CatalogTables } from './catalog-tables.js';
import { settingKey } from './keys.js';
import type { Environment } from './lmdb.js';
import { wholeValues } from './whole-table.js';

export class JobStore {
  constructor(private readonly env: Environment<CatalogTable>) {}

  /**
   * In the order of their ids, which is that of their beginnings. Of a damaged one nothing is left but what it had
   * staged, which goes.
   */
  all(): StoredJob[] {
    return this.env.read(({ jobs }) => Array.from(wholeValues(jobs), decodeJob));
  }

  /** A new job with what is staged for it: there are both or neither. */
  create({ job, ...others }: JobChange, staged: NewStaged): { job: StoredJob; staged: StagedRecord } {
    return this.env.write((tables) => {
      const record = stageIn(tables, staged);
      const made = { ...job, staged_id: record.id };
      change(tables, { job: made, ...others });
      return { job: made, staged: record };
    });
  }

  save(changed: JobChange): void {
    this.env.write((tables) => change(tables, changed));
  }
}

/** In a transaction that does more. */
export const putJob = ({ jobs }: CatalogTables, job: StoredJob): void => jobs.put(jobKey(job.job_id), encode(job));

const jobKey = settingKey;

function change(tables: CatalogTables, { job, unstage = [], forget = [] }: JobChange): void {
  putJob(tables, job);
  for (const id of unstage) removeStaged(tables.staged, id);
  for (const id of forget) tables.jobs.delete(jobKey(id));
}
