// The priority of a thread among those that want the same cores. On Linux a priority is a thread's own, and any thread may lower its own;
// elsewhere it is the whole process's, so there it stays as it is. Called by workers for the thread they run on.
import { constants, setPriority } from 'node:os';

/** From now on this thread gives way to the others: whoever answers comes before whoever builds. */
export function giveWayToOthers(): void {
  if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
}
