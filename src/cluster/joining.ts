// How the data of a node comes to be such that the messages of the cluster's stream can be applied to it. Pure.
import { OperatorError } from '../base/operator-error.js';
import type { LogPosition } from '../storage/journal.js';
import type { LogStream } from './log-stream.js';

/** What a node has applied of a target; undefined if it has never applied the log. */
export interface TargetPosition {
  /** The name that the messages of the target have. */
  readonly name: string;
  readonly position: LogPosition | undefined;
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
  node: string,
  targets: readonly TargetPosition[],
  { id, rebuild }: Pick<LogStream, 'id' | 'rebuild'>,
  first: number,
): WayToJoin {
  const old = targets.filter(({ position }) => position && position.stream !== id);
  if (rebuild && old.length > 0) {
    if (rebuild.source === node) return 'begin';
    for (const target of old) assertContained(target, rebuild);
    const hasAll = ({ name, position }: TargetPosition): boolean =>
      (position?.stream === rebuild.earlier[0] && (position?.sequence ?? 0) >= (rebuild.targets[name] ?? 0)) ||
      position?.stream === id;
    return targets.every(hasAll) ? 'begin' : 'copy';
  }
  const next = 1 + Math.min(...targets.map(({ position }) => position?.sequence ?? 0));
  return old.length === 0 && next < first ? 'copy' : 'continue';
}

/** Throws unless the nodes that the streams were rebuilt from have all that this data has. */
function assertContained(
  { name, position }: TargetPosition,
  { earlier, through, throughs = [through], recent = [], targets, generation }: NonNullable<LogStream['rebuild']>,
): void {
  if (!position) return;
  const { stream, sequence, done, id } = position;
  const keep = 'keep the data directory, whose journal has all of it, and begin with an empty one';
  const isPrevious = stream === earlier[0];
  const ended = throughs[earlier.indexOf(stream)];
  if (ended === undefined)
    throw new OperatorError(
      `the data is from before rebuild ${generation - 1} of the cluster, and nobody knows whether the other nodes have all of it: ${keep}`,
    );
  // A target without messages may be further than the one of the source.
  const last = isPrevious && done > 0 ? (targets[name] ?? 0) : ended;
  if (done > 0 && sequence > last)
    throw new OperatorError(
      `the data has messages that a rebuild of the cluster lacks, because this node was away (${sequence}, and the others had ${last}): ${keep}`,
    );
  const other = isPrevious ? recent.find(([each]) => each === sequence) : undefined;
  if (id !== undefined && other && other[1] !== id)
    throw new OperatorError(
      `the data has other messages than those that rebuild ${generation} of the cluster began with, because this node was away (at ${sequence}): ${keep}`,
    );
}
