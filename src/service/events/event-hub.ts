// Change events of collections. A ring keeps the latest events of each collection, so that a reader that was
// disconnected can resume; each reader has a bounded queue and is disconnected if it falls behind. Event ids grow, also
// across restarts. Collections are identified by the id of their query log, which a switch does not change. Runs on the
// main thread.
import { AppError } from '../../api/errors.js';
import type { EventType } from '../../api/events.js';
import type { CollectionId, CollectionName, Tenant } from '../../api/ids.js';
import { EVENT_STREAMS_MAX, EVENT_STREAMS_OF_COLLECTION_MAX } from '../../api/limits.js';
import { logIdOf } from '../../storage/catalog-commands.js';
import type { Catalog } from '../collections/catalog.js';

export interface EventsContext {
  readonly catalog: Pick<Catalog, 'get'>;
  readonly events: EventHub;
}

export interface CollectionEvent {
  id: number;
  type: EventType;
  data: object;
}

/** Events kept per collection. */
const RING_EVENTS_MAX = 256;
/** Collections whose events are kept; beyond this number, the least recently used ring is dropped. */
const RINGS_MAX = 1024;
/** A reader with more queued events is disconnected. */
const QUEUE_EVENTS_MAX = 512;
/**
 * Ids that a millisecond provides. The first id derives from the clock at the start, so ids grow across restarts as
 * long as events are fewer than this.
 */
const IDS_PER_MS = 1000;

interface Ring {
  events: CollectionEvent[];
  /** Events with ids up to this one may be missing from the ring. */
  lostUpTo: number;
}

export class EventHub {
  /** In order of use, the most recently used last. */
  private readonly rings = new Map<CollectionId, Ring>();
  private readonly readers = new Map<CollectionId, Set<EventReader>>();
  private lastId: number;
  private published: ((collection: CollectionId, type: EventType, data: object) => void) | undefined;

  constructor(nowMs: number) {
    this.lastId = nowMs * IDS_PER_MS;
  }

  /** The number of readers of one collection. */
  readersOf(collection: CollectionId): number {
    return this.readers.get(collection)?.size ?? 0;
  }

  get readerCount(): number {
    return [...this.readers.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** `listener` is called with each event that this server publishes. */
  onPublished(listener: (collection: CollectionId, type: EventType, data: object) => void): void {
    this.published = listener;
  }

  publish(collection: CollectionId, type: EventType, data: object): void {
    this.show(collection, type, data);
    this.published?.(collection, type, data);
  }

  /** Shows an event that another server has published. */
  show(collection: CollectionId, type: EventType, data: object): void {
    const event = { id: ++this.lastId, type, data };
    const ring = this.ringOf(collection);
    ring.events.push(event);
    if (ring.events.length > RING_EVENTS_MAX) ring.lostUpTo = (ring.events.shift() as CollectionEvent).id;
    for (const reader of this.readers.get(collection) ?? []) reader.push(event);
  }

  /**
   * Returns a reader of future events. With `after`, it first gets the kept events with greater ids, or a `reset` event
   * if some of them are lost.
   */
  read(collection: CollectionId, after: number | undefined): EventReader {
    const ring = this.ringOf(collection);
    const reader: EventReader = new EventReader(() => this.leave(collection, reader));
    const isKnown = after !== undefined && after >= ring.lostUpTo && after <= this.lastId;
    if (after !== undefined && !isKnown) reader.push({ id: this.lastId, type: 'reset', data: {} });
    if (isKnown) for (const event of ring.events) if (event.id > after) reader.push(event);
    const readers = this.readers.get(collection) ?? new Set();
    this.readers.set(collection, readers.add(reader));
    return reader;
  }

  /** Disconnects all readers of a collection that is deleted, and drops its ring. */
  end(collection: CollectionId): void {
    for (const reader of this.readers.get(collection) ?? []) reader.close();
    this.rings.delete(collection);
  }

  close(): void {
    for (const collection of [...this.readers.keys()]) this.end(collection);
  }

  private leave(collection: CollectionId, reader: EventReader): void {
    const readers = this.readers.get(collection);
    readers?.delete(reader);
    if (readers?.size === 0) this.readers.delete(collection);
  }

  private ringOf(collection: CollectionId): Ring {
    const ring = this.rings.get(collection) ?? { events: [], lostUpTo: this.lastId };
    this.rings.delete(collection);
    this.rings.set(collection, ring);
    if (this.rings.size > RINGS_MAX) for (const oldest of [...this.rings.keys()].slice(0, 1)) this.rings.delete(oldest);
    return ring;
  }
}

/** The queue of one reader. Events pushed before `close` are still delivered. */
export class EventReader {
  private readonly queue: CollectionEvent[] = [];
  private isClosed = false;
  private wake: (() => void) | undefined;

  constructor(private readonly left: () => void) {}

  push(event: CollectionEvent): void {
    if (this.queue.length >= QUEUE_EVENTS_MAX) return this.close();
    if (!this.isClosed) this.queue.push(event);
    this.wake?.();
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.left();
    this.wake?.();
  }

  /**
   * The next event; null when the reader is closed, undefined if there was no event for `waitMs`. Calls must not
   * overlap.
   */
  async next(waitMs: number): Promise<CollectionEvent | null | undefined> {
    if (this.queue.length === 0 && !this.isClosed) await this.wait(waitMs);
    return this.queue.shift() ?? (this.isClosed ? null : undefined);
  }

  private async wait(waitMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.wake = resolve;
      timer = setTimeout(resolve, waitMs);
    });
    clearTimeout(timer);
    this.wake = undefined;
  }
}

/**
 * Follows the events of a collection, after the event `lastId` if it is not ''. An invalid id counts as one that is too
 * old. Throws 404 `collection_not_found`, and 429 `tenant_rate_limited` if there are too many readers.
 */
export function followEvents(
  { catalog, events }: EventsContext,
  tenant: Tenant,
  name: CollectionName,
  lastId: string,
): EventReader {
  const logId = logIdOf(catalog.get(tenant, name));
  if (events.readersOf(logId) >= EVENT_STREAMS_OF_COLLECTION_MAX || events.readerCount >= EVENT_STREAMS_MAX)
    throw new AppError('tenant_rate_limited', 'The maximum number of event streams is open.', { retryAfterS: 10 });
  if (lastId === '') return events.read(logId, undefined);
  return events.read(logId, /^\d{1,16}$/.test(lastId) ? Number(lastId) : 0);
}
