// The environment of the catalog and its journal. Used by the owner of shard 0 only.
import { type CatalogTable, packChange } from './catalog-records.js';
import { Journal, type JournalOptions } from './journal.js';
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
    journal.head = head;
    return result;
  }

  journaled<T>(command: object, work: () => T): T {
    this.command = command;
    try {
      return work();
    } finally {
      this.command = undefined;
    }
  }

  close(): void {
    this.env.close();
  }
}
