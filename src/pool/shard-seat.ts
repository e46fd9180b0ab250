// A shard as the pool sees it: its state and its two lanes, with their bounds, what a write costs there, and whose line
// a command waits in. Used by shard-pool.ts for every command.
import { Piscina } from 'piscina';
import { AppError } from '../contract/errors.js';
import type { CollectionId } from '../contract/ids.js';
import type { ShardAnswer, ShardCommand, ShardOp } from '../contract/messages.js';
import { Lane, type Ask, type LaneOptions } from './lane.js';
import type { OwnerSlots } from './owner-slots.js';
import type { PoolMeters } from './pool-meters.js';

/** The tenant of a collection; undefined for one that is gone. */
export type TenantOf = (collection: CollectionId) => string | undefined;

/** Beyond that the server sheds: more than all requests of the default `limits.in_flight_max` can ask for at a time. */
const WAITING_MAX = 8192;

/** What makes a shard usable that has been claimed. */
const OPENING_OPS: ReadonlySet<ShardOp> = new Set<ShardOp>([
  'open',
  'loadCatalog',
  'loadStaged',
  'loadJobs',
  'loadTenants',
]);

/** After an opening that failed; by another worker: who knows what that one has left half open. */
export const OPEN_AGAIN_MS = 1000;

/**
 * Two messages under way keep the worker busy; few requests in each keep the queue at the worker short, which is not
 * fair.
 */
const READ_LANE: LaneOptions<ShardCommand> = { requestsMax: 8, messagesMax: 2, waitingMax: WAITING_MAX };

/** One message is one commit, during which no search of the shard is answered: some milliseconds of work. */
const WRITE_LANE: LaneOptions<ShardCommand> = {
  requestsMax: 128,
  messagesMax: 1,
  costMax: 64,
  quantum: 16,
  waitingMax: WAITING_MAX,
  costOf: costOfWrite,
};

/** Chunks that a step of a copy writes. */
const COPY_COST = 64;

/** Chunks to write, as far as the message tells; 1 for anything else. */
function costOfWrite(command: ShardCommand): number {
  if (command.op === 'copyStaged') return COPY_COST;
  return 'vectors' in command ? Math.max(1, command.vectors.length / command.collection.dim) : 1;
}

/** The tenant a command is for; '' for what the server asks for itself. */
export function tenantIn(command: ShardCommand, tenantOf: TenantOf): string {
  if (!('collection' in command)) return '';
  const { collection } = command;
  if (typeof collection === 'number') return tenantOf(collection) ?? '';
  return ('tenant' in collection ? collection.tenant : tenantOf(collection.id)) ?? '';
}

/** A batch for the owner of a shard, as the load balancer looks at it. */
export function pinned(shard: number, commands: ShardCommand[]): object {
  return { shard, commands, [Piscina.queueOptionsSymbol]: { shard } };
}

/** Of the workers, the one that is to take such a batch. */
export function ownerAmong<W extends { id: number }>(slots: OwnerSlots, task: object, workers: W[]): W | null {
  const shard = (task as Record<symbol, { shard: number }>)[Piscina.queueOptionsSymbol]?.shard ?? 0;
  const owner = slots.ownerOf(shard);
  // A worker of another shard refuses the batch; no worker at all would stall the queue of every shard.
  return workers.find(({ id }) => id === owner) ?? workers[0] ?? null;
}

export interface ShardSeat {
  /** It takes every command where it is open; where it is ready, all has been done too that follows the opening. */
  state: 'vacant' | 'opening' | 'open' | 'ready';
  readonly reads: Lane<ShardCommand, ShardAnswer<ShardOp>>;
  readonly writes: Lane<ShardCommand, ShardAnswer<ShardOp>>;
}

export function createSeat(
  send: (batch: Ask<ShardCommand, ShardAnswer<ShardOp>>[]) => Promise<void>,
  meters?: PoolMeters,
): ShardSeat {
  const lane = (options: LaneOptions<ShardCommand>, name: string): ShardSeat['reads'] =>
    new Lane({ ...options, meter: meters?.lane('shard', name) }, send);
  return { state: 'vacant', reads: lane(READ_LANE, 'reads'), writes: lane(WRITE_LANE, 'writes') };
}

export const isOpen = ({ state }: ShardSeat): boolean => state === 'open' || state === 'ready';

/** Whether a command can be sent now. */
export const takes = (seat: ShardSeat, op: ShardOp): boolean =>
  isOpen(seat) || (seat.state === 'opening' && OPENING_OPS.has(op));

export const unavailable = (): AppError => new AppError('shard_unavailable', undefined, { retryAfterS: 1 });
