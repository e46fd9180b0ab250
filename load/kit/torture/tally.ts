// What happened in a run of random operations, for its report.
// Filled by the files beside it.
import { whole } from '../report.js';

const VIOLATIONS_SHOWN = 20;

export interface Tally {
  acknowledged: number;
  /** Changes that a death cut off, and those of them that had happened. */
  cutOff: number;
  kept: number;
  searches: number;
  /** Chunks that were read and compared. */
  chunks: number;
  /** Acknowledged operations by name. */
  operations: Map<string, number>;
  /** Operations that a death cut off, by name. */
  cutOffs: Map<string, number>;
  /** Reindex jobs by how they ended. */
  jobs: Map<string, number>;
  violations: string[];
}

export const emptyTally = (): Tally => ({
  acknowledged: 0,
  cutOff: 0,
  kept: 0,
  searches: 0,
  chunks: 0,
  operations: new Map(),
  cutOffs: new Map(),
  jobs: new Map(),
  violations: [],
});

export const count = (counts: Map<string, number>, name: string): void =>
  void counts.set(name, (counts.get(name) ?? 0) + 1);

export const counted = (counts: ReadonlyMap<string, number>): string =>
  [...counts].map(([name, number]) => `${name} ${whole(number)}`).join(', ');

/** Below the report. */
export function printViolations({ violations }: Tally): void {
  for (const violation of violations.slice(0, VIOLATIONS_SHOWN)) console.log(`  violation: ${violation}`);
}
