// The operations of the torture program, and which of them are possible in a state. Each asks the server for one thing,
// notes before what it may change, and after the answer what it has changed. An operation to come is an entry of the
// table.
import { SheafUnreachable } from '../../../src/client/errors.js';
import type { Lane } from './change.js';
import { checkSearch } from './check-search.js';
import { archive, create, drop, rename, restore } from './collection-operations.js';
import { put, putBatch, remove } from './document-operations.js';
import { reindex, rollBack, steer } from './reindex-operations.js';
import { isLive } from './reindexing.js';
import { count } from './tally.js';
import type { Slot } from './world.js';

interface Operation {
  name: string;
  weight: number;
  isPossible: (slot: Slot) => boolean;
  run: (lane: Lane) => Promise<void>;
}

const isEmpty = ({ name }: Slot): boolean => name === null;
const hasCollection = ({ name }: Slot): boolean => name !== null;
const hasDocuments = ({ documents }: Slot): boolean => documents.size > 0;
const isQuiet = ({ name, state }: Slot): boolean => name !== null && !isLive(state.reindexing);
const hasJob = ({ name, state }: Slot): boolean => name !== null && isLive(state.reindexing);

const OPERATIONS: readonly Operation[] = [
  { name: 'create', weight: 40, isPossible: isEmpty, run: create },
  { name: 'put', weight: 50, isPossible: hasCollection, run: put },
  { name: 'batch', weight: 12, isPossible: hasCollection, run: putBatch },
  { name: 'delete', weight: 12, isPossible: hasDocuments, run: remove },
  { name: 'search', weight: 15, isPossible: hasCollection, run: (lane) => checkSearch(lane, 'while it is at work') },
  { name: 'rename', weight: 5, isPossible: hasCollection, run: rename },
  { name: 'drop', weight: 2, isPossible: hasCollection, run: drop },
  { name: 'archive', weight: 1, isPossible: hasCollection, run: archive },
  { name: 'restore', weight: 2, isPossible: ({ archive: kept }) => kept !== undefined, run: restore },
  { name: 'reindex', weight: 8, isPossible: isQuiet, run: reindex },
  { name: 'steer', weight: 25, isPossible: hasJob, run: steer },
  { name: 'rollback', weight: 3, isPossible: isQuiet, run: rollBack },
];

/**
 * One operation by chance. Rejects with what the client rejects with: with SheafUnreachable the change stays under way.
 */
export async function step(lane: Lane): Promise<void> {
  const possible = OPERATIONS.filter(({ isPossible }) => isPossible(lane.slot));
  let at = lane.prng.int(possible.reduce((sum, { weight }) => sum + weight, 0));
  const operation = possible.find(({ weight }) => (at -= weight) < 0) as Operation;
  const answered = lane.slot.trail.asked(operation.name);
  try {
    await operation.run(lane);
    answered('done');
  } catch (error) {
    answered(String(error));
    if (error instanceof SheafUnreachable) count(lane.tally.cutOffs, operation.name);
    throw error;
  }
  count(lane.tally.operations, operation.name);
}
