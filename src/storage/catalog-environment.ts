// The environment of the catalog and its journal. Used by the owner of shard 0 only.
import { type CatalogTable, packChange } from './catalog-records.js';
import { type AppliedLog, Journal, type JournalOptions, type LogPosition } from './journal.js';
import type { Environment } from './lmdb.js';
import type { Tables } from './table.js';

/** The environment of the catalog. A transaction that a command makes is written to the journal with that command. */
export class CatalogEnvironment {
  readonly journal: Journal | undefined;
  private command: object | undefined;

  constructor(
    private readonly env: Environment<CatalogTable>,
    journal: JournalOptions = { bytesMax: 0 },
  ) {
    this.journal = Journal.open(env, journal);
  }

  read<T>(work: (tables: Tables<CatalogTable>) => T): T {
    return this.env.read(work);
  }

  write<T>(work: (tables: Tables<CatalogTable>) => T): T {
    const { journal, command } = this;
    if (!journal || !command) return this.env.write(work);
    const { result, head } = this.env.write((tables) => {
      const result = work(tables);
      return { result, head: journal.append(tables.journal, [packChange(command, result)]) };
    });
    journal.committed(head);
    return result;
  }

  appliedLog(): AppliedLog | null {
    return this.journal?.appliedLog(this.env) ?? null;
  }

  /** Takes note that everything up to this position of the command log has been applied. */
  advance(position: LogPosition): void {
    const { journal } = this;
    if (!journal) return;
    journal.applying = position;
    try {
      journal.committed(this.env.write((tables) => journal.append(tables.journal, [])));
    } finally {
      journal.applying = undefined;
    }
  }

  journaled<T>(command: object, work: () => T): T {
    this.command = command;
    try {
      return work();
    } finally {
      this.command = undefined;
    }
  }

  /** Copies the environment into a folder (lmdb.ts). */
  copyTo(directory: string): Promise<void> {
    return this.env.copyTo(directory);
  }

  close(): void {
    this.env.close();
  }
}
