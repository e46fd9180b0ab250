// How the data of a node comes to be such that the messages of the cluster's stream can be applied to it. Pure.
import { OperatorError } from '../base/operator-error.js';
import type { LogPosition } from '../storage/journal.js';
import type { LogStream } from './log-stream.js';

/** What a node has applied of a target; undefined if it has never applied the log. */
export interface TargetPosition {
  /** The name that the messages of the target have. */
  readonly name: string;
  readonly position: Pick<LogPosition, 'stream' | 'sequence'> | undefined;
}

/**
 * `continue`: the messages follow what is there. `begin`: the stream has been rebuilt and begins with what is there.
 * `copy`: the data of another node has to take the place of what is there.
 */
export type WayToJoin = 'continue' | 'begin' | 'copy';

/**
 * Throws OperatorError if the data may have messages that the other nodes lack. `first` is the first message that the
 * stream keeps.
 */
export function wayToJoin(
  targets: readonly TargetPosition[],
  { id, rebuild }: Pick<LogStream, 'id' | 'rebuild'>,
  first: number,
): WayToJoin {
  const old = targets.filter(({ position }) => position && position.stream !== id);
  if (rebuild && old.length > 0) {
    assertPrevious(old, rebuild);
    const behind = targets.filter(({ position }) => position?.stream !== id);
    const hasAll = behind.every(({ name, position }) => (position?.sequence ?? 0) >= (rebuild.targets[name] ?? 0));
    return hasAll ? 'begin' : 'copy';
  }
  const next = 1 + Math.min(...targets.map(({ position }) => position?.sequence ?? 0));
  return old.length === 0 && next < first ? 'copy' : 'continue';
}

/** Throws unless the node that a stream was rebuilt from has all that this data has. */
function assertPrevious(
  old: readonly TargetPosition[],
  { earlier: [previous], through, generation }: NonNullable<LogStream['rebuild']>,
): void {
  const keep = 'keep the data directory, whose journal has all of it, and begin with an empty one';
  for (const { position } of old) {
    if (position && position.stream !== previous)
      throw new OperatorError(
        `the data is from before rebuild ${generation - 1} of the cluster, and nobody knows whether the other nodes have all of it: ${keep}`,
      );
    if (position && position.sequence > through)
      throw new OperatorError(
        `the data has messages that rebuild ${generation} of the cluster lacks, because this node was away (${position.sequence}, and the others had ${through}): ${keep}`,
      );
  }
}
