// Those who take part, of whom one at a time runs: the others' processes are stopped meanwhile, where they are ours.
// One that fails is left out from there on, and said so. Used by load/suite/peers.ts.
import { join } from 'node:path';
import type { Candidate, Participant } from './participants.js';

export interface Contestant extends Omit<Participant, 'version'> {
  readonly name: string;
  readonly version: string;
}

export class Field {
  private contestants: Contestant[] = [];

  constructor(private readonly say: (line: string) => void) {}

  /** Each on a folder of its own below this one. */
  async enter(all: readonly Candidate[], folder: string): Promise<void> {
    for (const { name, absent, start } of all) {
      if (absent !== undefined) {
        this.say(`skipped: ${name} (${absent})`);
        continue;
      }
      try {
        const participant = await start(join(folder, name));
        this.contestants.push({ ...participant, name, version: participant.version ?? (await versionOf(participant)) });
        participant.process?.pause();
      } catch (error) {
        this.say(`skipped: ${name} (${(error as Error).message})`);
      }
    }
  }

  get present(): readonly Contestant[] {
    return this.contestants;
  }

  /** One after the other; what each gave, without those that failed. */
  async each<T>(
    what: string,
    work: (contestant: Contestant) => Promise<T>,
    takesPart: (contestant: Contestant) => boolean = () => true,
  ): Promise<Map<string, T>> {
    const results = new Map<string, T>();
    for (const contestant of this.contestants.filter(takesPart)) {
      contestant.process?.resume();
      try {
        results.set(contestant.name, await work(contestant));
        contestant.process?.pause();
      } catch (error) {
        this.say(`left out: ${contestant.name}, ${what}: ${(error as Error).message}`);
        await this.leave(contestant);
      }
    }
    return results;
  }

  async end(): Promise<void> {
    for (const contestant of this.contestants) await this.leave(contestant);
  }

  private async leave(contestant: Contestant): Promise<void> {
    this.contestants = this.contestants.filter((other) => other !== contestant);
    contestant.process?.resume();
    await contestant
      .stop()
      .catch((error: Error) => this.say(`${contestant.name} did not stop as it should: ${error.message}`));
  }
}

/** What does not even tell its version is ended. */
async function versionOf({ driver, stop }: Participant): Promise<string> {
  try {
    return await driver.version();
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
}
