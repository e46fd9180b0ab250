// Change events of all nodes on every node: a node tells the others of the events that its own writes bring, and they
// publish them once they have applied the writes. Events of jobs and of deleted collections need not be told, because
// every node publishes them when it applies the change. Runs on the main thread.
import type { EventType } from '../../api/events.js';
import type { CollectionId } from '../../api/ids.js';
import type { ReplicatedLog } from '../../cluster/command-log.js';
import type { LogStream } from '../../cluster/log-stream.js';
import type { EventHub } from '../events/event-hub.js';

interface SharedEventsOptions {
  readonly events: EventHub;
  readonly commandLog: Pick<ReplicatedLog, 'applied' | 'reached'>;
  readonly stream: Pick<LogStream, 'tell' | 'onTold'>;
  /** The id of this node. */
  readonly node: string;
}

interface ToldEvent {
  readonly node: string;
  readonly collection: CollectionId;
  readonly type: EventType;
  readonly data: object;
  /** The event is of writes up to this message. */
  readonly after: number;
}

/** Whether only the node that was asked knows of an event. */
const isOwn = (type: EventType, data: object): boolean =>
  type === 'ingest' || type === 'delete' || (type === 'collection' && 'change' in data && data.change !== 'deleted');

/** A node that is further behind shows the event before the write. */
const WAIT_MS = 10_000;

export function shareEvents({ events, commandLog, stream, node }: SharedEventsOptions): void {
  events.onPublished((collection, type, data) => {
    if (isOwn(type, data))
      stream.tell('event', { node, collection, type, data, after: commandLog.applied } satisfies ToldEvent);
  });
  let last = Promise.resolve();
  stream.onTold('event', (what) => {
    const told = what as ToldEvent;
    if (told.node === node) return;
    // In the order in which they were told.
    last = last.then(async () => {
      await commandLog.reached(told.after, WAIT_MS);
      events.show(told.collection, told.type, told.data);
    });
  });
}
